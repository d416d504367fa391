//! Rules about annotations that steer the controllers. Page: `tests/rules/steering.md`.
//!
//! Decides which of them have no effect: keys that no controller reads, and values that mean nothing. Refuses only those that a field has
//! replaced: another unknown annotation may be meant for a version to come.

use std::collections::BTreeSet;

use crate::body::Node;
use crate::rules::config::listed_types;
use crate::rules::reach::type_of;
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use api::conversion::Version;
use api::names::annotations::{LIFECYCLE, LIFECYCLE_ADDON_MANAGER, LIFECYCLE_SELF, LIFECYCLE_TIDEGATE};
use kubernetes::field::{Class, Fault, Findings, nearest, quoted};
use model::{ConfigType, KNOWN_TYPES};
use store::{HookTimeout, Kind, TimeoutPolicy, terms};

const UNKNOWN: &str = "annotation/unknown";
const VALUE: &str = "annotation/value";
const REPLACED: &str = "annotation/replaced";
pub(super) const OWN: &str = "tidegate.io/";
const MERGES_NOTHING: &str =
    "has no effect: only \"addondeploymentconfigs.addon.open-cluster-management.io\" can be merged";

/// Annotations that people and the controllers write to a `ClusterManagementAddOn`.
pub(super) const OF_ADDONS: &[&str] = &[
    terms::DELETION_GUARD,
    terms::MERGED_CONFIGS,
    terms::PROTECTED_CONFIGS,
    terms::REMOVALS_ALLOWED_UNTIL,
];
/// Annotations that people and the controllers write to a `ManagedClusterAddOn`.
pub(super) const OF_CLUSTER_ADDONS: &[&str] = &[
    terms::COPIED_ANNOTATIONS,
    terms::DESELECTED_AT,
    terms::GIVEN_VERSION,
    terms::HOOK_FAILED,
    terms::HOOK_TIMEOUT,
    terms::HOOK_TIMEOUT_POLICY,
    terms::INSTALLED_BY,
    terms::SKIP_HOOKS,
];

rules! { pub(crate) ON_ADDONS of Addon {
    warns UNKNOWN, CreateAndUpdate, unknown_on_addon, reading &[("annotations", OWN)] =>
        "A `tidegate.io/` annotation is supported on this kind.\n\n\
         Annotations with the prefix `tidegate.io/` protect add-ons and configurations, allow removals and configure hooks. An annotation that is not supported has no effect. Warns, and suggests the closest name.";
    refuses REPLACED, CreateAndUpdate, replaced, reading &[("annotations", OWN)] =>
        "A setting of a rollout is not an annotation.\n\n\
         The settings of rollouts are fields of the AddOnRollout with the name of the add-on: `tidegate.io/paused` is now `spec.pause`, \
         `tidegate.io/rollout-window` `spec.windows`, `tidegate.io/approval-before` `spec.approvalBefore`, `tidegate.io/on-failure` \
         `spec.onFailure`, `tidegate.io/depends-on` `spec.dependsOn`, `tidegate.io/promoted` `spec.promotedAt`, and `tidegate.io/retried` \
         `spec.retriedAt`. Approvals (`tidegate.io/approved`) are decisions of RolloutApprovals. Refused. While a ClusterManagementAddOn that was stored by an earlier version has such an annotation, its \
         clusters keep their configuration (`RolloutSettingsInvalid`). Set the field and remove the annotation.";
    warns VALUE, CreateAndUpdate, values_on_addon =>
        "A `tidegate.io/` annotation has a valid value.\n\n\
         `tidegate.io/deletion-guard` is `true` or `false`; `tidegate.io/removals-allowed-until` is a time such as `2026-01-31T12:00:00Z`; \
         `tidegate.io/protected-configs` lists types as `<resource>.<group>`, and so does `tidegate.io/merged-configs`, in \
         which only `addondeploymentconfigs.addon.open-cluster-management.io` is supported; \
         `addon.open-cluster-management.io/lifecycle` is `addon-manager`, `tidegate` or `self`, and with any other value no controller manages the \
         add-on. On a ManagedClusterAddOn, `tidegate.io/hook-timeout` is a duration such as `10m`, \
         `tidegate.io/hook-timeout-policy` is `release` or `block`, and `tidegate.io/skip-hooks` is `true` or `false`. Warns.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns UNKNOWN, CreateAndUpdate, unknown, reading &[("annotations", OWN)] => "";
    warns VALUE, CreateAndUpdate, values => "";
} }

