//! A rule about the field managers of annotations that the controllers read. Page: `tests/rules/field-owner.md`.
//!
//! Flux' kustomize-controller takes over the fields of managers whose name begins with `kubectl`, and removes those that are not in Git.

use serde_json::Value;

use crate::body::Node;
use crate::rules::steering::{OF_ADDONS, OF_CLUSTER_ADDONS};
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ClusterAddon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings};

const REMOVED: &str = "annotation/removed-by-flux";
/// The label that Flux sets on the objects of a Kustomization.
const LABEL: &str = "kustomize.toolkit.fluxcd.io/name";
const MANAGER: &str = "kustomize-controller";
/// Flux removes the fields of field managers whose names have this prefix.
const REMOVED_MANAGERS: &str = "kubectl";

rules! { pub(crate) ON_ADDONS of Addon {
    warns REMOVED, CreateAndUpdate, on_addon =>
        "An annotation of the controllers is not set with `kubectl` on an object that Flux manages.\n\n\
         At each reconcile, Flux (kustomize-controller) removes the fields of field managers whose name begins with \
         `kubectl`. A deletion guard or a list of protected types that you set with `kubectl annotate` or `kubectl edit` on \
         an object of a Kustomization is therefore removed after a few minutes. Warns if such an annotation is set or changed \
         and no other field manager owns it. Add the annotation to Git, or set another field manager: \
         `kubectl annotate --field-manager=ops`.";
} }

rules! { pub(crate) ON_CLUSTER_ADDONS of ClusterAddon {
    warns REMOVED, CreateAndUpdate, on_cluster_addon => "";
} }

fn on_addon(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let body = &subject.body;
    let old = subject.old.as_ref().and_then(|old| old.annotations.as_ref());
    let present = body.annotations.as_ref();
    removed(body.object, present, old, OF_ADDONS, subject.effort, findings);
}

fn on_cluster_addon(subject: &Subject<'_, ClusterAddon>, findings: &mut Findings) {
    let body = &subject.body;
    let old = subject.old.as_ref().and_then(|old| old.annotations.as_ref());
    let present = body.annotations.as_ref();
    removed(
        body.object,
        present,
        old,
        OF_CLUSTER_ADDONS,
        subject.effort,
        findings,
    );
}

fn manager(entry: &Value) -> &str {
    entry.get("manager").and_then(Value::as_str).unwrap_or_default()
}

fn removed(
    object: &Value,
    annotations: Option<&Node<'_>>,
    old: Option<&Node<'_>>,
    known: &[&str],
    effort: &StepBudget<'_>,
    findings: &mut Findings,
) {
    let Some(annotations) = annotations else { return };
    let changed = |key: &&&str| {
        let value = annotations.text(key);
        value.is_some() && value != old.and_then(|old| old.text(key))
    };
    let mut changed = known.iter().filter(changed).peekable();
    if changed.peek().is_none() {
        return;
    }
    let entries = object.pointer("/metadata/managedFields");
    let entries = entries.and_then(Value::as_array).into_iter().flatten();
    let entries: Vec<&Value> = entries.take_while(|_| effort.spend(1)).collect();
    let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
    let is_labelled = labels.is_some_and(|labels| labels.get(LABEL).is_some());
    if !is_labelled && !entries.iter().any(|entry| manager(entry) == MANAGER) {
        return;
    }
    for key in changed {
        let owns = |entry: &&&Value| {
            let owned = entry.pointer("/fieldsV1/f:metadata/f:annotations");
            effort.spend(1) && owned.is_some_and(|owned| owned.get(format!("f:{key}")).is_some())
        };
        let mut owners = entries.iter().filter(owns).map(|entry| manager(entry)).peekable();
        if owners.peek().is_some() && owners.all(|owner| owner.starts_with(REMOVED_MANAGERS)) {
            let fault = Fault::bare(
                Class::Forbidden,
                "was set with kubectl, so Flux removes it at the next reconcile",
            )
            .hint("add it to Git, or set it with kubectl annotate --field-manager=NAME");
            findings.warn(fault.at(annotations.path.entry(*key), REMOVED));
        }
    }
}
