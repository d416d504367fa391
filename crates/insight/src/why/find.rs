//! From a hub to the answer: the chains of all clusters, and the causes that they share.
//!
//! Decides which clusters an add-on concerns: those that have it, those that wait for it, and the one that is asked about.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::answer::{Answer, Cause, Chain, Grade, Group, Unknown};
use super::conditions::PlannedConditions;
use super::context::Context;
use super::placements::DecidedPlacements;
use super::{command, wait};
use crate::offline::Hub;
use plan::{self, Action, Plan};
use store::{InstallStrategy, Kind, Settings, Store, View};

/// Returns why an add-on is not ready, on one cluster or on all; or what blocks its deletion.
pub fn why(
    hub: &Hub,
    settings: Settings,
    addon: &str,
    cluster: Option<&str>,
    now: Timestamp,
) -> Result<Answer, Unknown> {
    why_from(hub, &hub.store(settings), addon, cluster, now)
}

/// Returns the same from a store and from what is [`kept`](super::kept()) of the objects that it was made of.
pub fn why_from(
    hub: &Hub,
    store: &Store,
    addon: &str,
    cluster: Option<&str>,
    now: Timestamp,
) -> Result<Answer, Unknown> {
    why_in(hub, store, addon, cluster, false, now)
}

/// Returns the same from a store of the hub. If `alone`, the clusters that share the cause are not searched.
pub(super) fn why_in(
    hub: &Hub,
    store: &Store,
    addon: &str,
    cluster: Option<&str>,
    alone: bool,
    now: Timestamp,
) -> Result<Answer, Unknown> {
    let is_there = || store.addons().any(|name| **name == *addon);
    let view = store.view(addon).filter(|view| is_there() || is_left(view));
    let view = view.ok_or_else(|| Unknown::addon(addon, store.addons().map(|name| &**name)))?;
    let plan = plan::addon(&view, now);
    let conditions = PlannedConditions::of(&plan);
    let case = Context {
        hub,
        view,
        waits: &plan.waits,
        conditions: &conditions,
        decided: DecidedPlacements::of(&view),
        going: going(&plan),
        now,
        stages: OnceCell::new(),
        turns: RefCell::default(),
    };
    let has_works = |cluster: &str| view.works(cluster).next().is_some();
    let is_strange = |cluster: &&str| {
        view.cluster(cluster).is_none() && view.instance(cluster).is_none() && !has_works(cluster)
    };
    if let Some(cluster) = cluster.filter(is_strange) {
        let known = view.clusters().map(|(name, _)| &**name);
        return Err(Unknown::cluster(cluster, known));
    }
    Ok(answer(&case, cluster, alone, now))
}

/// Whether anything is left on a cluster of an add-on whose object was deleted.
fn is_left(view: &View<'_>) -> bool {
    view.all_instances().next().is_some() || view.all_works().next().is_some()
}

/// The clusters from which the plan would remove the add-on now. What the controllers have removed in the last minute, and what they
/// cannot read, is in no object, so that they may hold what this plan does not: the add-on's conditions tell it.
fn going(plan: &Plan) -> BTreeSet<String> {
    let deleted = plan.actions.iter().filter_map(|action| match action {
        Action::Delete { object, .. } if object.kind == Kind::Instance => Some(object.namespace.to_string()),
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    });
    deleted.collect()
}

