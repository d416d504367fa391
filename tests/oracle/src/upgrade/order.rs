//! The order of an upgrade: actions, canary clusters, the clusters that may upgrade at once, operators, and whose works are
//! touched.
//!
//! Decides by the ordering rules of the proposal, each by itself.

use std::collections::BTreeSet;

use serde_json::Value;

use super::facts::{Facts, entry, has_arrived, has_succeeded};
use model::CheckVerdict;
use plan::upgrade::Plan;
use plan::upgrade::Write;
use store::upgrade::Work;
use store::upgrade::marks;

/// Nothing is written for an invalid spec.
pub(super) fn without_a_meaning(plan: &Plan) -> Vec<String> {
    let each = plan
        .writes
        .iter()
        .filter(|write| matches!(write, Write::Create { .. }));
    each.map(|write| format!("senseless: {:?} is created", write.place()))
        .collect()
}

pub(super) fn faults(facts: &Facts<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    ownership(facts, &mut faults);
    starts(facts, &mut faults);
    canaries(facts, &mut faults);
    earlier_stages(facts, &mut faults);
    unchecked(facts, &mut faults);
    hops(facts, &mut faults);
    slots(facts, &mut faults);
    stages(facts, &mut faults);
    deletions(facts, &mut faults);
    moves(facts, &mut faults);
    faults
}

/// R73, R85, and the finalizer: nothing of others is touched, nothing is made that would stay.
fn ownership(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let upgrade = &facts.view.upgrade;
    for write in &facts.plan.writes {
        let (cluster, name) = write.place();
        let there = facts.view.works.get(cluster).and_then(|works| works.get(name));
        match (write, there) {
            (Write::Create { body, .. }, None) => {
                let uid = body
                    .pointer("/metadata/labels")
                    .and_then(|labels| labels.get(marks::UID));
                if uid.and_then(Value::as_str) != Some(upgrade.uid) {
                    faults.push(format!("R72: {cluster}/{name} does not say whose it is"));
                }
                if upgrade.deleting || !upgrade.held {
                    faults.push(format!(
                        "R85: {cluster}/{name} is created and would never be deleted"
                    ));
                }
            }
            (Write::Create { .. }, Some(_)) => faults.push(format!("R73: {cluster}/{name} is there already")),
            (Write::Update { before, .. } | Write::Delete { before, .. }, Some(work)) => {
                if work.owner != upgrade.uid {
                    faults.push(format!("R73: {cluster}/{name} is not ours"));
                }
                if work.uid != before.uid || work.version != before.version {
                    faults.push(format!("{cluster}/{name} is written from another revision"));
                }
            }
            (Write::Update { .. } | Write::Delete { .. }, None) => {
                faults.push(format!("{cluster}/{name} is not there"));
            }
        }
    }
}

/// Whether a creation begins the upgrade of a cluster that was told nothing.
fn begins(facts: &Facts<'_>, cluster: &str, stage: &str) -> bool {
    let has_begun = entry(facts.view.upgrade.status, cluster)
        .is_some_and(|told| facts.is_same_run() && ["Initialized", "Partial"].contains(&told.state.as_str()));
    let is_first = stage == "platform" || stage == "operators" && facts.spec.target.is_none();
    is_first && !has_begun
}

/// I13, R78: no cluster starts while starting is forbidden, and none that is not selected.
fn starts(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let selected = facts.selected();
    let forbidden = facts.spec.suspend || facts.spec.preview || facts.is_shut || facts.view.undecided;
    for (cluster, stage, name) in facts.created() {
        if !["pre", "probe"].contains(&stage) && !begins(facts, cluster, stage) {
            continue;
        }
        if facts.is_frozen(cluster) {
            faults.push(format!("{cluster}/{name} is created while the cluster is frozen"));
        }
        if forbidden {
            faults.push(format!(
                "I13: {cluster}/{name} is created while nothing may start"
            ));
        }
        if facts.is_unapproved(cluster) {
            faults.push(format!(
                "{cluster}/{name} is created without an approval of its stage"
            ));
        }
        if !selected.contains(cluster) {
            faults.push(format!(
                "R78: {cluster}/{name} is created on a cluster that is not selected"
            ));
        }
        if facts
            .view
            .works
            .get(cluster)
            .into_iter()
            .flatten()
            .any(|(_, work)| is_foreign(facts, work))
        {
            faults.push(format!("I12: {cluster} is another upgrade's"));
        }
    }
}

