//! The controllers by name.
//!
//! Decides which there are.

/// A controller. Each is an ordinary client of the public API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Controller {
    /// Garbage collection by owner references.
    Garbage,
    /// Deletion of what is in a namespace that goes.
    Namespaces,
    /// A `default` service account and the root certificate in every namespace.
    Accounts,
    /// End of events that are not repeated.
    Events,
    /// Rules of cluster roles that are put together from others.
    Roles,
    /// The status of admission policies.
    Policies,
}

impl Controller {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Garbage,
        Self::Namespaces,
        Self::Accounts,
        Self::Events,
        Self::Roles,
        Self::Policies,
    ];
}