fn answer(case: &Context<'_>, asked: Option<&str>, alone: bool, now: Timestamp) -> Answer {
    let concerned = concerned(case);
    let mut found = Tally::default();
    let is_needed = |cluster: &&String| !alone || asked == Some(cluster.as_str());
    for cluster in concerned.iter().filter(is_needed) {
        let (chain, cause) = case.chain(cluster);
        if asked == Some(cluster.as_str()) {
            found.asked.push(chain.clone());
        }
        found.add(cluster, chain, cause);
    }
    let Tally {
        ready,
        waiting,
        absent,
        asked: mut chains,
        groups,
    } = found;
    let mut found: Vec<(Group, Chain)> = groups.into_values().collect();
    found.sort_by_key(|(group, _)| (order(group), std::cmp::Reverse(group.clusters.len())));
    match asked {
        None => chains.extend(found.iter().map(|(_, chain)| chain.clone())),
        Some(cluster) if chains.is_empty() => chains.push(case.chain(cluster).0),
        Some(_) => {}
    }
    // What stalls the add-on is shown for every cluster: a cluster that is up to date waits for nothing, but the next change would
    // not arrive there either.
    let has_cause = chains.iter().any(|chain| chain.cause.is_some());
    let is_reported = |whole: &Whole| asked.is_none() || has_cause || whole.stalls;
    let is_asked = |group: &Group| asked.is_none_or(|asked| group.clusters.iter().any(|one| *one == *asked));
    let of_clusters = found.into_iter().map(|(group, _)| group).filter(is_asked);
    let of_clusters: Vec<Group> = of_clusters.collect();
    // What is as intended on a cluster does not show what an administrator has to do for the add-on.
    let faults = of_clusters.iter().filter(|group| group.grade != Grade::Meant);
    let known: BTreeSet<&str> = faults.map(|group| group.cause.id).collect();
    let whole = whole(case, concerned.is_empty(), &known);
    let whole = whole.into_iter().filter(is_reported).map(|whole| whole.group);
    let mut groups: Vec<Group> = whole.chain(of_clusters).collect();
    groups.sort_by_key(order);
    Answer {
        addon: case.view.addon.name.to_string(),
        leaving: case.view.addon.meta.deleting,
        at: now,
        asked: asked.map(str::to_owned),
        clusters: concerned.len().saturating_sub(absent),
        ready,
        waiting,
        groups,
        chains,
    }
}

/// What an administrator has to do comes first, what is meant to be so last. Clusters that fail come before those that only wait
/// for them, however many those are.
fn order(group: &Group) -> (u8, bool) {
    let rank = match group.grade {
        Grade::Fault => 0,
        Grade::WaitsForUser => 1,
        Grade::Waits(_) => 2,
        Grade::Absent => 3,
        Grade::Meant => 4,
    };
    (rank, super::turn::waits_for_others(group.cause))
}

