//! Which clusters an upgrade is about.
//!
//! Decides which are selected, which stay when they are no longer selected, and which are canary clusters. `pace.rs` decides which start.

use std::collections::{BTreeMap, BTreeSet};

use model::Name;
use model::upgrade::{ClusterSelector, PlacementKey, UpgradeSpec};

use crate::upgrade::record::State;
use crate::upgrade::run_memory::Memory;
use store::upgrade::marks::Stage;
use store::upgrade::{Cluster, View, Work};

/// A cluster that an upgrade is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Member<'a> {
    /// The cluster on the hub; absent when it was deleted.
    pub(crate) cluster: Option<&'a Cluster>,
    /// Whether it is selected now.
    pub(crate) selected: bool,
    /// The placement that selects it, where that is one without a valid record and nothing else selects the cluster.
    pub(crate) unproven: Option<&'a PlacementKey>,
    /// Whether it is a canary cluster, by its labels.
    pub(crate) first: bool,
    /// The first stage that selects it by its labels, if any.
    pub(crate) stage: Option<&'a str>,
}

/// Returns the clusters that an upgrade is about: those that are selected, and those that have begun.
pub(crate) fn members<'a>(
    view: &'a View<'_>,
    spec: &'a UpgradeSpec,
    memory: &Memory,
) -> BTreeMap<Name, Member<'a>> {
    let mut all: BTreeMap<Name, Member<'a>> = BTreeMap::new();
    let first = spec
        .strategy
        .canary
        .as_ref()
        .map(|selector| Chosen::of(view, selector));
    let stages = spec.strategy.stages.iter();
    let stages: Vec<(&'a str, Chosen<'a>)> = stages
        .map(|stage| (&*stage.name, Chosen::of(view, &stage.selector)))
        .collect();
    let mut add = |name: &Name, selected: bool, unproven: Option<&'a PlacementKey>| {
        let cluster = view.clusters.get(name);
        let is_there = cluster.is_some_and(|cluster| !cluster.deleting);
        if selected && !is_there {
            return;
        }
        let first = first.as_ref().zip(cluster);
        let first = first.is_some_and(|(first, cluster)| first.has(name, cluster));
        let stage = stages
            .iter()
            .find(|(_, chosen)| cluster.is_some_and(|cluster| chosen.has(name, cluster)));
        let member = all.entry(name.clone()).or_insert_with(|| Member {
            cluster,
            selected: false,
            unproven,
            first,
            stage: stage.map(|(name, _)| *name),
        });
        if selected {
            member.unproven = member.unproven.and(unproven);
        }
        member.selected |= selected;
    };
    for place in &spec.placements {
        let unproven = view.unproven.get(place);
        for name in view.placements.get(place).into_iter().flatten() {
            add(name, true, unproven);
        }
    }
    if let Some(selector) = &spec.selector {
        for name in bound(view, selector) {
            let cluster = view.clusters.get(name);
            if cluster.is_some_and(|cluster| selector.matches(name, &cluster.labels)) {
                add(name, true, None);
            }
        }
    }
    for (name, record) in &memory.records {
        if record.state != State::NotStarted {
            add(name, false, None);
        }
    }
    for (name, works) in view.works.iter() {
        let mark = memory.mark(name);
        let is_flight = |work: &Work| {
            let is_stage = matches!(work.stage, Some(Stage::Platform | Stage::Operators));
            is_stage && work.owner == view.upgrade.uid && work.run == mark && !memory.is_probe(name, work)
        };
        if works.values().any(is_flight) {
            add(name, false, None);
        }
    }
    all
}

/// The clusters that a selector may choose from: those of the sets that it names, as far as they are bound to the namespace.
fn bound<'a>(view: &'a View<'_>, selector: &ClusterSelector) -> BTreeSet<&'a Name> {
    let sets = selector.sets();
    let named = view
        .sets
        .iter()
        .filter(|(name, _)| sets.is_empty() || sets.contains(*name));
    named.flat_map(|(_, clusters)| clusters).collect()
}

