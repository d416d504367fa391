//! The footprint of a check contains all facts that it depends on: without all other facts the findings are the same.
//!
//! Tested for every example of `tests/rules/*.md` that creates an object, and for policies that read facts.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use admission::Operation;
use api::cluster::ManagedCluster;
use audit::{Asks, Facts, Inputs, KINDS, Part, Rulebook, Shift, judge};
use jiff::Timestamp;
use model::ConfigType;
use serde_json::{Value, json};
use store::{ByTwoNames, ClusterFacts, Kind, Name, Names, ObjectKey, PlacementFacts, ShardedMap};

use crate::kit::pages::pages;
use crate::kit::policies;

fn audited(object: &Value) -> Option<ObjectKey> {
    let kind = KINDS
        .into_iter()
        .find(|kind| object["kind"].as_str() == Some(kind.address().kind))?;
    let text = |name: &str| object["metadata"][name].as_str().unwrap_or_default();
    Some(ObjectKey::new(kind, text("namespace"), text("name")))
}

fn only<T: Clone>(map: &BTreeMap<Name, T>, keeps: impl Fn(&Name) -> bool) -> Arc<BTreeMap<Name, T>> {
    let kept = map.iter().filter(|(name, _)| keeps(name));
    Arc::new(kept.map(|(name, value)| (name.clone(), value.clone())).collect())
}

fn spread<T: Clone + PartialEq>(map: &ShardedMap<T>, keeps: impl Fn(&Name) -> bool) -> ShardedMap<T> {
    let mut kept = ShardedMap::default();
    for (name, value) in map.iter().filter(|(name, _)| keeps(name)) {
        kept.set(name, Some(value.clone()));
    }
    kept
}

/// Returns the clusters of a footprint. Of that of an add-on only what rules ask about is left, if no policy asks for clusters.
fn clusters(facts: &Facts, footprint: &Inputs, asks: Asks) -> ShardedMap<Arc<ClusterFacts>> {
    let whole = footprint.whole.contains(&Part::Clusters);
    let mut kept = spread(&facts.clusters, |name| {
        whole || footprint.cluster.as_ref() == Some(name)
    });
    let host = footprint.cluster.as_ref().filter(|_| !whole && !asks.clusters);
    if let Some((name, found)) = host.and_then(|name| Some((name, facts.cluster(name)?))) {
        let bare = ClusterFacts {
            accepted: found.accepted,
            deleting: found.deleting,
            ..ClusterFacts::of(&ManagedCluster::default(), &mut Names::default())
        };
        kept.set(name, Some(Arc::new(bare)));
    }
    kept
}

/// Returns the facts without everything outside of a footprint.
fn within(facts: &Facts, footprint: &Inputs, asks: Asks) -> Facts {
    let whole = |part: Part| footprint.whole.contains(&part);
    let addon = |name: &Name| whole(Part::AddOns) || footprint.addon.as_ref() == Some(name);
    let mut placements: ByTwoNames<Arc<PlacementFacts>> = BTreeMap::new();
    for (namespace, names) in facts.placements.iter() {
        for (name, found) in names {
            let place = (namespace.clone(), name.clone());
            if !whole(Part::Placements) && !footprint.placements.contains(&place) {
                continue;
            }
            let mut found = PlacementFacts::clone(found);
            if let Some(cluster) = footprint.cluster.as_ref().filter(|_| !asks.placements) {
                let here = found.clusters.iter().filter(|one| *one == cluster);
                found.clusters = Arc::new(here.cloned().collect());
            }
            placements
                .entry(place.0)
                .or_default()
                .insert(place.1, Arc::new(found));
        }
    }
    let settings = whole(Part::Settings);
    Facts {
        addons: only(&facts.addons, addon),
        versions: only(&facts.versions, addon),
        peers: only(&facts.peers, |name| asks.peers && addon(name)),
        clusters: clusters(facts, footprint, asks),
        configs: spread(&facts.configs, |name| {
            whole(Part::Configs) || footprint.configs.contains(name)
        }),
        placements: Arc::new(placements),
        declared_types: only(&facts.declared_types, addon),
        hub_roles: if whole(Part::Roles) {
            Arc::clone(&facts.hub_roles)
        } else {
            Arc::default()
        },
        rollouts: if settings {
            Arc::clone(&facts.rollouts)
        } else {
            Arc::default()
        },
        profiles: if settings {
            Arc::clone(&facts.profiles)
        } else {
            Arc::default()
        },
        ..facts.clone()
    }
}

/// Asks for every fact there is, so that a difference in any of them makes another message.
fn nosy() -> Rulebook {
    let text = "'addon ' + string(facts.addon.found) + facts.addon.defaultVersion \
        + ' cluster ' + string(facts.cluster.found) + ' peers ' + string(facts.peers.clusters) \
        + ' configs ' + facts.configs.map(c, c.key + string(c.exists == true) + string(c.supported == true)).join(',') \
        + ' placements ' + facts.placements.map(p, p.name + string(p.clusters) + string(p.groups.size())).join(',')";
    let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy",
        "metadata": {"name": "nosy"}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"],
                "resources": ["*"]}]},
            "validationActions": ["Warn"],
            "facts": ["addon", "cluster", "configs", "placements", "peers"],
            "validations": [{"id": "all", "expression": "false", "messageExpression": text}]}});
    policies::rulebook(&[document])
}

