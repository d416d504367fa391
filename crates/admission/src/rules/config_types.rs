//! Rules about the types of configurations. Page: `tests/rules/config-types.md`.
//!
//! Decides which types may never be configurations, and how many one object may refer to: each is one more watch on the hub.

use std::collections::BTreeSet;

use super::config::{lists_of, typed};
use crate::body::{AddonBody, ClusterAddonBody};
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{ConfigType, MOST_CONFIG_TYPES, off_limits};

const OFF_LIMITS: &str = "config/off-limits-type";
const TOO_MANY: &str = "config/too-many-types";

rules! { pub(crate) ON_ADDONS of Addon {
    refuses OFF_LIMITS, CreateAndUpdate, addon_off_limits =>
        "A configuration is not a Secret, an RBAC object, or an object of another excluded type.\n\n\
         Tidegate reads no Secrets, ServiceAccounts, CertificateSigningRequests and RBAC objects as configurations, because \
         they contain credentials or grant permissions, and no types that change continuously, such as Events, Leases and \
         Pods. Put the data that the agent needs into an object of another type. Refused. A reference that is already \
         stored is ignored, and the condition `Configured` reports it.";
    refuses TOO_MANY, CreateAndUpdate, addon_too_many =>
        "An object refers to at most 64 types of configurations.\n\n\
         Tidegate keeps a watch on the hub for each type that an object refers to. Refused. If a stored object has more \
         types, those after the first 64 are ignored.";
} }

// What they mean is documented where add-ons have them.
rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    refuses OFF_LIMITS, CreateAndUpdate, off_limits_of_cluster => "";
    refuses TOO_MANY, CreateAndUpdate, too_many_of_cluster => "";
} }

/// A type that an object refers to, with the path of its resource.
type At = (Path, ConfigType);

fn of_cluster(body: &ClusterAddonBody<'_>, effort: &StepBudget<'_>) -> Vec<At> {
    let all = typed(&body.configs, effort);
    all.map(|(at, of)| (at.path.key("resource"), of)).collect()
}

fn of_addon(body: &AddonBody<'_>, effort: &StepBudget<'_>) -> Vec<At> {
    let lists = lists_of(body, effort).flat_map(|list| typed(list, effort));
    let lists = lists.map(|(at, of)| (at.path.key("resource"), of));
    let supported = body.supported.each(effort).filter_map(|entry| {
        let of = ConfigType::parse(entry.group.unwrap_or_default(), entry.resource?).ok()?;
        Some((entry.path.key("resource"), of))
    });
    supported.chain(lists).collect()
}

fn off_limits_of_cluster(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    deny_off_limits(of_cluster(&subject.body, subject.effort), findings);
}

fn addon_off_limits(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny_off_limits(of_addon(&subject.body, subject.effort), findings);
}

fn deny_off_limits(all: Vec<At>, findings: &mut Findings) {
    for (path, of) in all {
        if let Some(why) = off_limits(of.group(), of.resource()) {
            let detail = format!("cannot be a configuration type: {why}");
            let fault = Fault::of_text(Class::Forbidden, of.resource(), detail);
            findings.deny(
                fault
                    .hint("put the data that the agent needs into an object of another type")
                    .at(path, OFF_LIMITS),
            );
        }
    }
}

fn too_many_of_cluster(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let old = subject.old.as_ref().map(|old| of_cluster(old, subject.effort));
    judge_count(of_cluster(&subject.body, subject.effort), old, findings);
}

fn addon_too_many(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let old = subject.old.as_ref().map(|old| of_addon(old, subject.effort));
    judge_count(of_addon(&subject.body, subject.effort), old, findings);
}

/// Tells of the first type that is too many: the others would say the same. What is stored with too many may lose some.
fn judge_count(all: Vec<At>, old: Option<Vec<At>>, findings: &mut Findings) {
    let mut types = BTreeSet::new();
    let mut path = None;
    for (at, of) in all {
        if types.insert(of) && types.len() == MOST_CONFIG_TYPES.saturating_add(1) {
            path = Some(at);
        }
    }
    if let Some(path) = path {
        let detail = format!(
            "the object refers to {} types of configurations; it must refer to at most {MOST_CONFIG_TYPES}",
            types.len()
        );
        let fault = Fault::bare(Class::TooMany, detail).at(path, TOO_MANY);
        let old: Option<BTreeSet<ConfigType>> = old.map(|old| old.into_iter().map(|(_, of)| of).collect());
        if old.is_some_and(|old| types.is_subset(&old)) {
            findings.warn(fault);
        } else {
            findings.deny(fault);
        }
    }
}
