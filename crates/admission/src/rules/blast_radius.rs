//! Rules about how many clusters one edit affects. Page: `tests/rules/blast-radius.md`.
//!
//! Warns if an edit uninstalls the add-on from too many of its current clusters, or updates too many of them at once. The module
//! `reach` returns the affected clusters. Clusters of a placement whose decisions are not known count as not affected. The flag
//! `--blast-radius` sets the limit.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::body::AddonBody;
use crate::rules::install_strategy::place_of;
use crate::rules::reach::{Mover, Reach, Source, known};
use crate::step_budget::StepBudget;
use crate::subject::BlastRadius;
use crate::subject::{Addon, Subject, rules};
use api::LabelSelector;
use api::v1alpha1::ClusterManagementAddOnSpec;
use kubernetes::field::{Class, Fault, Findings, Path, quoted};
use model::{Selector, parse_selector};
use store::{AddonFacts, Facts, Kind, Name, PeerFacts};

const REMOVAL: &str = "blast-radius/removal";
pub(super) const MOVE: &str = "blast-radius/move";
/// With fewer clusters, every edit would affect most of them.
const FEWEST: usize = 5;

rules! { pub(crate) ON_ADDONS of Addon {
    warns REMOVAL, Update, removal =>
        "An edit does not uninstall the add-on from most of its clusters.\n\n\
         If a placement is removed from `spec.installStrategy`, or a label selector matches fewer clusters, the add-on is \
         uninstalled from the clusters that are no longer selected. Warns if the edit removes the add-on from more than 50% \
         of the clusters that have it. The flag `--blast-radius` changes this limit. An add-on on fewer than five clusters \
         never warns. Remove the clusters in several smaller edits; to enforce this, set the rule to Deny.";
    warns MOVE, Update, moved =>
        "An edit does not update most clusters at once.\n\n\
         A change of configurations or versions is rolled out with the strategy of its placement, and the strategy All \
         updates every cluster at the same time. The same applies if you edit a configuration that clusters use, create one \
         that they are waiting for, or add a template that raises the default version. Warns if more than 50% of the clusters \
         that have the add-on are updated at once; the flag `--blast-radius` changes this limit, and the webhook never warns about an add-on on fewer than five clusters. Only clusters that are updated immediately count, each once: the first of several \
         decision groups (a canary, `mandatoryDecisionGroups`, ProgressivePerGroup), and at most `maxConcurrency` clusters. \
         Clusters do not count if the edit changes nothing for them, if their rollout is paused, if their decision group \
         waits for an approval (`spec.approvalBefore` of the AddOnRollout), or if their new configuration does not exist or is not \
         supported by the add-on. Use the rollout strategy Progressive.";
} }

fn peers<'f>(subject: &Subject<'f, Addon>) -> Option<&'f PeerFacts> {
    let peers = subject.facts.peers(subject.name)?;
    (peers.clusters >= FEWEST).then_some(peers)
}

fn removal(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (Some(peers), Some(old)) = (peers(subject), &subject.old) else {
        return;
    };
    let effort = subject.effort;
    if same_part(old, &subject.body, "installStrategy", effort) {
        return;
    }
    let uninstalled = |body: &AddonBody<'_>| {
        let kept = InstallScope::by(body, subject.facts, effort);
        let clusters = peers.instances.iter().take_while(|_| effort.spend(kept.steps()));
        let parts =
            clusters.filter(|(cluster, peer)| kept.uninstalls(subject.facts, cluster, &peer.installed_by));
        parts.map(|(cluster, _)| cluster).collect::<BTreeSet<_>>()
    };
    // Clusters that the old object also uninstalls are not counted for this edit.
    let before = uninstalled(old);
    let leaving = uninstalled(&subject.body).difference(&before).count();
    let share = subject.blast_radius;
    if share.is_exceeded_by(leaving, peers.clusters) {
        let detail = format!(
            "this edit removes the add-on from {leaving} of its {} clusters (limit {})",
            peers.clusters,
            share.words()
        );
        let path = Path::root().key("spec").key("installStrategy");
        findings.warn(Fault::bare(Class::Forbidden, detail).at(path, REMOVAL));
    }
}

/// The clusters on which an install strategy keeps the add-on.
enum InstallScope<'a> {
    /// The clusters of placements; the decisions of all of them are known.
    Placed(BTreeSet<&'a Name>),
    Selected(Selector),
    All,
}

impl<'a> InstallScope<'a> {
    fn by(body: &AddonBody<'_>, facts: &'a Facts, effort: &StepBudget<'_>) -> Self {
        match body.install_type.unwrap_or_default() {
            "Placements" => {
                let mut clusters = BTreeSet::new();
                let mut seen = BTreeSet::new();
                let places = body.placements.each(effort).filter_map(place_of);
                for place in places.filter(|place| seen.insert(*place)) {
                    match known(facts, place) {
                        Some(found) => clusters.extend(found.clusters.iter().take_while(|_| effort.spend(1))),
                        // If a placement does not exist or has no complete decision, the add-on is not uninstalled anywhere.
                        None => return Self::All,
                    }
                }
                Self::Placed(clusters)
            }
            // An absent selector selects no cluster; an invalid one changes nothing.
            "ClusterLabelSelector" if body.label_selector.is_none() => Self::Placed(BTreeSet::new()),
            "ClusterLabelSelector" => selector(body).map_or(Self::All, Self::Selected),
            _ => Self::All,
        }
    }