fn is_foreign(facts: &Facts<'_>, work: &Work) -> bool {
    let is_flight = work
        .stage
        .is_some_and(|stage| ["platform", "operators"].contains(&stage.word()));
    work.owner != facts.view.upgrade.uid && is_flight && !work.deleting
}

/// R77: the canary clusters succeed before any other cluster starts, and if one of them fails no other starts.
fn canaries(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let Some(selector) = &facts.spec.strategy.canary else {
        return;
    };
    let passed = facts.is_same_run() && facts.view.upgrade.status.canaries_passed;
    let labels = |name: &str| facts.view.clusters.get(name).map(|cluster| &cluster.labels);
    let told: BTreeSet<&str> = facts
        .after
        .clusters
        .iter()
        .filter(|told| told.canary)
        .map(|told| told.name.as_str())
        .collect();
    let is_first = |name: &str| {
        told.contains(name) || !passed && labels(name).is_some_and(|labels| selector.matches(name, labels))
    };
    let is_done = |name: &&str| {
        facts
            .told(name)
            .is_some_and(|told| told.state == "Complete" && told.phase == "Done")
    };
    let has_failed = facts
        .in_state("Failed")
        .into_iter()
        .any(|name| told.contains(name));
    let all: BTreeSet<&str> = facts
        .selected()
        .into_iter()
        .filter(|name| is_first(name))
        .chain(told.clone())
        .collect();
    let are_done = passed || !all.is_empty() && all.iter().all(is_done);
    for (cluster, stage, name) in facts.created() {
        let starts = ["pre", "probe"].contains(&stage) || begins(facts, cluster, stage);
        if !starts || is_first(cluster) && selector.sets().is_empty() {
            continue;
        }
        if has_failed {
            faults.push(format!(
                "R77: {cluster}/{name} is created although a canary cluster has failed"
            ));
        } else if !are_done && selector.sets().is_empty() {
            faults.push(format!(
                "R77: {cluster}/{name} is created before the canary clusters are complete"
            ));
        }
    }
}

/// The stage of a cluster by its labels: canary clusters are before the first, and what is in no stage is behind the last.
fn stage_of(facts: &Facts<'_>, cluster: &str) -> usize {
    let labels = facts.view.clusters.get(cluster).map(|cluster| &cluster.labels);
    let passed = facts.is_same_run() && facts.view.upgrade.status.canaries_passed;
    let canary = facts.spec.strategy.canary.as_ref().filter(|_| !passed);
    let is_canary = canary
        .zip(labels)
        .is_some_and(|(canary, labels)| canary.matches(cluster, labels));
    if is_canary || facts.told(cluster).is_some_and(|told| told.canary) {
        return 0;
    }
    let stages = &facts.spec.strategy.stages;
    let at = stages
        .iter()
        .position(|stage| labels.is_some_and(|labels| stage.selector.matches(cluster, labels)));
    1 + at.unwrap_or(stages.len())
}

/// No cluster starts before those of every earlier stage have ended and soaked, nor when too many of a stage have failed.
fn earlier_stages(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let strategy = &facts.spec.strategy;
    if strategy.stages.is_empty() {
        return;
    }
    let soak = |cluster: &str| {
        let at = stage_of(facts, cluster).checked_sub(1);
        at.and_then(|at| strategy.stages.get(at))
            .map_or(0, |stage| stage.soak.as_secs())
    };
    let is_over = |cluster: &str| {
        facts.told(cluster).is_some_and(|told| {
            let ended = told
                .finished_at
                .as_ref()
                .map(|end| facts.now.duration_since(end.0).as_secs());
            let has_soaked = u64::try_from(ended.unwrap_or_default()).unwrap_or_default() >= soak(cluster);
            let is_done = told.state == "Complete" && told.phase == "Done";
            told.state == "Failed" || is_done && (told.reason == "AlreadyAtVersion" || has_soaked)
        })
    };
    let selected = facts.selected();
    for (at, stage) in strategy.stages.iter().enumerate() {
        let own: Vec<&str> = selected
            .iter()
            .copied()
            .filter(|one| stage_of(facts, one) == at + 1)
            .collect();
        let failed = own
            .iter()
            .filter(|one| facts.told(one).is_some_and(|told| told.state == "Failed"));
        let has_stopped = failed.count() > strategy.failures.of(own.len());
        for (cluster, step, name) in facts.created() {
            // What has a work already has had its turn.
            let has_work = ["pre", "platform"]
                .iter()
                .any(|step| facts.work(cluster, step).is_some());
            let starts = ["pre", "probe"].contains(&step) || begins(facts, cluster, step);
            if !starts || has_work {
                continue;
            }
            if has_stopped {
                faults.push(format!(
                    "{cluster}/{name} is created although stage {} has failed",
                    stage.name
                ));
            }
            let waits_for = own
                .iter()
                .find(|one| stage_of(facts, cluster) > at + 1 && !is_over(one));
            if let Some(one) = waits_for {
                faults.push(format!(
                    "{cluster}/{name} is created before {one} of stage {} has ended and soaked",
                    stage.name
                ));
            }
        }
    }
}