fn unknown_on_addon(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    warn_unknown(
        subject.body.annotations.as_ref(),
        (OF_ADDONS, &terms::REPLACED),
        subject.effort,
        findings,
    );
}

fn unknown(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let annotations = subject.body.annotations.as_ref();
    warn_unknown(annotations, (OF_CLUSTER_ADDONS, &[]), subject.effort, findings);
}

fn warn_unknown(
    annotations: Option<&Node<'_>>,
    (known, replaced): (&'static [&'static str], &'static [terms::Replaced]),
    effort: &StepBudget<'_>,
    findings: &mut Findings,
) {
    let Some(annotations) = annotations else { return };
    let own = annotations
        .entries(effort)
        .filter(|(key, _)| key.starts_with(OWN));
    // Known too: the annotation in which a conversion keeps what only the other version says; it is not for users to write.
    let is_known = |key: &str| {
        known.contains(&key)
            || Version::EVERY.iter().any(|one| one.kept_in() == key)
            || replaced.iter().any(|one| one.annotation == key)
    };
    for (key, _) in own.filter(|(key, _)| !is_known(key)) {
        let near = effort.hint(|| nearest(key, known.iter().copied()));
        let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
        let fault = Fault::of_text(Class::NotFound, key, "this annotation has no effect on this kind");
        findings.warn(fault.hint_if(hint).at(annotations.path.entry(key), UNKNOWN));
    }
}

/// Returns what is wrong with the list of protected types. A slip would protect nothing, and nothing else would show it.
fn protected(subject: &Subject<'_, Addon>, text: &str) -> Vec<Fault> {
    let (body, effort) = (&subject.body, subject.effort);
    // An empty list is no slip: a user has emptied it.
    if text.trim().is_empty() || !effort.read(text) {
        return Vec::new();
    }
    let known = KNOWN_TYPES.iter();
    let known = known.filter_map(|known| ConfigType::parse(known.group, known.resource).ok());
    let types: BTreeSet<String> = listed_types(body, effort)
        .chain(known)
        .map(|of| of.to_string())
        .collect();
    let entries: Vec<_> = model::listed_types(text)
        .take_while(|_| effort.spend(1))
        .collect();
    if entries.is_empty() {
        let right = "has no effect: must list types as <resource>.<group>";
        return vec![Fault::of_text(Class::Invalid, text, right)];
    }
    let judged = entries.into_iter().filter_map(|(entry, of)| match of {
        Err(fault) => {
            let right = format!("has no effect: {}", fault.detail());
            Some(Fault::of_text(Class::Invalid, entry, right))
        }
        Ok(of) if types.contains(&of.to_string()) => None,
        Ok(_) => {
            let near = effort.hint(|| nearest(entry, types.iter().map(String::as_str)));
            let hint = near.map(|near| format!("did you mean {}?", quoted(near)));
            let right = "has no effect: must be a type that this add-on lists, as <resource>.<group>";
            Some(Fault::of_text(Class::NotFound, entry, right).hint_if(hint))
        }
    });
    judged.collect()
}

/// Returns what is wrong with the list of merged types: a type is listed so that its lower layers count.
fn unmerged(subject: &Subject<'_, Addon>, text: &str) -> Vec<Fault> {
    let effort = subject.effort;
    if text.trim().is_empty() || !effort.read(text) {
        return Vec::new();
    }
    let right = type_of(Kind::DeploymentConfig).to_string();
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let entries: Vec<&str> = entries.take_while(|_| effort.spend(1)).collect();
    if entries.is_empty() {
        return vec![Fault::of_text(Class::Invalid, text, MERGES_NOTHING)];
    }
    let wrong = entries.into_iter().filter(|entry| *entry != right);
    wrong
        .map(|entry| Fault::of_text(Class::NotSupported, entry, MERGES_NOTHING))
        .collect()
}

