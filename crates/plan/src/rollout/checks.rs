//! Which checks the clusters of a placement wait for (`spec.checks` of the AddOnRollout).
//!
//! Decides which changes wait: what all clusters ran well before is known to be good, and waits for no check. Never decides whose turn it is: the engine does.

use super::approvals::content_of;
use crate::config::Effective;
use ::model::engine::{Checks, Verdict};
use store::{Name, PlacementUse, View};

/// The checks of a change over a placement, and the hash of its content.
pub(super) struct Checked {
    pub(super) checks: Checks,
    pub(super) content: Name,
}

impl Checked {
    /// Returns the checks that changes over a placement wait for, if they wait for any.
    pub(super) fn of(view: &View<'_>, by: &PlacementUse, inherited: Option<&Effective>) -> Option<Self> {
        let names = view.rollout().checks(&by.namespace, &by.name);
        let inherited = inherited.filter(|_| !names.is_empty())?;
        let mut stored = view.addon.progressions.iter().flatten();
        let known = stored.find(|one| one.namespace == by.namespace && one.name == by.name);
        let good = known.and_then(store::Progression::known_good);
        if good.is_some() && good == inherited.pinned() {
            return None;
        }
        let content = content_of(inherited);
        let started = known.and_then(|known| known.change_started(&content));
        let each = names.iter().map(|name| view.check(name));
        let checks = Checks {
            each: each.collect(),
            started,
            ..Checks::default()
        };
        Some(Self { checks, content })
    }
}

/// Whether a cluster starts, or has started and is not there yet.
pub(super) fn is_under_way(verdict: Verdict) -> bool {
    matches!(
        verdict,
        Verdict::Start | Verdict::Going | Verdict::TimedOut | Verdict::Failed
    )
}
