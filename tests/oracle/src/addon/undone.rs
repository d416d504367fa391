//! What was undone, judged from the notes on the hub and the writes alone: no cluster is given it again while its note stands,
//! and the way back has rules of its own.
//!
//! Decides only what is certain: a cluster that has configurations of its own, or that has chosen its version, is left out,
//! because what it inherits is not known here.

use super::pace::{FoundHome, Homes};
use super::standing::{AssignedConfig, Written, assigned, is_same, there};
use store::{Instance, Name, PinnedConfig, PinnedContent, PlacementUse, Progression, Undone, View};

/// Returns the clusters that are given what was undone.
pub(super) fn broken(view: &View<'_>, homes: &Homes<'_>, written: &Written<'_>) -> Vec<String> {
    let each = view.addon.placements.iter().enumerate();
    let faults = each.filter_map(|(index, by)| {
        let (_, undone) = note(view, by)?;
        let is_given = |(cluster, after): &(&&Name, &Vec<AssignedConfig>)| {
            let inherits = there(view, cluster).filter(|instance| takes_all(instance));
            homes.of(cluster) == FoundHome::At(index)
                && is_of(after, &undone.failed)
                && inherits.is_some_and(|instance| !is_same(after, &assigned(instance)))
        };
        let (first, _) = written.iter().find(is_given)?;
        Some(format!(
            "placement {}/{}: {first} is given what was undone, and no retry was requested",
            by.namespace, by.name
        ))
    });
    faults.collect()
}

/// Returns whether a plan sends clusters of a placement back.
pub(super) fn goes_back(view: &View<'_>, by: &PlacementUse, written: &Written<'_>) -> bool {
    let Some(good) = note(view, by).and_then(|(progression, _)| progression.known_good()) else {
        return false;
    };
    written.values().any(|after| is_of(after, &good))
}

/// The note that the content of a placement was undone, unless the add-on asks for it to be tried again (`spec.retriedAt`).
fn note<'v>(view: &View<'v>, by: &PlacementUse) -> Option<(&'v Progression, Undone)> {
    let mut noted = view.addon.progressions.iter().flatten();
    let found = noted.find(|one| one.namespace == by.namespace && one.name == by.name)?;
    let undone = found.undone()?;
    let retried = view.rollout().retried_at(&by.namespace, &by.name);
    retried
        .is_none_or(|at| at <= undone.since)
        .then_some((found, undone))
}

/// Whether a cluster takes all that its placement gives, and nothing else.
fn takes_all(instance: &Instance) -> bool {
    instance.configs.is_empty() && instance.has_given_version()
}

fn is_of(after: &[AssignedConfig], content: &PinnedContent) -> bool {
    let is =
        |(one, other): (&AssignedConfig, &PinnedConfig)| one.config == other.config && one.hash == other.hash;
    after.len() == content.configs.len() && after.iter().zip(&content.configs).all(is)
}