fn values_on_addon(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let Some(annotations) = &subject.body.annotations else {
        return;
    };
    let mut warn = |key: &str, fault: Fault| findings.warn(fault.at(annotations.path.entry(key), VALUE));
    if let Some(text) = annotations.text(LIFECYCLE) {
        let known = [LIFECYCLE_ADDON_MANAGER, LIFECYCLE_SELF, LIFECYCLE_TIDEGATE];
        if !text.is_empty() && !known.contains(&text) {
            warn(LIFECYCLE, one_of(text, &known));
        }
    }
    if let Some(text) = annotations.text(terms::REMOVALS_ALLOWED_UNTIL)
        && text.trim().parse::<jiff::Timestamp>().is_err()
    {
        let right = "must be a time such as \"2026-01-31T12:00:00Z\"";
        warn(
            terms::REMOVALS_ALLOWED_UNTIL,
            Fault::of_text(Class::Invalid, text, right),
        );
    }
    if let Some(text) = annotations.text(terms::DELETION_GUARD)
        && !["true", "false"].contains(&text)
    {
        warn(terms::DELETION_GUARD, one_of(text, &["true", "false"]));
    }
    if let Some(text) = annotations.text(terms::PROTECTED_CONFIGS) {
        for fault in protected(subject, text) {
            warn(terms::PROTECTED_CONFIGS, fault);
        }
    }
    if let Some(text) = annotations.text(terms::MERGED_CONFIGS) {
        for fault in unmerged(subject, text) {
            warn(terms::MERGED_CONFIGS, fault);
        }
    }
}

fn replaced(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let Some(annotations) = &subject.body.annotations else {
        return;
    };
    for old in terms::REPLACED {
        let Some(text) = annotations.text(old.annotation) else {
            continue;
        };
        let hint = if old.kind == Kind::Approval {
            format!(
                "set {} of a RolloutApproval: tidegate rollout approve {}",
                old.field, subject.name
            )
        } else {
            format!(
                "set {} of the AddOnRollout {}: kubectl edit addonrollout {}",
                old.field,
                quoted(subject.name),
                subject.name
            )
        };
        let detail = "this annotation is no longer supported";
        let fault = Fault::of_text(Class::Forbidden, text, detail).hint(hint);
        findings.deny(fault.at(annotations.path.entry(old.annotation), REPLACED));
    }
}

fn values(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let Some(annotations) = &subject.body.annotations else {
        return;
    };
    let mut warn = |key: &str, fault: Fault| findings.warn(fault.at(annotations.path.entry(key), VALUE));
    let wish = |key| annotations.text(key).map(str::trim);
    if let Some(text) = wish(terms::HOOK_TIMEOUT).filter(|text| HookTimeout::parse(text).is_none()) {
        let right = "must be a duration such as \"10m\", or \"0\" for no timeout";
        warn(terms::HOOK_TIMEOUT, Fault::of_text(Class::Invalid, text, right));
    }
    if let Some(text) = wish(terms::HOOK_TIMEOUT_POLICY).filter(|text| TimeoutPolicy::parse(text).is_none()) {
        warn(terms::HOOK_TIMEOUT_POLICY, one_of(text, &["release", "block"]));
    }
    if let Some(text) = wish(terms::SKIP_HOOKS).filter(|text| !["true", "false"].contains(text)) {
        warn(terms::SKIP_HOOKS, one_of(text, &["true", "false"]));
    }
}

fn one_of(text: &str, known: &[&str]) -> Fault {
    let near = nearest(text, known.iter().copied());
    let right = format!(
        "must be one of {}",
        kubernetes::field::listed(known.iter().copied())
    );
    let fault = Fault::of_text(Class::NotSupported, text, right);
    fault.hint_if(near.map(|near| format!("did you mean {}?", quoted(near))))
}
