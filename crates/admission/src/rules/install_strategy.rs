//! Rules about install strategies and their placements. Page: `tests/rules/install-strategy.md`.
//!
//! Checks that a strategy is consistent and selects clusters. A strategy that selects no cluster only warns, because it may select
//! some later.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::body::{AddonBody, PlacementAt};
use crate::rules::naming::near;
use crate::step_budget::StepBudget;
use crate::subject::{Addon, ReplicaSet, Subject, rules};
use api::LabelSelector;
use kubernetes::field::{Class, Fault, Findings, Path, Violation, quoted};
use model::parse_selector;
use store::{Facts, Kind, Name, ObjectKey, PlacementFacts};

const TYPE_MISMATCH: &str = "install/type-mismatch";
const DUPLICATE_PLACEMENT: &str = "install/duplicate-placement";
const UNKNOWN_PLACEMENT: &str = "install/unknown-placement";
const OVERLAP: &str = "install/overlap";
const SELECTS_NOTHING: &str = "install/selects-nothing";
const BY_PLACEMENTS: &str = "Placements";
const BY_LABELS: &str = "ClusterLabelSelector";
const MANUAL: &str = "Manual";

rules! { pub(crate) ON_ADDONS of Addon {
    warns TYPE_MISMATCH, CreateAndUpdate, type_mismatch =>
        "An install strategy sets only the fields of its type.\n\n\
         `placements` are used only with the type `Placements`, and `labelSelector` only with the type \
         `ClusterLabelSelector`; with any other type they have no effect. Without a `type` the strategy is `Manual`, and the \
         controllers install the add-on on no cluster. Warns, because you may set the type to `Manual` for some time and keep \
         the placements. Otherwise set `type`, or remove the field.";
    refuses DUPLICATE_PLACEMENT, CreateAndUpdate, duplicate_placement =>
        "A placement is listed once in an install strategy.\n\n\
         The entry of a placement defines the configurations of its clusters, and a second entry could contradict it. \
         Refused, with the path of the first entry. Merge the two entries.";
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement =>
        "The placements of an install strategy or of a ManifestWorkReplicaSet exist.\n\n\
         A placement that does not exist selects no cluster. If it existed before, its clusters keep the add-on, but receive \
         no further changes. Warns, because the placement may be created by the same `kubectl apply`. The warning contains \
         the closest name, or the namespace that has a placement with this name.";
    warns OVERLAP, CreateAndUpdate, overlap =>
        "Placements with different configurations select different clusters.\n\n\
         If several placements of an add-on select a cluster, the last one in the list applies. Warns if such entries differ, \
         with the number of clusters, because the order of the list then determines their configuration. Make the placements \
         select different clusters, or check that the order is correct.";
    warns SELECTS_NOTHING, CreateAndUpdate, selects_nothing =>
        "An install strategy selects at least one cluster.\n\n\
         The add-on is not installed on any cluster by a strategy without placements, a placement whose decisions contain no \
         cluster, or a label selector that matches no cluster of the hub. Warns, because clusters may be added later. \
         Otherwise check the placements or the label selector.";
} }

rules! { pub(crate) ON_REPLICA_SETS of ReplicaSet {
    warns UNKNOWN_PLACEMENT, CreateAndUpdate, unknown_placement_ref => "";
} }

fn strategy_path() -> Path {
    Path::root().key("spec").key("installStrategy")
}

fn kind_of<'a>(body: &AddonBody<'a>) -> &'a str {
    body.install_type
        .filter(|kind| !kind.is_empty())
        .unwrap_or(MANUAL)
}

fn type_mismatch(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let body = &subject.body;
    let given = kind_of(body);
    let fields = [
        ("placements", !body.placements.is_empty(), BY_PLACEMENTS),
        ("labelSelector", body.label_selector.is_some(), BY_LABELS),
    ];
    for (field, is_there, required) in fields {
        if !is_there || given == required {
            continue;
        }
        let detail = format!("has no effect while type is {}", quoted(given));
        findings.warn(Fault::bare(Class::Forbidden, detail).at(strategy_path().key(field), TYPE_MISMATCH));
    }
}