/// No cluster starts before the checks of the last earlier stage that has clusters have passed since its clusters ended.
fn unchecked(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let selected = facts.selected();
    for (cluster, step, name) in facts.created() {
        let has_work = ["pre", "platform"]
            .iter()
            .any(|step| facts.work(cluster, step).is_some());
        let starts = ["pre", "probe"].contains(&step) || begins(facts, cluster, step);
        let own = stage_of(facts, cluster);
        let earlier = selected.iter().filter(|one| stage_of(facts, one) < own);
        let Some(last) = earlier.clone().map(|one| stage_of(facts, one)).max() else {
            continue;
        };
        if !starts || has_work {
            continue;
        }
        let ends = earlier.filter_map(|one| {
            let told = facts
                .told(one)
                .filter(|told| told.reason != "AlreadyAtVersion" && told.state == "Complete")?;
            told.finished_at.as_ref().map(|end| end.0)
        });
        let since = ends.max();
        let stage = last
            .checked_sub(1)
            .and_then(|at| facts.spec.strategy.stages.get(at));
        let names = stage.and_then(|stage| stage.checks.as_deref());
        for check in facts.view.settings.checks_of_stage(names) {
            let found = facts.view.checks.get(check);
            if found.is_none_or(|found| found.verdict(since, facts.now) != CheckVerdict::Passed) {
                faults.push(format!(
                    "{cluster}/{name} is created although the check {check} has not passed"
                ));
            }
        }
    }
}

/// A work goes to another version only when its cluster has the one before it, in the order of the hops.
fn hops(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let Some(target) = &facts.spec.target else {
        return;
    };
    let chain = target
        .hops()
        .iter()
        .chain(target.version())
        .map(ToString::to_string);
    let chain: Vec<String> = chain.collect();
    for write in &facts.plan.writes {
        let Write::Update {
            cluster, name, patch, ..
        } = write
        else {
            continue;
        };
        let wanted = patch.pointer("/spec/workload/manifests/0/spec/desiredUpdate/version");
        let Some((work, wanted)) = facts
            .work(cluster, "platform")
            .zip(wanted.and_then(Value::as_str))
        else {
            continue;
        };
        if wanted == work.target.0 {
            continue;
        }
        let at = |version: &str| chain.iter().position(|one| one == version);
        let is_next = at(wanted)
            .zip(at(&work.target.0))
            .is_some_and(|(to, from)| to == from + 1);
        if !is_next || !has_arrived(work) {
            faults.push(format!(
                "{cluster}/{name} goes from {} to {wanted} too early",
                work.target.0
            ));
        }
        if facts.spec.suspend || facts.is_shut || facts.is_frozen(cluster) {
            faults.push(format!(
                "{cluster}/{name} goes to {wanted} while nothing may start"
            ));
        }
    }
}

