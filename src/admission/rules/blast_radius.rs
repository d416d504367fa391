//! Rules about how much of a fleet one edit reaches. Page: `tests/admission/blast-radius.md`.
//!
//! Decides from the fleet as it is which clusters an edit takes the add-on from, and which it moves at once. Where nobody
//! knows what a placement selects, its clusters count as untouched. The share that is too much is the operator's
//! (`--blast-radius`).

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::Value;

use crate::admission::body::{AddonBody, PlacementAt};
use crate::admission::rules::install_strategy::place_of;
use crate::admission::subject::{Addon, Operations, Rule, Subject};
use crate::api::LabelSelector;
use crate::field::{Class, Fault, Findings, Path};
use crate::model::{ConfigRollout, RolloutStrategy, Selector};
use crate::snapshot::{Facts, Kind, Name, PeerFacts, PlacementFacts};

const REMOVAL: &str = "blast-radius/removal";
const MOVE: &str = "blast-radius/move";
/// In a smaller fleet every edit reaches most of it.
const FEWEST: usize = 5;

/// Rules of add-ons.
pub(in crate::admission) const ON_ADDONS: &[Rule<Addon>] = &[
    Rule {
        id: REMOVAL,
        on: Operations::Update,
        doc: "An edit leaves the add-on on most of its clusters.\n\n\
              A placement that is dropped from the install strategy, or a label selector that matches less, uninstalls the \
              add-on where nothing selects it any more. Warns when that is more than a share of the clusters that have it: \
              half of them, unless `--blast-radius` says otherwise, and never with fewer than five. Set the rule to Deny to \
              have such an edit made in steps.",
        check: removal,
    },
    Rule {
        id: MOVE,
        on: Operations::Update,
        doc: "An edit does not move most clusters at once.\n\n\
              A change of configurations or versions travels with the rollout of its placement, and under All reaches every \
              cluster in the same moment. Warns when more than a share of the clusters that have the add-on move at once: \
              half of them, unless `--blast-radius` says otherwise, and never with fewer than five. Use Progressive.",
        check: moved,
    },
];

fn peers<'f>(subject: &Subject<'f, Addon>) -> Option<&'f PeerFacts> {
    let peers = subject.facts.peers(subject.name)?;
    (peers.clusters >= FEWEST).then_some(peers)
}

fn removal(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (Some(peers), Some(old)) = (peers(subject), &subject.old) else {
        return;
    };
    let strategy = |body: &AddonBody<'_>| part(body, "installStrategy").cloned();
    if strategy(old) == strategy(&subject.body) || !subject.effort.spend(peers.clusters.saturating_mul(4)) {
        return;
    }
    let parting = |body: &AddonBody<'_>| {
        let clusters = peers.instances.iter();
        let parts = clusters.filter(|(cluster, mark)| parts(subject.facts, body, cluster, mark));
        parts.map(|(cluster, _)| cluster).collect::<BTreeSet<_>>()
    };
    // Those that part anyway are not this edit's.
    let before = parting(old);
    let leaving = parting(&subject.body).difference(&before).count();
    let share = subject.rulebook.blast_radius;
    if share.is_exceeded_by(leaving, peers.clusters) {
        let detail = format!(
            "takes the add-on from {leaving} of its {} clusters, more than {}",
            peers.clusters,
            share.words()
        );
        let path = Path::root().key("spec").key("installStrategy");
        findings.warn(Fault::bare(Class::Forbidden, detail).at(path, REMOVAL));
    }
}

/// Tells whether an instance goes because nothing selects its cluster. What a human made stays, and so does everything
/// while the strategy is Manual.
fn parts(facts: &Facts, body: &AddonBody<'_>, cluster: &Name, mark: &Name) -> bool {
    if mark.is_empty() {
        return false;
    }
    match body.install_type.unwrap_or_default() {
        "Placements" => !body
            .placements
            .iter()
            .any(|placement| keeps(facts, placement, cluster, mark)),
        "ClusterLabelSelector" => selector(body).is_some_and(|selector| {
            let found = facts.cluster(cluster);
            facts.knows(Kind::Cluster)
                && !found
                    .is_some_and(|found| selector.matches(|key| found.labels.get(key).map(|value| &**value)))
        }),
        _ => false,
    }
}

fn keeps(facts: &Facts, placement: &PlacementAt<'_>, cluster: &Name, mark: &Name) -> bool {
    let Some((namespace, name)) = place_of(placement) else {
        return false;
    };
    match known(facts, (namespace, name)) {
        Some(found) => found.clusters.contains(cluster),
        // While a placement is unknown it keeps what it gave.
        None => **mark == format!("{namespace}/{name}"),
    }
}

fn known<'f>(facts: &'f Facts, (namespace, name): (&str, &str)) -> Option<&'f PlacementFacts> {
    let found = facts.placement(namespace, name)?;
    (found.exists && found.decided).then_some(found)
}

fn selector(body: &AddonBody<'_>) -> Option<Selector> {
    let node = body.label_selector.as_ref()?;
    let raw = LabelSelector::deserialize(node.value).ok()?;
    Selector::parse(&raw, &node.path).ok()
}