fn duplicate_placement(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let mut first: BTreeMap<(&str, &str), &Path> = BTreeMap::new();
    for placement in subject.body.placements.each(subject.effort) {
        let Some(place) = place_of(placement) else {
            continue;
        };
        match first.get(&place) {
            None => {
                first.insert(place, &placement.path);
            }
            Some(before) => {
                let name = format!("{}/{}", place.0, place.1);
                let fault = Fault::of_text(Class::Duplicate, &name, format!("is already listed at {before}"));
                findings.deny(fault.at(placement.path.clone(), DUPLICATE_PLACEMENT));
            }
        }
    }
}

/// Returns namespace and name, if both are set.
pub(super) fn place_of<'a>(placement: &PlacementAt<'a>) -> Option<(&'a str, &'a str)> {
    let given = |text: Option<&'a str>| text.filter(|text| !text.is_empty());
    Some((given(placement.namespace)?, given(placement.name)?))
}

fn in_effect<'s, 'a>(
    subject: &'s Subject<'a, Addon>,
) -> impl Iterator<Item = (&'s PlacementAt<'a>, (&'a str, &'a str))> {
    let by_placements = kind_of(&subject.body) == BY_PLACEMENTS;
    let each = subject.body.placements.each(subject.effort);
    let each = each.filter(move |_| by_placements);
    each.filter_map(|placement| Some((placement, place_of(placement)?)))
}

fn unknown_placement(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for (placement, place) in in_effect(subject) {
        let path = placement.path.key("name");
        findings_of_absence(subject, place, (UNKNOWN_PLACEMENT, path), findings);
    }
}

fn unknown_placement_ref(subject: &Subject<'_, ReplicaSet>, findings: &mut Findings) {
    let placements = subject.body.each(subject.effort);
    for (placement, place) in placements.filter_map(|one| Some((one, place_of(one)?))) {
        let path = placement.path.key("name");
        findings_of_absence(subject, place, (UNKNOWN_PLACEMENT, path), findings);
    }
}