/// What was found out about the clusters so far.
#[derive(Default)]
struct Tally {
    ready: usize,
    waiting: usize,
    absent: usize,
    asked: Vec<Chain>,
    groups: BTreeMap<(&'static str, Grade, String), (Group, Chain)>,
}

impl Tally {
    fn add(&mut self, cluster: &str, chain: Chain, cause: Option<Cause>) {
        let count = match cause.as_ref().map(|cause| cause.grade) {
            None | Some(Grade::Meant) => Some(&mut self.ready),
            Some(Grade::WaitsForUser | Grade::Waits(_)) => Some(&mut self.waiting),
            Some(Grade::Absent) => Some(&mut self.absent),
            Some(Grade::Fault) => None,
        };
        if let Some(count) = count {
            *count = count.saturating_add(1);
        }
        let Some(cause) = cause else { return };
        // Clusters share a cause, not their names.
        let detail = shared(&cause.detail, cluster);
        let group = Group {
            cause: cause.doc,
            grade: cause.grade,
            detail: detail.clone(),
            command: chain.command.clone(),
            clusters: Vec::new(),
        };
        let key = (cause.doc.id, cause.grade, detail);
        let (group, _) = self.groups.entry(key).or_insert((group, chain));
        group.clusters.push(cluster.to_owned());
    }
}

/// Something that holds the add-on as a whole.
struct Whole {
    group: Group,
    /// Whether nothing changes any more because of it.
    stalls: bool,
}

/// What blocks the add-on as a whole; `nowhere` if no cluster has or should have it, `known` the causes of clusters.
fn whole(case: &Context<'_>, nowhere: bool, known: &BTreeSet<&str>) -> Vec<Whole> {
    let mut causes: Vec<(Cause, bool)> = Vec::new();
    if case.view.addon.meta.deleting {
        // What clusters hold, they tell themselves.
        causes.extend(nowhere.then(|| (case.held_addon(), false)));
    } else {
        let waits = case.waits.iter().filter(|wait| wait.cluster.is_none());
        causes.extend(waits.map(|wait| (wait::cause(wait), wait::stalls(&wait.on))));
        let is_reported = |cause: &Cause| {
            known.contains(cause.doc.id) || causes.iter().any(|(other, _)| other.doc == cause.doc)
        };
        let stalled = case.stalled();
        let is_news = stalled.as_ref().is_some_and(|cause| !is_reported(cause));
        causes.extend(stalled.filter(|_| is_news).map(|cause| (cause, true)));
        causes.extend(case.unbound().map(|cause| (cause, false)));
        causes.extend(case.lifecycle_slip().map(|cause| (cause, false)));
        if nowhere && causes.is_empty() {
            causes.push((case.no_clusters(), false));
        }
    }
    let addon = &*case.view.addon.name;
    let each = causes.into_iter().map(|(cause, stalls)| Whole {
        stalls,
        group: Group {
            cause: cause.doc,
            grade: cause.grade,
            command: command::of(&cause, addon, None),
            detail: cause.detail,
            clusters: Vec::new(),
        },
    });
    each.collect()
}

/// A detail without the name of its cluster, where that stands as a word: clusters share a cause, not their names.
fn shared(detail: &str, cluster: &str) -> String {
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let mut out = String::with_capacity(detail.len());
    let mut rest = detail;
    while let Some((before, after)) = rest.split_once(cluster).filter(|_| !cluster.is_empty()) {
        out.push_str(before);
        // A dot belongs to a name only where the name goes on behind it.
        let mut next = after.chars();
        let goes_on = match next.next() {
            Some('.') => next.next().is_some_and(is_name),
            Some(letter) => is_name(letter),
            None => false,
        };
        let begins = !out.ends_with(|letter: char| is_name(letter) || letter == '.');
        out.push_str(if begins && !goes_on { "<cluster>" } else { cluster });
        rest = after;
    }
    out.push_str(rest);
    out
}

fn concerned(case: &Context<'_>) -> BTreeSet<String> {
    let view = &case.view;
    let having = view.instances().map(|instance| instance.cluster.to_string());
    let waiting = case
        .waits
        .iter()
        .filter_map(|wait| wait.cluster.as_ref())
        .map(ToString::to_string);
    let mut concerned: BTreeSet<String> = having.chain(waiting).collect();
    if view.addon.meta.deleting {
        // No cluster gets it any more; what is left are instances and works.
        concerned.extend(view.all_works().map(|(cluster, _)| cluster.to_string()));
        return concerned;
    }
    concerned.extend(case.decided.clusters().cloned());
    if let InstallStrategy::Labels(Some(_)) = &view.addon.strategy {
        let names = view.clusters().map(|(name, _)| name.to_string());
        concerned.extend(names.filter(|name| case.selects(name)));
    }
    concerned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_cluster_is_replaced_where_it_is_a_word() {
        let rows = [
            (
                "the cluster c cannot be reached",
                "the cluster <cluster> cannot be reached",
            ),
            (
                "c: c, (c) \"c\" c/c c.",
                "<cluster>: <cluster>, (<cluster>) \"<cluster>\" <cluster>/<cluster> <cluster>.",
            ),
            (
                "addon-c c-addon c.example.com x.c",
                "addon-c c-addon c.example.com x.c",
            ),
            ("", ""),
        ];
        for (detail, expected) in rows {
            assert_eq!(shared(detail, "c"), expected);
        }
        assert_eq!(shared("aa aaa a", "a"), "aa aaa <cluster>");
    }
}
