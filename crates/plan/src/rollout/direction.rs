//! Where the clusters of a placement go: forth to what the specs want, or back to what was last known to be good.
//!
//! Decides how they go back, and who goes first there. Never decides that they do (`config::way_back`).

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

    /// Puts clusters in the order in which they go: on the way back who runs well with what others failed with can wait, who has failed or
    /// has not arrived cannot.
    pub(super) fn arrange(self, selected: &mut [(&Name, Option<usize>)], candidates: &[Candidate<'_>]) {
        let runs = |one: &Candidate<'_>| one.instance.references.iter().all(Reference::is_applied);
        if self == Self::Back {
            selected.sort_by_key(|(_, found)| found.and_then(|at| candidates.get(at)).is_some_and(runs));
        }
    }
}