/// Warns of a placement that does not exist.
pub(super) fn findings_of_absence<K: crate::subject::Kind>(
    subject: &Subject<'_, K>,
    (namespace, name): (&str, &str),
    (rule, path): (&'static str, Path),
    findings: &mut Findings,
) {
    let facts = subject.facts;
    let exists = facts
        .placement(namespace, name)
        .is_some_and(|placement| placement.exists);
    if exists || !facts.knows(Kind::Placement) {
        return;
    }
    let key = ObjectKey::new(Kind::Placement, namespace, name);
    if !subject.lacks(key, rule, &path) {
        return;
    }
    let detail = format!("no such placement in namespace {}", quoted(namespace));
    let hint = subject.effort.hint(|| suggestion(facts, namespace, name));
    let fault = Fault::of_text(Class::NotFound, name, detail).hint_if(hint);
    findings.warn(fault.at(path, rule));
}

fn suggestion(facts: &Facts, namespace: &str, name: &str) -> Option<String> {
    let exists = |placement: &PlacementFacts| placement.exists;
    let mut elsewhere = facts
        .placements
        .iter()
        .filter(|(_, names)| names.get(name).is_some_and(|placement| exists(placement)));
    if let Some((other, _)) = elsewhere.next() {
        return Some(format!("there is one in namespace {}", quoted(other)));
    }
    let here = facts.placements.get(namespace)?;
    let names = here.iter().filter(|(_, placement)| exists(placement));
    let near = near(name, names.map(|(name, _)| &**name))?;
    Some(format!("did you mean {}?", quoted(near)))
}

fn overlap(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let mut before: Vec<(&PlacementAt<'_>, &BTreeSet<Name>)> = Vec::new();
    let effort = subject.effort;
    for (placement, (namespace, name)) in in_effect(subject) {
        let facts = subject.facts.placement(namespace, name);
        let Some(facts) = facts.filter(|facts| !facts.clusters.is_empty()) else {
            continue;
        };
        let clusters = &*facts.clusters;
        let others = before.iter().take_while(|_| effort.spend(1));
        let shared = others.map(|(other, selected)| (shared(selected, clusters, effort), *other));
        let shared =
            shared.filter(|(count, other)| *count > 0 && !configure_the_same(other, placement, effort));
        // Report the placement that shares the most clusters, and the last one of several.
        let most = shared.max_by_key(|(count, _)| *count);
        if let Some((count, other)) = most {
            findings.warn(overlapping(count, other, placement));
        }
        before.push((placement, clusters));
    }
}

fn shared(one: &BTreeSet<Name>, other: &BTreeSet<Name>, effort: &StepBudget<'_>) -> usize {
    let (small, large) = if one.len() < other.len() {
        (one, other)
    } else {
        (other, one)
    };
    let paid = small.iter().take_while(|_| effort.spend(1));
    paid.filter(|cluster| large.contains(*cluster)).count()
}

/// Returns whether the clusters of two placements get the same configuration.
fn configure_the_same(one: &PlacementAt<'_>, other: &PlacementAt<'_>, effort: &StepBudget<'_>) -> bool {
    let pairs = config_fields(one).into_iter().zip(config_fields(other));
    pairs.into_iter().all(|pair| match pair {
        (Some(one), Some(other)) => effort.same(one, other),
        (one, other) => one.is_none() && other.is_none(),
    })
}

/// The fields of a placement that configure its clusters.
fn config_fields<'a>(placement: &PlacementAt<'a>) -> [Option<&'a Value>; 3] {
    let some = |name: &str| {
        let value = placement.value.get(name)?;
        let is_empty = matches!(value, Value::Array(items) if items.is_empty()) || value.is_null();
        (!is_empty).then_some(value)
    };
    [some("configs"), some("addonSpec"), some("addonTemplate")]
}

fn overlapping(count: usize, other: &PlacementAt<'_>, placement: &PlacementAt<'_>) -> Violation {
    let clusters = if count == 1 { "cluster" } else { "clusters" };
    let whole = other.path.to_string();
    let short = whole.rsplit('.').next().unwrap_or_default();
    let detail = format!("shares {count} {clusters} with {short}; the later entry takes precedence on them");
    let name = placement.name.unwrap_or_default();
    Fault::of_text(Class::Invalid, name, detail).at(placement.path.clone(), OVERLAP)
}

fn selects_nothing(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let body = &subject.body;
    let kind = kind_of(body);
    if kind == BY_PLACEMENTS && body.placements.is_empty() {
        let fault = Fault::bare(Class::Required, "is missing, so no cluster is selected");
        findings.warn(fault.at(strategy_path().key("placements"), SELECTS_NOTHING));
    }
    for (placement, (namespace, name)) in in_effect(subject) {
        let facts = subject.facts.placement(namespace, name);
        if facts.is_some_and(|facts| facts.exists && facts.decided && facts.clusters.is_empty()) {
            let fault = Fault::of_text(
                Class::Invalid,
                name,
                "this placement selects no cluster at present",
            );
            findings.warn(fault.at(placement.path.key("name"), SELECTS_NOTHING));
        }
    }
    if kind == BY_LABELS {
        matches_nothing(subject, findings);
    }
}

fn matches_nothing(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let facts = subject.facts;
    let Some(node) = &subject.body.label_selector else {
        return;
    };
    let raw = LabelSelector::deserialize(node.value).ok();
    let Some(Ok(selector)) = raw.map(|raw| parse_selector(&raw, &node.path)) else {
        return;
    };
    let count = facts.clusters.len();
    if count == 0 || !facts.knows(Kind::Cluster) {
        return;
    }
    let requirements = selector.requirements.len().saturating_add(1);
    let mut clusters = facts
        .clusters
        .iter()
        .take_while(|_| subject.effort.spend(requirements));
    if clusters.any(|(_, cluster)| selector.matches(|key| cluster.labels.get(key).map(|value| &**value)))
        || subject.effort.is_exceeded()
    {
        return;
    }
    let clusters = if count == 1 {
        "the only cluster"
    } else {
        "any cluster"
    };
    let detail = format!("does not match {clusters} of the hub");
    findings.warn(Fault::bare(Class::Invalid, detail).at(node.path.clone(), SELECTS_NOTHING));
}
