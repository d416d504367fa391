//! What all rules of one schema read of `self` and `oldSelf`.
//!
//! Decides what need not be converted before they are evaluated; never evaluates.

use cel_engine::{Program, ReferencedFields};

/// What all rules of one schema read together.
#[derive(Debug, Default)]
pub(crate) struct Reading {
    pub(super) of_self: Option<ReferencedFields>,
    pub(super) of_old: Option<ReferencedFields>,
}

impl Reading {
    /// Adds what one program reads.
    pub(crate) fn add(&mut self, program: &Program) {
        let join = |all: Option<ReferencedFields>, more: Option<ReferencedFields>| match (all, more) {
            (Some(all), Some(more)) => Some(all.join(&more)),
            (None, more) => more,
            (all, None) => all,
        };
        self.of_self = join(self.of_self.take(), program.referenced_fields("self"));
        self.of_old = join(self.of_old.take(), program.referenced_fields("oldSelf"));
    }
}