/// Canary clusters, and those of a stage, are chosen from the selected clusters, whose sets need not be bound here, unless sets are
/// named.
struct Chosen<'a> {
    selector: &'a ClusterSelector,
    among: Option<BTreeSet<&'a Name>>,
}

impl<'a> Chosen<'a> {
    fn of(view: &'a View<'_>, selector: &'a ClusterSelector) -> Self {
        Self {
            selector,
            among: (!selector.sets().is_empty()).then(|| bound(view, selector)),
        }
    }

    fn has(&self, name: &Name, cluster: &Cluster) -> bool {
        let is_among = self.among.as_ref().is_none_or(|among| among.contains(name));
        is_among && self.selector.matches(name, &cluster.labels)
    }
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use serde_json::json;

    use super::*;
    use api::cluster::ManagedClustersUpgradeStatus;
    use store::upgrade::Upgrade;

    /// The clusters that a spec selects of a hub with two placements, a bound set, a cluster that goes, and one in no set.
    fn selected(spec: serde_json::Value) -> String {
        let raw = serde_json::from_value(spec).expect("a spec");
        let status = ManagedClustersUpgradeStatus::default();
        let names = |names: &[&str]| {
            names
                .iter()
                .map(|name| Name::from(*name))
                .collect::<BTreeSet<Name>>()
        };
        let place = |name: &str| PlacementKey {
            namespace: "dev".to_owned(),
            name: name.to_owned(),
        };
        let cluster = |name: &str| {
            let cluster = Cluster {
                deleting: name == "gone",
                ..Cluster::default()
            };
            (Name::from(name), cluster)
        };
        let view = View {
            upgrade: Upgrade {
                namespace: "default",
                name: "mcu",
                uid: "u",
                generation: 1,
                retry: "",
                record: "",
                deleting: false,
                held: true,
                spec: &raw,
                status: &status,
            },
            placements: BTreeMap::from([
                (place("one"), names(&["a", "b", "unknown"])),
                (place("two"), names(&["b", "c", "gone"])),
            ]),
            unproven: BTreeSet::new(),
            undecided: false,
            sets: BTreeMap::from([
                ("bound".to_owned(), names(&["c", "d"])),
                ("other".to_owned(), names(&["e"])),
            ]),
            clusters: Cow::Owned(["a", "b", "c", "d", "e", "f", "gone"].map(cluster).into()),
            works: Cow::Owned(BTreeMap::new()),
            refused: BTreeMap::new(),
            freezes: Vec::new(),
            approvals: BTreeMap::new(),
            checks: BTreeMap::new(),
            shows_approvals: true,
            settings: model::ResolvedSettings::default(),
            settings_fault: None,
            unwritten: None,
        };
        let spec = UpgradeSpec::parse(&raw, &kubernetes::field::Path::root()).expect("a spec");
        let memory = Memory::of(&view, &spec);
        let all = members(&view, &spec, &memory);
        all.keys().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn placements_and_the_selector_select_together_and_within_bound_sets() {
        let version = json!({"version": "4.12.0"});
        let place = |name: &str| json!({"namespace": "dev", "name": name});
        let rows = [
            (json!({"placement": [place("one")]}), "a b"),
            (json!({"placement": [place("one"), place("two")]}), "a b c"),
            (json!({"placement": [place("none")]}), ""),
            (json!({"clusterSelector": {}}), "c d e"),
            (
                json!({"clusterSelector": {"clusterSets": ["bound", "unbound"]}}),
                "c d",
            ),
            (
                json!({"placement": [place("one")], "clusterSelector": {"matchLabels": {"name": "d"}}}),
                "a b d",
            ),
        ];
        for (mut spec, expected) in rows {
            spec["clusterVersion"] = version.clone();
            assert_eq!(selected(spec.clone()), expected, "{spec}");
        }
    }
}
