//! What holds changes beside rollouts: other add-ons that have to run first, freezes, windows, and invalid settings.
//!
//! Decides only what is certain, from the view and the writes alone: an add-on that is not on the cluster, goes, or has not
//! confirmed what it is assigned is not there, whatever else it should have.

use jiff::Timestamp;

use super::pace::{FoundHome, homes};
use super::standing::{Terms, Written, standing, there};
use model::ProgressDeadline;
use model::upgrade::WindowState;
use store::{Instance, Name, Reference, Status, View};

/// Returns what starts although something beside its rollout holds it.
pub(super) fn broken(view: &View<'_>, written: &Written<'_>, now: Timestamp) -> Vec<String> {
    let terms = Terms {
        deadline: ProgressDeadline::None,
        paused: false,
        now,
    };
    let starting: Vec<&Instance> = written
        .iter()
        .filter_map(|(cluster, after)| {
            let instance = there(view, cluster)?;
            let standing = standing(view, instance, Some(after), terms);
            standing.starts.then_some(instance)
        })
        .collect();
    let early = needy(view, &starting).into_iter();
    early
        .chain(frozen(view, &starting, now))
        .chain(untimely(view, &starting, now))
        .chain(unclear(view, &starting))
        .collect()
}

/// Clusters start before an add-on that this one depends on is there.
fn needy(view: &View<'_>, starting: &[&Instance]) -> Option<String> {
    let lacks = |instance: &&&Instance| {
        let mut needed = view
            .rollout()
            .depends_on()
            .iter()
            .chain(&view.addon.facts.dependencies);
        needed.any(|name| {
            let other = view.sibling(name);
            !other.is_some_and(|other| other.instance(&instance.cluster).is_some_and(is_there))
        })
    };
    told(
        starting.iter().filter(lacks),
        "an add-on that it depends on is not there",
    )
}

fn is_there(instance: &Instance) -> bool {
    let available = instance.condition("Available");
    !instance.meta.deleting
        && instance.references.iter().all(Reference::is_applied)
        && available.is_none_or(|condition| condition.status == Status::True)
}

/// Clusters start, also for the first time, while a freeze applies to them.
fn frozen(view: &View<'_>, starting: &[&Instance], now: Timestamp) -> Option<String> {
    let is_frozen = |instance: &&&Instance| {
        let cluster = view.cluster(&instance.cluster);
        view.freezes().any(|record| match &record.freeze {
            Err(_) => true,
            Ok(freeze) => {
                let selector = freeze.clusters.as_ref();
                let is_selected = selector
                    .is_none_or(|selector| cluster.is_some_and(|cluster| cluster.is_matched_by(selector)));
                freeze.is_in_force(now) && is_selected
            }
        })
    };
    told(starting.iter().filter(is_frozen), "it is frozen")
}

/// Clusters that have something are changed while no window is open.
fn untimely(view: &View<'_>, starting: &[&Instance], now: Timestamp) -> Option<String> {
    let (homes, settings) = (homes(view), view.rollout());
    let is_shut = |cluster: &Name| {
        let windows = match homes.of(cluster) {
            FoundHome::At(index) => {
                let by = view.addon.placements.get(index);
                by.and_then(|by| settings.windows(&by.namespace, &by.name))
            }
            FoundHome::None => settings.windows_of_all(),
            FoundHome::Unclear => None,
        };
        let labels = view.cluster(cluster).map(|cluster| &cluster.labels);
        let own = settings.cluster_windows(|key| labels?.get(key).map(|value| &**value));
        let mut both = [windows, own].into_iter().flatten();
        both.any(|windows| matches!(windows.at(now), WindowState::Shut(_)))
    };
    let has_something = |instance: &&&Instance| {
        let mut references = instance.references.iter();
        is_shut(&instance.cluster) && references.any(Reference::is_applied)
    };
    told(starting.iter().filter(has_something), "no window is open")
}

/// Clusters start while it is not known what is set for the rollouts.
fn unclear(view: &View<'_>, starting: &[&Instance]) -> Option<String> {
    let is_unclear = view.rollout_fault().is_some();
    told(
        starting.iter().filter(|_| is_unclear),
        "it is not known what is set for the rollout",
    )
}

fn told<'i>(mut early: impl Iterator<Item = &'i &'i Instance>, why: &str) -> Option<String> {
    let first = &early.next()?.cluster;
    Some(format!("{first} starts although {why}"))
}
