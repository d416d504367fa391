//! Where the clusters of a placement go: forth to what the specs want, or back to what was last known to be good.
//!
//! Decides the course and the order of a rollback. `config::way_back` decides whether there is one.

use super::candidate::Candidate;
use crate::config::WayBack;
use ::model::engine::{Course, way_back};
use store::{Name, Reference};

/// Where the clusters of a placement go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    /// To what the specs want.
    Forth,
    /// To what was last known to be good.
    Back,
}

impl From<&Option<WayBack>> for Direction {
    fn from(way: &Option<WayBack>) -> Self {
        match way.as_ref().and_then(|way| way.undone.as_ref()) {
            Some(_) => Self::Back,
            None => Self::Forth,
        }
    }
}

impl Direction {
    /// Returns the course of those who go there.
    pub(super) fn course(self, course: Course) -> Course {
        match self {
            Self::Forth => course,
            Self::Back => way_back(&course),
        }
    }

    /// Sorts clusters into the order of the rollout. During a rollback, clusters that failed or are not updated yet come before those
    /// that run well with the content that failed elsewhere.
    pub(super) fn arrange(self, selected: &mut [(&Name, Option<usize>)], candidates: &[Candidate<'_>]) {
        let runs = |one: &Candidate<'_>| one.instance.references.iter().all(Reference::is_applied);
        if self == Self::Back {
            selected.sort_by_key(|(_, found)| found.and_then(|at| candidates.get(at)).is_some_and(runs));
        }
    }
}
