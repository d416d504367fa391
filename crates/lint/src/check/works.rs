//! The manifests of works: ManifestWork and ManifestWorkReplicaSet.
//!
//! Decides which of the gate's rules hold for them although the gate does not check them, and where their faults stand. Has no opinion of its
//! own: the manifests of a work are judged as those of a template, by `admission::decide`.

use serde_json::{Value, json};

use super::judge::{Judgement, judge};
use admission::Rulebook;
use insight::offline::Knowledge;
use kubernetes::field::{Path, Segment, Violation};

const GROUP: &str = "work.open-cluster-management.io/";

/// A kind of works, and where its parts stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// A work for one cluster.
    One,
    /// A set of works, for the clusters of placements.
    Many,
}

/// Rules of templates that hold for every list of manifests.
const OF_MANIFESTS: &[&str] = &[
    "manifest/",
    "template/manifest-identity",
    "template/duplicate-object",
    "template/image",
    "template/namespace",
    "template/size",
];
/// Rules of what is in the namespace of a cluster.
const OF_PLACES: &[&str] = &["naming/unknown-cluster"];

/// Returns which kind of works an object is.
pub(super) fn work_of(object: &Value) -> Option<Work> {
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    text("apiVersion").filter(|version| version.starts_with(GROUP))?;
    match text("kind")? {
        "ManifestWork" => Some(Work::One),
        "ManifestWorkReplicaSet" => Some(Work::Many),
        _ => None,
    }
}

/// Returns what is wrong with works.
pub(super) fn found(
    work: Work,
    object: &Value,
    old: Option<&Value>,
    knowledge: &Knowledge,
    rulebook: &Rulebook,
) -> Vec<(Gravity, Violation)> {
    let prefix: &[&str] = match work {
        Work::One => &["spec", "workload", "manifests"],
        Work::Many => &["spec", "manifestWorkTemplate", "workload", "manifests"],
    };
    let asked = template(object, prefix);
    let before = old.map(|old| template(old, prefix));
    let mut all = Vec::new();
    if let Some(judgement) = judge(&asked, before.as_ref(), knowledge, rulebook) {
        let inside = ["spec", "agentSpec", "workload", "manifests"];
        all.extend(told(&judgement, &inside, prefix, OF_MANIFESTS));
    }
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    if let (Work::One, Some(namespace)) = (work, namespace) {
        let asked = instance(namespace);
        let judgement = judge(&asked, None, knowledge, rulebook);
        let found = judgement.map(|found| told(&found, &["metadata"], &["metadata"], OF_PLACES));
        // Files alone say nothing about clusters.
        let found = found.into_iter().flatten();
        all.extend(found.filter(|(gravity, _)| *gravity != Gravity::Unknown));
    }
    all
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gravity {
    Refused,
    Warned,
    Unknown,
}

fn template(work: &Value, prefix: &[&str]) -> Value {
    let manifests = prefix.iter().try_fold(work, |value, step| value.get(step));
    let manifests = manifests.cloned().unwrap_or_else(|| json!([]));
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "AddOnTemplate",
        "metadata": {"name": "work"},
        "spec": {"addonName": "work", "agentSpec": {"workload": {"manifests": manifests}}},
    })
}

/// A ManagedClusterAddOn in the namespace: its rule about the namespace is the rule for works, too.
fn instance(namespace: &str) -> Value {
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1",
        "kind": "ManagedClusterAddOn",
        "metadata": {"name": "work", "namespace": namespace},
        "spec": {},
    })
}

/// What of a judgement holds for works, where it is in them.
fn told(
    judgement: &Judgement,
    inside: &[&str],
    outside: &[&str],
    rules: &[&str],
) -> Vec<(Gravity, Violation)> {
    let refused = judgement.verdict.violations().iter();
    let warned = judgement
        .verdict
        .warnings()
        .iter()
        .map(kubernetes::field::Warning::violation);
    let all = refused
        .map(|one| (Gravity::Refused, one))
        .chain(warned.map(|one| (Gravity::Warned, one)))
        .chain(judgement.unknown.iter().map(|one| (Gravity::Unknown, one)));
    let holds = |rule: &str| {
        rules
            .iter()
            .any(|one| rule == *one || (one.ends_with('/') && rule.starts_with(one)))
    };
    all.filter(|(_, violation)| holds(violation.rule()))
        .filter_map(|(gravity, violation)| {
            let path = outside_of(violation.path(), inside, outside)?;
            Some((gravity, violation.clone().told_at(path, str::to_owned)))
        })
        .collect()
}

/// Returns where a path of the disguise is in the works.
fn outside_of(path: &Path, inside: &[&str], outside: &[&str]) -> Option<Path> {
    let segments = path.segments();
    let is_inside = segments.len() >= inside.len()
        && segments
            .iter()
            .zip(inside)
            .all(|(segment, step)| matches!(segment, Segment::Key(name) if name == step));
    if !is_inside {
        return None;
    }
    let root = outside
        .iter()
        .fold(Path::root(), |path, step| path.key((*step).to_owned()));
    let rest = segments.iter().skip(inside.len()).cloned();
    Some(rest.fold(root, |path, segment| path.step(segment)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_the_disguise_are_those_of_the_works() {
        let inside = ["spec", "agentSpec", "workload", "manifests"];
        let outside = ["spec", "workload", "manifests"];
        let path = Path::parse("spec.agentSpec.workload.manifests[2].spec.replicas");
        let moved = outside_of(&path, &inside, &outside).expect("inside");
        assert_eq!(moved.to_string(), "spec.workload.manifests[2].spec.replicas");
        assert_eq!(
            outside_of(&Path::parse("spec.addonName"), &inside, &outside),
            None
        );
    }
}
