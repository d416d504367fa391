//! The controllers by name.
//!
//! Decides which there are and how a list of them is written; never what they do.

use std::collections::BTreeSet;

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

    /// Returns the name as flags write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Garbage => "garbage",
            Self::Namespaces => "namespaces",
            Self::Accounts => "accounts",
            Self::Events => "events",
            Self::Roles => "roles",
            Self::Policies => "policies",
        }
    }

    /// Reads `all`, `none` or names with commas between them; tells every name that is unknown.
    pub fn parse_list(text: &str) -> Result<BTreeSet<Self>, String> {
        match text.trim() {
            "all" => return Ok(Self::ALL.into()),
            "none" => return Ok(BTreeSet::new()),
            _ => {}
        }
        let mut found = BTreeSet::new();
        let mut unknown = Vec::new();
        for name in text.split(',').map(str::trim) {
            match Self::ALL.into_iter().find(|one| one.name() == name) {
                Some(one) => {
                    found.insert(one);
                }
                None => unknown.push(format!("\"{name}\"")),
            }
        }
        if unknown.is_empty() {
            return Ok(found);
        }
        let known: Vec<&str> = Self::ALL.into_iter().map(Self::name).collect();
        Err(format!(
            "no controller is named {}; right are all, none, or a list of {}",
            unknown.join(", "),
            known.join(", ")
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_and_every_unknown_name_is_told() {
        assert_eq!(Controller::parse_list("all"), Ok(Controller::ALL.into()));
        assert_eq!(Controller::parse_list("none"), Ok(BTreeSet::new()));
        assert_eq!(
            Controller::parse_list("garbage, events"),
            Ok(BTreeSet::from([Controller::Garbage, Controller::Events]))
        );
        assert_eq!(
            Controller::parse_list("garbage,nodes,"),
            Err("no controller is named \"nodes\", \"\"; right are all, none, or a list of garbage, namespaces, accounts, events, roles, policies".to_owned())
        );
    }
}
