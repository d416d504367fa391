//! The course of an add-on: wave by wave, until nothing is left to do.
//!
//! Decides what a wave is: everything that is written until agents have to answer. A course that does not come to an end
//! is cut, and says so.

use std::collections::BTreeSet;

use jiff::Timestamp;

use schemars::JsonSchema;
use serde::Serialize;

use super::agents;
use super::world::{Moves, World};
use crate::offline::Hub;
use kubernetes::field::natural;
use plan::{self, Plan, Wait, WaitOn};
use store::{Settings, Store};

/// The most plans of one add-on.
const MOST_PLANS: usize = 4096;
/// The most plans in a row that are written without an answer of agents between them.
const MOST_WRITES: usize = 16;
/// The most waits in a row without a change.
const MOST_PAUSES: usize = 32;

/// What happens at one time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "PlannedWave")]
pub struct Wave {
    /// Seconds after the start.
    #[serde(rename = "afterSeconds")]
    pub after: i64,
    /// When it starts.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// Clusters on which the add-on is installed.
    pub installed: Vec<String>,
    /// Clusters that are updated.
    pub moved: Vec<String>,
    /// Clusters from which it is removed.
    pub removed: Vec<String>,
}

impl Wave {
    /// Returns what happens to which clusters, as far as anything does.
    pub(super) fn parts(&self) -> impl Iterator<Item = (&'static str, &Vec<String>)> {
        let all = [
            ("install", &self.installed),
            ("update", &self.moved),
            ("remove", &self.removed),
        ];
        all.into_iter().filter(|(_, clusters)| !clusters.is_empty())
    }
}

/// What is not updated, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HeldCluster {
    /// The cluster; none when the whole add-on is concerned.
    pub cluster: Option<String>,
    /// Whether a wave has started it, so that its update does not complete.
    pub moved: bool,
    /// Whether it waits in the rollout, for example for an approval, so that it is updated later.
    pub waits: bool,
    /// Why.
    pub why: String,
}

/// What would happen to one add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Forecast {
    /// The add-on.
    pub addon: String,
    /// How many clusters have it at the end.
    pub clusters: usize,
    /// The waves.
    pub waves: Vec<Wave>,
    /// Clusters that are not updated at the end.
    pub held: Vec<HeldCluster>,
    /// Whether the course was cut because it did not come to an end.
    pub cut: bool,
}

impl Wave {
    /// Returns how many clusters it concerns.
    pub fn reach(&self) -> usize {
        self.parts().map(|(_, clusters)| clusters.len()).sum()
    }
}

impl Forecast {
    /// Returns how many clusters something keeps from their update.
    pub(super) fn blocked(&self) -> usize {
        let blocked = self.held.iter().filter(|held| !held.moved);
        let clusters: BTreeSet<&String> = blocked.filter_map(|held| held.cluster.as_ref()).collect();
        clusters.len()
    }

    /// Returns how many clusters are updated, wait for their update in the rollout, or lose the add-on, of how many that have it
    /// before or at the end.
    pub fn moved(&self) -> (usize, usize) {
        let mut moved = BTreeSet::new();
        let mut removed = BTreeSet::new();
        for wave in &self.waves {
            moved.extend(wave.moved.iter().chain(&wave.removed));
            removed.extend(&wave.removed);
        }
        let installed: BTreeSet<&String> = self.waves.iter().flat_map(|wave| &wave.installed).collect();
        let waiting = self.held.iter().filter(|held| held.waits);
        let waiting = waiting.filter_map(|held| held.cluster.as_ref());
        moved.extend(waiting.filter(|cluster| !installed.contains(cluster)));
        (moved.len(), self.clusters.saturating_add(removed.len()))
    }
}

/// Returns what would happen to every add-on of a hub, sorted by name.
pub fn forecast(hub: &Hub, settings: Settings, now: Timestamp) -> Vec<Forecast> {
    let mut world = World::new(hub, settings, now);
    let addons = in_order(&world.store);
    let courses = addons.iter().map(|addon| {
        world.now = now;
        course(&mut world, addon, now)
    });
    let mut courses: Vec<Forecast> = courses.collect();
    courses.sort_by(|one, other| one.addon.cmp(&other.addon));
    courses
}

/// Returns the add-ons; those that others depend on come first, so that their result is known.
fn in_order(store: &Store) -> Vec<String> {
    let mut order = Vec::new();
    let mut seen = BTreeSet::new();
    for addon in store.addons() {
        let mut open = vec![(addon, false)];
        while let Some((addon, is_last)) = open.pop() {
            if is_last {
                order.push(addon.to_string());
            } else if seen.insert(addon) {
                open.push((addon, true));
                let known = store.view(addon).map(|view| view.depends_on());
                open.extend(known.into_iter().flatten().map(|one| (one, false)));
            }
        }
    }
    order.retain(|addon| store.addons().any(|known| **known == **addon));
    order
}

pub(super) fn course(world: &mut World<'_>, addon: &str, start: Timestamp) -> Forecast {
    let mut waves = Vec::new();
    let mut moves = Moves::default();
    let (mut writes, mut pauses) = (0, 0);
    let mut last = Plan::default();
    let mut cut = true;
    for _ in 0..MOST_PLANS {
        let Some(view) = world.store.view(addon) else {
            cut = false;
            break;
        };
        last = plan::addon(&view, world.now);
        if writes < MOST_WRITES && world.write(&last, &mut moves) {
            writes += 1;
            continue;
        }
        writes = 0;
        if !moves.is_empty() {
            pauses = 0;
            note(&mut waves, wave(std::mem::take(&mut moves), start, world.now));
        }
        if agents::report(world, addon) > 0 {
            continue;
        }
        let again = last.recheck_at.filter(|again| *again > world.now);
        let Some(again) = again.filter(|_| pauses < MOST_PAUSES) else {
            cut = !last.actions.is_empty();
            break;
        };
        world.now = again;
        pauses += 1;
    }
    let clusters = world.store.view(addon).map_or(0, |view| view.instances().count());
    Forecast {
        addon: addon.to_owned(),
        clusters,
        held: held(world, addon, &last, &waves),
        waves,
        cut,
    }
}