/// R79: no more clusters upgrade at once than may, unless more did before and no new one begins.
fn slots(facts: &Facts<'_>, faults: &mut Vec<String>) {
    let total = facts.after.clusters_summary.map_or(0, |counts| counts.total);
    let limit = facts
        .spec
        .strategy
        .at_once
        .of(usize::try_from(total).unwrap_or_default())
        .max(1);
    let of_stage = |cluster: &str| {
        let at = stage_of(facts, cluster).checked_sub(1)?;
        let own = facts.after.stages.get(at)?;
        let stage = facts.spec.strategy.stages.get(at)?.at_once?;
        Some(stage.of(usize::try_from(own.total).unwrap_or_default()).max(1))
    };
    let upgrading = facts
        .after
        .clusters
        .iter()
        .filter(|told| ["Initialized", "Partial"].contains(&told.state.as_str()));
    let upgrading = upgrading.count();
    let created = facts.created();
    let new = created
        .iter()
        .filter(|(cluster, stage, _)| begins(facts, cluster, stage));
    let new: Vec<&str> = new.map(|(cluster, ..)| *cluster).collect();
    let limit = new
        .iter()
        .map(|cluster| of_stage(cluster).unwrap_or(limit))
        .max()
        .unwrap_or(limit);
    let new = new.len();
    if new > 0 && upgrading.saturating_add(new) > limit {
        faults.push(format!("R79: {new} start beside {upgrading}, {limit} may"));
    }
}

/// R74, R80: the action before, the cluster, its operators, the action after.
fn stages(facts: &Facts<'_>, faults: &mut Vec<String>) {
    for (cluster, stage, name) in facts.created() {
        if begins(facts, cluster, stage) && facts.spec.before.is_some() {
            let is_done = facts.work(cluster, "pre").is_some_and(has_succeeded);
            if !is_done {
                faults.push(format!(
                    "R74: {cluster}/{name} is created before the action before it has succeeded"
                ));
            }
        }
        if stage == "operators" && facts.spec.target.is_some() {
            let was_there =
                entry(facts.view.upgrade.status, cluster).is_some_and(|told| told.phase == "Operators");
            let is_there = facts.work(cluster, "platform").is_some_and(has_arrived);
            if !is_there && !was_there {
                faults.push(format!(
                    "R80: {cluster}/{name} is created before the cluster has its version"
                ));
            }
        }
        if stage == "post" && facts.told(cluster).is_none_or(|told| told.state != "Complete") {
            faults.push(format!(
                "R80: {cluster}/{name} is created before the cluster is complete"
            ));
        }
    }
}

/// R76, R78, R84: works stay as long as they are needed.
fn deletions(facts: &Facts<'_>, faults: &mut Vec<String>) {
    if facts.view.upgrade.deleting {
        return;
    }
    let counts = facts.after.clusters_summary.unwrap_or_default();
    let all_complete = counts.total > 0 && counts.total == counts.complete;
    let selected = facts.selected();
    for write in &facts.plan.writes {
        let Write::Delete { cluster, name, .. } = write else {
            continue;
        };
        let Some(work) = facts.view.works.get(cluster).and_then(|works| works.get(name)) else {
            continue;
        };
        let stage = work.stage.map_or("", |stage| stage.word());
        let told = facts.told(cluster);
        let state = told.map_or("", |told| told.state.as_str());
        let is_current = work.run.starts_with(&facts.after.run)
            && told.is_none_or(|told| work.run == format!("{}-{}", facts.after.run, told.attempts.max(1)));
        let is_dropped = !selected.contains(&**cluster) && state.is_empty();
        match stage {
            "pre" | "post" if is_current && !all_complete && !is_dropped && state != "Failed" => {
                faults.push(format!(
                    "R76: {cluster}/{name} is deleted before all are complete"
                ));
            }
            "platform" | "operators" if ["Initialized", "Partial"].contains(&state) && is_current => {
                faults.push(format!(
                    "R78: {cluster}/{name} is deleted while the cluster upgrades"
                ));
            }
            _ => {}
        }
    }
}

/// I7: states go forward; only a new try or a new run begins again.
fn moves(facts: &Facts<'_>, faults: &mut Vec<String>) {
    if !facts.is_same_run() {
        return;
    }
    let rank = |state: &str| {
        ["NotStarted", "Initialized", "Partial", "Complete", "Failed"]
            .iter()
            .position(|one| *one == state)
    };
    for before in &facts.view.upgrade.status.clusters {
        let Some(after) = facts.told(&before.name) else {
            continue;
        };
        let goes_back = rank(&after.state) < rank(&before.state);
        if goes_back && after.attempts <= before.attempts {
            faults.push(format!(
                "I7: {} goes from {} to {}",
                before.name, before.state, after.state
            ));
        }
        if before.state == "Complete" && before.phase == "Done" && after.state != "Complete" {
            faults.push(format!("I7: {} was done and is {}", before.name, after.state));
        }
    }
}