fn differences(rulebook: &Rulebook) -> (usize, String) {
    let asks = Asks::of(rulebook);
    let (mut asked, mut wrong) = (0, String::new());
    for page in pages() {
        for example in &page.examples {
            let object = &example.asked.object;
            let Some(key) = audited(object).filter(|_| example.asked.operation == Operation::Create) else {
                continue;
            };
            asked += 1;
            let footprint = Inputs::of(&key, object, &example.facts);
            let less = within(&example.facts, &footprint, asks);
            let told = |facts: &Facts| judge(key.kind, object, facts, rulebook, Timestamp::UNIX_EPOCH);
            let (all, some) = (told(&example.facts), told(&less));
            if all != some {
                let place = format!("{}: {}", page.path.display(), example.title);
                writeln!(
                    wrong,
                    "{place}\n  {all:#?}\n  but within {footprint:?}\n  {some:#?}"
                )
                .expect("a string");
            }
            let shift = Shift::between(&example.facts, &less, asks);
            assert!(
                !shift.concerns(&key, &footprint),
                "{}: an object outside of the footprint is affected: {shift:?}",
                example.title
            );
        }
    }
    (asked, wrong)
}

#[test]
fn facts_outside_of_a_footprint_change_no_finding_of_a_rule() {
    let (asked, wrong) = differences(&Rulebook::default());
    assert!(asked > 100, "only {asked} examples were checked");
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn facts_outside_of_a_footprint_change_no_finding_of_a_policy() {
    let (_, wrong) = differences(&nosy());
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn what_an_instance_rests_on_concerns_it() {
    let key = ObjectKey::new(Kind::Instance, "c1", "hello");
    let object =
        json!({"spec": {"configs": [{"group": "g", "resource": "things", "namespace": "n", "name": "x"}]}});
    let spec = json!({"installStrategy": {"type": "Placements", "placements": [{"namespace": "default", "name": "all"}]}});
    let addon = |spec: &Value| {
        store::AddonFacts::of(&serde_json::from_value(spec.clone()).expect("the wire type reads it"))
    };
    let facts = Facts::default()
        .with_addon("hello", addon(&spec))
        .with_placement("default", "all", ["c1"]);
    let footprint = Inputs::of(&key, &object, &facts);
    let concerned = |new: Facts| {
        let asks = Asks::default();
        Shift::between(&facts, &new, asks).concerns(&key, &footprint)
    };
    let now = || facts.clone();
    assert!(!concerned(now()), "nothing has changed");
    assert!(concerned(now().with_addon("hello", addon(&json!({})))));
    assert!(!concerned(now().with_addon("other", addon(&json!({})))));
    let clusters = |labels: Value, accepted: bool| {
        let object = json!({"metadata": {"labels": labels}, "spec": {"hubAcceptsClient": accepted}});
        let object = serde_json::from_value(object).expect("a cluster");
        let mut clusters = ShardedMap::default();
        let found = ClusterFacts::of(&object, &mut Names::default());
        clusters.set(&"c1".into(), Some(Arc::new(found)));
        Facts { clusters, ..now() }
    };
    let accepted = clusters(json!({}), true);
    let known = Inputs::of(&key, &object, &accepted);
    let cluster_changes = |new: Facts, clusters_count: bool| {
        let asks = Asks {
            clusters: clusters_count,
            ..Asks::default()
        };
        Shift::between(&accepted, &new, asks).concerns(&key, &known)
    };
    assert!(cluster_changes(clusters(json!({}), false), false));
    assert!(
        !cluster_changes(clusters(json!({"a": "b"}), true), false),
        "no rule asks for the labels of its cluster"
    );
    assert!(cluster_changes(clusters(json!({"a": "b"}), true), true));
    assert!(concerned(now().with_versions("hello", ["v1"])));
    assert!(!concerned(now().with_versions("other", ["v1"])));
    assert!(concerned(now().with_placement("default", "all", ["c2"])));
    assert!(
        !concerned(now().with_placement("default", "all", ["c1", "c2"])),
        "it is selected as before"
    );
    let declared = ConfigType::parse("example.com", "others").expect("a type");
    assert!(
        concerned(now().with_declared("hello", [declared.clone()])),
        "what an agent declares on one cluster counts on all"
    );
    assert!(!concerned(now().with_declared("other", [declared])));
    assert!(concerned(now().completed()));
}

#[test]
fn an_unknown_cluster_affects_objects_that_name_it() {
    let key = ObjectKey::new(Kind::Instance, "c1", "hello");
    let footprint = Inputs::of(&key, &json!({"spec": {}}), &Facts::default());
    assert!(footprint.whole.contains(&Part::Clusters) && footprint.whole.contains(&Part::AddOns));
    let addon = store::AddonFacts::default();
    let came = Facts::default().with_addon("helo", addon);
    let shift = Shift::between(&Facts::default(), &came, Asks::default());
    assert!(
        shift.concerns(&key, &footprint),
        "a suggestion may come from any of them"
    );
}
