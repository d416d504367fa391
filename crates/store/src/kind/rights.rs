//! How accounts read a kind, and what the controllers write of it.
//!
//! Decides nothing: the rows say it, `operate::doctor::calls` makes the table of calls from them.

/// How an account reads a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Read {
    /// Not at all.
    Not,
    /// By lists and watches; by its name only an object that a list has left out.
    Watched,
    /// By lists and watches, and single objects by their names.
    ByName,
}

/// When a call is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    /// In the usual course of things.
    Always,
    /// Only then.
    When(&'static str),
    /// Never by Tidegate: the API server asks for the right on behalf of another call.
    Never(&'static str),
}

/// A write of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Write {
    /// The subresource; empty for the object itself.
    pub subresource: &'static str,
    /// The verbs.
    pub verbs: &'static [&'static str],
    /// What it is for.
    pub purpose: &'static str,
    /// When it is sent.
    pub sent: Sent,
}

impl Write {
    pub(super) const fn new(
        subresource: &'static str,
        verbs: &'static [&'static str],
        purpose: &'static str,
    ) -> Self {
        Self {
            subresource,
            verbs,
            purpose,
            sent: Sent::Always,
        }
    }

    pub(super) const fn when(self, when: &'static str) -> Self {
        Self {
            sent: Sent::When(when),
            ..self
        }
    }

    pub(super) const fn never(self, why: &'static str) -> Self {
        Self {
            sent: Sent::Never(why),
            ..self
        }
    }
}