/// Adds a wave, without the clusters for which something happens again at the same time: that is still their move.
fn note(waves: &mut Vec<Wave>, mut wave: Wave) {
    let mut known = BTreeSet::new();
    for earlier in waves.iter().filter(|earlier| earlier.after == wave.after) {
        known.extend(earlier.installed.iter().chain(&earlier.moved).cloned());
    }
    wave.moved.retain(|cluster| !known.contains(cluster));
    if !(wave.installed.is_empty() && wave.moved.is_empty() && wave.removed.is_empty()) {
        waves.push(wave);
    }
}

fn held(world: &World<'_>, addon: &str, plan: &Plan, waves: &[Wave]) -> Vec<HeldCluster> {
    let each = waves
        .iter()
        .flat_map(|wave| wave.installed.iter().chain(&wave.moved));
    let moved: BTreeSet<&str> = each.map(String::as_str).collect();
    let waits = plan.waits.iter().map(|wait| HeldCluster {
        cluster: wait.cluster.as_ref().map(ToString::to_string),
        moved: wait
            .cluster
            .as_ref()
            .is_some_and(|cluster| moved.contains(&**cluster)),
        waits: matches!(wait.on, WaitOn::Rollout(_)),
        why: Wait::addon(wait.on.clone()).to_string(),
    });
    let mut held: Vec<HeldCluster> = waits.collect();
    let silent: BTreeSet<String> = agents::silent(world, addon).into_iter().collect();
    for cluster in silent {
        if !held.iter().any(|held| held.cluster.as_ref() == Some(&cluster)) {
            let why = "the cluster is not available to the hub, so its agent confirms nothing".to_owned();
            held.push(HeldCluster {
                moved: moved.contains(cluster.as_str()),
                waits: false,
                cluster: Some(cluster),
                why,
            });
        }
    }
    held
}

fn wave(moves: Moves, start: Timestamp, now: Timestamp) -> Wave {
    let list = |clusters: BTreeSet<String>| {
        let mut clusters: Vec<String> = clusters.into_iter().collect();
        clusters.sort_by(|one, other| natural(one, other));
        clusters
    };
    let Moves {
        installed,
        mut moved,
        removed,
    } = moves;
    moved.retain(|cluster| !installed.contains(cluster) && !removed.contains(cluster));
    Wave {
        after: now.as_second().saturating_sub(start.as_second()),
        at: now,
        installed: list(installed),
        moved: list(moved),
        removed: list(removed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn add_ons_that_others_depend_on_come_first_and_a_circle_ends() {
        let order = |addons: &[(&str, &str)]| {
            let mut store = Store::new(Settings::default());
            for (name, depends) in addons {
                let depends: Vec<&str> = depends.split(',').filter(|one| !one.is_empty()).collect();
                let metadata = serde_json::json!({"name": name, "uid": name, "resourceVersion": "1"});
                for (kind, spec) in [
                    (store::Kind::AddOn, serde_json::json!({})),
                    (
                        store::Kind::Rollout,
                        serde_json::json!({"addon": name, "dependsOn": depends}),
                    ),
                ] {
                    let object = serde_json::json!({"metadata": metadata, "spec": spec});
                    store.apply(store::Event::Applied { kind, object });
                }
            }
            in_order(&store).join(" ")
        };
        assert_eq!(order(&[("a", "b"), ("b", ""), ("c", "a,missing")]), "b a c");
        assert_eq!(order(&[("a", "c"), ("b", "a"), ("c", "b"), ("d", "")]), "b c a d");
    }

    #[test]
    fn clusters_that_wait_in_the_rollout_count_as_moved() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let held = |cluster: &str, waits| HeldCluster {
            cluster: Some(cluster.to_owned()),
            moved: false,
            waits,
            why: String::new(),
        };
        let forecast = Forecast {
            addon: "a".to_owned(),
            clusters: 5,
            waves: vec![Wave {
                after: 0,
                at: Timestamp::UNIX_EPOCH,
                installed: names(&["new"]),
                moved: names(&["canary"]),
                removed: Vec::new(),
            }],
            held: vec![
                held("prod1", true),
                held("prod2", true),
                held("canary", true),
                held("new", true),
                held("deleting", false),
            ],
            cut: false,
        };
        assert_eq!(forecast.moved(), (3, 5));
    }

    #[test]
    fn a_cluster_moves_once_at_one_time() {
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let wave = |after, installed: &[&str], moved: &[&str]| Wave {
            after,
            at: Timestamp::UNIX_EPOCH,
            installed: names(installed),
            moved: names(moved),
            removed: Vec::new(),
        };
        let mut waves = Vec::new();
        for next in [
            wave(0, &["c1"], &["c2"]),
            wave(0, &[], &["c1", "c2"]),
            wave(0, &[], &["c2", "c3"]),
            wave(60, &[], &["c1"]),
        ] {
            note(&mut waves, next);
        }
        assert_eq!(
            waves,
            [
                wave(0, &["c1"], &["c2"]),
                wave(0, &[], &["c3"]),
                wave(60, &[], &["c1"])
            ]
        );
    }
}
