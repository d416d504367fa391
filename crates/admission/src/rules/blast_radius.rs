//! Rules about how much of a fleet one edit reaches. Page: `tests/rules/blast-radius.md`.
//!
//! Decides from the fleet as it is when an edit takes the add-on from too many clusters, and when it moves too many at once:
//! which ones those are, `reach` says. Where it is not known what a placement selects, its clusters count as untouched. The share
//! that is too much is the operator's (`--blast-radius`).

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
/// In a smaller fleet every edit reaches most of it.
const FEWEST: usize = 5;

rules! { pub(crate) ON_ADDONS of Addon {
    warns REMOVAL, Update, removal =>
        "An edit leaves the add-on on most of its clusters.\n\n\
         A placement that is dropped from the install strategy, or a label selector that matches less, uninstalls the \
         add-on where nothing selects it any more. Warns when that is more than a share of the clusters that have it: \
         half of them, unless `--blast-radius` says otherwise, and never with fewer than five. Set the rule to Deny to \
         have such an edit made in steps.";
    warns MOVE, Update, moved =>
        "An edit does not move most clusters at once.\n\n\
         A change of configurations or versions travels with the rollout of its placement, and under All reaches every \
         cluster in the same moment. So does an edit in place of a configuration that clusters run with, the \
         configuration that they have waited for, and a template that raises the default version. Warns when more than a share \
         of the clusters that have the add-on move at once: half of them, unless `--blast-radius` says otherwise, and never \
         with fewer than five. Each cluster counts once, and one that the edit changes nothing for does not count. Only clusters \
         count that the edit updates before anything else has to happen: of groups that follow each other (a canary, \
         `mandatoryDecisionGroups`, ProgressivePerGroup) the first one, and of a rollout with `maxConcurrency` no more than that. \
         Clusters of a paused rollout do not count, nor those of decision groups that wait for an approval \
         (`tidegate.io/approval-before`), nor those that would get a configuration that does not exist or that the add-on does \
         not support. Use Progressive.";
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
    let parting = |body: &AddonBody<'_>| {
        let kept = InstallScope::by(body, subject.facts, effort);
        let clusters = peers.instances.iter().take_while(|_| effort.spend(kept.steps()));
        let parts =
            clusters.filter(|(cluster, peer)| kept.parts_with(subject.facts, cluster, &peer.installed_by));
        parts.map(|(cluster, _)| cluster).collect::<BTreeSet<_>>()
    };
    // Those that part anyway are not this edit's.
    let before = parting(old);
    let leaving = parting(&subject.body).difference(&before).count();
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

/// What an install strategy keeps the add-on on.
enum InstallScope<'a> {
    /// Clusters of placements, all of which are known.
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
                        // While one of them is absent or undecided nothing is taken away, whichever gave it.
                        None => return Self::All,
                    }
                }
                Self::Placed(clusters)
            }
            // An absent selector selects nothing; one without a meaning changes nothing.
            "ClusterLabelSelector" if body.label_selector.is_none() => Self::Placed(BTreeSet::new()),
            "ClusterLabelSelector" => selector(body).map_or(Self::All, Self::Selected),
            _ => Self::All,
        }
    }

    /// Returns what one cluster costs.
    fn steps(&self) -> usize {
        match self {
            Self::Placed(..) | Self::All => 1,
            Self::Selected(selector) => selector.requirements.len().saturating_add(1),
        }
    }

    /// Tells whether an instance goes because nothing selects its cluster. What a human made stays, and so does
    /// everything while the strategy is Manual.
    fn parts_with(&self, facts: &Facts, cluster: &Name, mark: &Name) -> bool {
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
                .merging(body.merged())
                .pausing(body.paused())
                .awaiting(body.approval_before()),
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

/// Returns what is told of an edit that moves too many clusters at once; the add-on is named where the object is none.
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

/// Returns the field that clusters have something else from than before.
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
