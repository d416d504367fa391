//! Counts and conditions against each other.
//!
//! Decides by the rules of the proposal's status, as far as its own example keeps them.

use api::cluster::{UpgradeActionSummary, UpgradeSummary};

use super::facts::Facts;

const ORDER: [&str; 5] = ["Selected", "Applied", "InProgress", "Complete", "Failed"];

/// Behind them what tools read that know no upgrades.
const SUMMARY: [&str; 3] = ["Ready", "Reconciling", "Stalled"];

pub(super) fn faults(facts: &Facts<'_>) -> Vec<String> {
    let mut faults = Vec::new();
    let status = facts.after;
    let Some(all) = status.clusters_summary else {
        return faults;
    };
    clusters("clustersSummery", all, &mut faults);
    if let Some(canary) = status.canary_clusters_summary {
        clusters("canaryClustersSummery", canary, &mut faults);
        let each = [
            (canary.total, all.total),
            (canary.initialized, all.initialized),
            (canary.complete, all.complete),
            (canary.failed, all.failed),
            (canary.pending, all.pending),
        ];
        if each.iter().any(|(part, whole)| part > whole) {
            faults.push(format!("R47: {canary:?} is more than {all:?}"));
        }
    }
    if let Some(each) = status.state_counts {
        let sum = each.not_started + each.initialized + each.partial + each.complete + each.failed;
        if sum != all.total {
            faults.push(format!("R48: {each:?} does not add up to {}", all.total));
        }
    }
    for (name, summary) in [
        ("preUpgradeActionSummary", status.pre_upgrade_action_summary),
        ("postUpgradeActionSummary", status.post_upgrade_action_summary),
    ] {
        if let Some(summary) = summary {
            action(name, summary, &mut faults);
        }
    }
    conditions(facts, all, &mut faults);
    faults
}

fn clusters(name: &str, counts: UpgradeSummary, faults: &mut Vec<String>) {
    let UpgradeSummary {
        total,
        initialized,
        partial_upgrade,
        complete,
        failed,
        pending,
    } = counts;
    let unbegun = total - initialized - pending;
    if unbegun < 0 || unbegun > failed {
        faults.push(format!(
            "R47: {name} has {counts:?}: who has not begun is pending, or has failed"
        ));
    }
    if initialized < partial_upgrade + complete + failed - unbegun {
        faults.push(format!(
            "R47: {name} has {counts:?}: more have gone on than have begun"
        ));
    }
}

fn action(name: &str, counts: UpgradeActionSummary, faults: &mut Vec<String>) {
    if counts.progressing + counts.available + counts.degraded != counts.total {
        faults.push(format!("R49: {name} has {counts:?}, which does not add up"));
    }
    if counts.applied > counts.total || counts.applied < counts.available {
        faults.push(format!(
            "R49: {name} has {counts:?}: what is available is applied"
        ));
    }
}

fn conditions(facts: &Facts<'_>, all: UpgradeSummary, faults: &mut Vec<String>) {
    let told = &facts.after.conditions;
    let names: Vec<&str> = told.iter().map(|one| one.type_.as_str()).collect();
    let (proposals, ours) = names.split_at(names.len().saturating_sub(SUMMARY.len()));
    if ORDER.get(..proposals.len()) != Some(proposals) || ours != SUMMARY {
        faults.push(format!("R52: the conditions are {names:?}"));
    }
    let holds = |kind: &str| told.iter().any(|one| one.type_ == kind && one.status == "True");
    if holds("InProgress") && holds("Complete") {
        faults.push("R53: both in progress and complete".to_owned());
    }
    if holds("Complete") && (all.pending > 0 || all.failed > 0 || all.total == 0) {
        faults.push(format!("R54: complete with {all:?}"));
    }
    if holds("Ready") != (facts.after.phase == "Complete") || holds("Ready") && holds("Stalled") {
        faults.push(format!("ready is {} in {}", holds("Ready"), facts.after.phase));
    }
    if !holds("Ready") && !holds("Stalled") && !holds("Reconciling") {
        faults.push("neither ready, nor stalled, nor in progress".to_owned());
    }
    if holds("InProgress") != (all.partial_upgrade > 0) {
        faults.push(format!(
            "R53: in progress is {} with {all:?}",
            holds("InProgress")
        ));
    }
    for before in &facts.view.upgrade.status.conditions {
        let after = told.iter().find(|one| one.type_ == before.type_);
        let has_moved = after.is_some_and(|after| {
            after.status == before.status && after.last_transition_time != before.last_transition_time
        });
        if has_moved {
            faults.push(format!(
                "R52: {} has another time and the same status",
                before.type_
            ));
        }
    }
}