    /// Returns how many steps the check of one cluster costs.
    fn steps(&self) -> usize {
        match self {
            Self::Placed(..) | Self::All => 1,
            Self::Selected(selector) => selector.requirements.len().saturating_add(1),
        }
    }

    /// Returns whether the add-on is uninstalled from a cluster that is not selected. ManagedClusterAddOns that a user has created
    /// stay, and with the strategy Manual all of them stay.
    fn uninstalls(&self, facts: &Facts, cluster: &Name, mark: &Name) -> bool {
        let is_kept = match self {
            Self::Placed(clusters) => clusters.contains(cluster),
            Self::Selected(selector) => {
                let found = facts.cluster(cluster);
                !facts.knows(Kind::Cluster)
                    || found.is_some_and(|found| {
                        selector.matches(|key| found.labels.get(key).map(|value| &**value))
                    })
            }
            Self::All => true,
        };
        !mark.is_empty() && !is_kept
    }
}

fn selector(body: &AddonBody<'_>) -> Option<Selector> {
    let node = body.label_selector.as_ref()?;
    let raw = LabelSelector::deserialize(node.value).ok()?;
    parse_selector(&raw, &node.path).ok()
}

fn same_part(old: &AddonBody<'_>, new: &AddonBody<'_>, name: &str, effort: &StepBudget<'_>) -> bool {
    match (part(old, name), part(new, name)) {
        (Some(old), Some(new)) => effort.same(old, new),
        (old, new) => old.is_none() && new.is_none(),
    }
}

fn part<'a>(body: &AddonBody<'a>, name: &str) -> Option<&'a Value> {
    body.spec.as_ref()?.value.get(name)
}

fn moved(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let (facts, effort) = (subject.facts, subject.effort);
    let read = |body: &AddonBody<'_>| {
        let spec = body.spec.as_ref()?;
        let spec = ClusterManagementAddOnSpec::deserialize(spec.value).ok()?;
        Some(
            AddonFacts::of(&spec)
                .protecting(body.protected())
                .merging(body.merged()),
        )
    };
    let (Some(_), Some(was)) = (peers(subject), &subject.old) else {
        return;
    };
    let (Some(was), Some(is)) = (read(was), read(&subject.body)) else {
        return;
    };
    let (Some(old), Some(new)) = (
        Reach::of(facts, subject.name, &was, effort),
        Reach::of(facts, subject.name, &is, effort),
    ) else {
        return;
    };
    let movers = old.moved_by(&new);
    let mut by_source: BTreeMap<Source, usize> = BTreeMap::new();
    for mover in &movers {
        let count = by_source.entry(mover.source).or_default();
        *count = count.saturating_add(1);
    }
    let Some((source, _)) = by_source.into_iter().max_by_key(|(_, count)| *count) else {
        return;
    };
    if let Some(fault) = too_many(&new, &movers, subject.blast_radius, None) {
        findings.warn(fault.at(edited(&subject.body, source), MOVE));
    }
}

/// Returns the finding for an edit that updates too many clusters at once. It names the add-on if the object is not an add-on.
pub(super) fn too_many<'a>(
    standing: &Reach<'a>,
    movers: &[Mover<'a>],
    share: BlastRadius,
    addon: Option<&str>,
) -> Option<Fault> {
    let all = standing.peers.clusters;
    let at_once = standing.at_once(movers);
    if all < FEWEST || !share.is_exceeded_by(at_once, all) {
        return None;
    }
    let whose = addon.map_or_else(String::new, |addon| format!(" of add-on {}", quoted(addon)));
    let detail = format!(
        "this edit updates {at_once} of {all} clusters{whose} at once (limit {})",
        share.words()
    );
    Some(Fault::bare(Class::Forbidden, detail))
}

/// Returns the field whose edit changes the configuration of the clusters.
fn edited(body: &AddonBody<'_>, source: Source) -> Path {
    let spec = Path::root().key("spec");
    let install = spec.key("installStrategy").key("placements");
    match source {
        Source::Placement(index) => install.index(index).key("configs"),
        Source::Version(index) => {
            let template = body.placements.at(index).and_then(|placement| {
                let template = placement.spec.as_ref().or(placement.template.as_ref())?;
                Some(template.path.key("desiredVersion"))
            });
            template.unwrap_or_else(|| install.index(index))
        }
        Source::Placements => install,
        Source::Configuration => spec.key("configuration").key("configs"),
        Source::Supported | Source::Own => spec.key("supportedConfigs"),
    }
}
