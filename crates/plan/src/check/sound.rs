//! The sound part of a plan: what is left when everything is taken out that breaks an invariant.
//!
//! Decides what is not written: a write that must not be with what its lane writes after it, the moves over a limit, the removals
//! over a budget. Never holds a whole add-on for what is wrong on some of its clusters, and never adds a write.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::broken::Spoilt;
use super::writes::faults;
use crate::types::{Action, Plan, Wait, WaitOn};
use snapshot::{Kind, Name, View, WriteQueue};

/// How often what is left is looked at again. One time is enough for whatever breaks one invariant.
const ROUNDS: usize = 8;

/// Returns the sound part of a plan, and every sentence that was true of the whole.
pub fn sound(view: &View<'_>, mut plan: Plan, now: Timestamp) -> (Plan, Vec<String>) {
    let first = faults(view, &plan, now);
    let told: Vec<String> = first.iter().map(|broken| broken.sentence.clone()).collect();
    let mut broken = first;
    for _ in 0..ROUNDS {
        if broken.is_empty() {
            break;
        }
        for one in by_place(broken.into_iter().map(|one| one.spoilt)) {
            take_out(&mut plan, &one);
        }
        broken = faults(view, &plan, now);
    }
    if !broken.is_empty() {
        plan.actions.clear();
    }
    let waits = told
        .iter()
        .map(|sentence| Wait::addon(WaitOn::Refused(sentence.clone())));
    plan.waits.extend(waits);
    plan.waits.sort();
    (plan, told)
}

/// Single writes last, from the end on: places stay true while what stands behind them goes.
fn by_place(spoilt: impl Iterator<Item = Spoilt>) -> Vec<Spoilt> {
    let mut all: Vec<Spoilt> = spoilt.collect();
    all.sort_by_key(|one| match one {
        Spoilt::Write(place) => (0, std::cmp::Reverse(*place)),
        Spoilt::Moves(_) | Spoilt::Removals | Spoilt::Recheck => (1, std::cmp::Reverse(0)),
    });
    all
}

fn take_out(plan: &mut Plan, spoilt: &Spoilt) {
    match spoilt {
        Spoilt::Write(place) => {
            let Some(lane) = plan.actions.get(*place).map(|action| action.object().lane()) else {
                return;
            };
            without_rest_of(plan, *place, &lane);
        }
        Spoilt::Moves(clusters) => {
            let clusters: BTreeSet<&Name> = clusters.iter().collect();
            plan.actions.retain(|action| !moves(action, &clusters));
        }
        Spoilt::Removals => plan.actions.retain(|action| !removes(action)),
        Spoilt::Recheck => plan.recheck_at = None,
    }
}

/// What follows in a lane may rely on the write that goes.
fn without_rest_of(plan: &mut Plan, place: usize, lane: &WriteQueue) {
    let mut at = 0_usize;
    plan.actions.retain(|action| {
        let goes = at >= place && action.object().lane() == *lane;
        at = at.saturating_add(1);
        !goes
    });
}

/// Whether a write is a part of what one of the clusters would be given: its status, and the works that go with it.
fn moves(action: &Action, clusters: &BTreeSet<&Name>) -> bool {
    let object = action.object();
    matches!(object.kind, Kind::Instance | Kind::Work) && clusters.contains(&object.namespace)
}

fn removes(action: &Action) -> bool {
    match action {
        Action::Delete { object, .. } => object.kind == Kind::Instance,
        Action::Create { .. } | Action::Replace { .. } | Action::Status { .. } | Action::Certify { .. } => {
            false
        }
    }
}
