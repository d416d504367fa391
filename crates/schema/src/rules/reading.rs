//! What all rules of one schema read of `self` and `oldSelf`.
//!
//! Decides what need not be converted before they are evaluated; never evaluates.

use crate::cel::{Needs, Program};

/// What all rules of one schema read together.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(super) of_self: Option<Needs>,
    pub(super) of_old: Option<Needs>,
}

impl Reading {
    /// Adds what one program reads.
    pub(crate) fn add(&mut self, program: &Program) {
        let join = |all: Option<Needs>, more: Option<Needs>| match (all, more) {
            (Some(all), Some(more)) => Some(all.join(&more)),
            (None, more) => more,
            (all, None) => all,
        };
        self.of_self = join(self.of_self.take(), program.needs("self"));
        self.of_old = join(self.of_old.take(), program.needs("oldSelf"));
    }
}