fn part<'a>(body: &AddonBody<'a>, name: &str) -> Option<&'a Value> {
    body.spec.as_ref()?.value.get(name)
}

/// A part of an edit that moves clusters.
struct Wave {
    path: Path,
    /// How many clusters it moves in the same moment.
    at_once: usize,
}

fn moved(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (Some(peers), Some(old)) = (peers(subject), &subject.old) else {
        return;
    };
    if !subject.effort.spend(peers.clusters.saturating_mul(4)) {
        return;
    }
    let waves: Vec<Wave> = if let Some(path) = changed_default(old, &subject.body) {
        everywhere(subject, peers, path)
    } else {
        let placements = subject.body.placements.iter();
        let changed = placements.filter(|placement| gives_another(old, placement));
        changed.map(|placement| wave(subject, peers, placement)).collect()
    };
    let at_once = waves.iter().map(|wave| wave.at_once).sum();
    let share = subject.rulebook.blast_radius;
    if !share.is_exceeded_by(at_once, peers.clusters) {
        return;
    }
    let Some(largest) = waves.into_iter().max_by_key(|wave| wave.at_once) else {
        return;
    };
    let detail = format!(
        "moves {at_once} of {} clusters at once, more than {}",
        peers.clusters,
        share.words()
    );
    findings.warn(Fault::bare(Class::Forbidden, detail).at(largest.path, MOVE));
}

/// Returns the part of the spec that gives every cluster something else than before.
fn changed_default(old: &AddonBody<'_>, new: &AddonBody<'_>) -> Option<Path> {
    let spec = Path::root().key("spec");
    if part(old, "supportedConfigs").map(defaults_of) != part(new, "supportedConfigs").map(defaults_of) {
        return Some(spec.key("supportedConfigs"));
    }
    let configs = |body: &AddonBody<'_>| {
        part(body, "configuration")
            .and_then(|one| one.get("configs"))
            .cloned()
    };
    (configs(old) != configs(new)).then(|| spec.key("configuration").key("configs"))
}

/// A type without a default gives nobody anything.
fn defaults_of(supported: &Value) -> Vec<&Value> {
    let entries = supported.as_array().into_iter().flatten();
    entries
        .filter(|entry| entry.get("defaultConfig").is_some())
        .collect()
}

fn gives_another(old: &AddonBody<'_>, placement: &PlacementAt<'_>) -> bool {
    let was = old
        .placements
        .iter()
        .find(|was| place_of(was) == place_of(placement));
    // What is new in the strategy installs, and moves nobody.
    was.is_some_and(|was| {
        ["configs", "addonSpec", "addonTemplate"]
            .iter()
            .any(|field| was.value.get(field) != placement.value.get(field))
    })
}

/// A change of defaults travels with the rollout of `spec.configuration` if there is one, else with that of each placement;
/// clusters of no placement move at once.
fn everywhere(subject: &Subject<'_, Addon>, peers: &PeerFacts, path: Path) -> Vec<Wave> {
    let body = &subject.body;
    if let Some((at, raw)) = &body.config_rollout
        && let Ok(ConfigRollout::RollingUpdateWithPlacement(rolling)) = ConfigRollout::parse(raw, at)
    {
        let at_once = rolling.at_once.of(peers.clusters);
        return vec![Wave { path, at_once }];
    }
    let mut placed: BTreeSet<&Name> = BTreeSet::new();
    let mut waves = Vec::new();
    for placement in &body.placements {
        let found = place_of(placement).and_then(|place| known(subject.facts, place));
        placed.extend(found.iter().flat_map(|found| found.clusters.iter()));
        waves.push(wave(subject, peers, placement));
    }
    let others = peers
        .instances
        .iter()
        .filter(|(cluster, _)| !placed.contains(cluster));
    waves.push(Wave {
        path,
        at_once: others.count(),
    });
    waves
}

fn wave(subject: &Subject<'_, Addon>, peers: &PeerFacts, placement: &PlacementAt<'_>) -> Wave {
    let path = placement.path.clone();
    let Some(found) = place_of(placement).and_then(|place| known(subject.facts, place)) else {
        return Wave { path, at_once: 0 };
    };
    let clusters = found
        .clusters
        .iter()
        .filter(|cluster| peers.instances.contains(cluster))
        .count();
    let strategy = placement
        .rollout
        .as_ref()
        .map(|(at, raw)| RolloutStrategy::parse(raw, at));
    let at_once = match strategy {
        Some(Ok(RolloutStrategy::Progressive { limit, groups, .. })) => {
            let first = largest_group(found).filter(|_| !groups.is_empty());
            first.unwrap_or_else(|| limit.map_or(clusters, |limit| limit.of(clusters)))
        }
        Some(Ok(RolloutStrategy::ProgressivePerGroup { .. })) => largest_group(found).unwrap_or(clusters),
        Some(Ok(RolloutStrategy::All(_)) | Err(_)) | None => clusters,
    };
    Wave {
        path,
        at_once: at_once.min(clusters),
    }
}

fn largest_group(placement: &PlacementFacts) -> Option<usize> {
    placement.groups.iter().map(|group| group.clusters).max()
}
