//! To whom a binding gives its role.
//!
//! Decides whether a user is meant; group membership comes with the user.

use serde_json::Value;

use crate::admission::UserInfo;
use kubernetes::print::quote;

/// One subject of a binding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Subject {
    /// The user with this name.
    User(String),
    /// Every user in this group.
    Group(String),
    /// A service account: namespace and name.
    Account(String, String),
}

impl Subject {
    /// Reads a subject; an account without namespace is in that of the binding.
    pub(super) fn read(subject: &Value, binding: &str) -> Option<Self> {
        let part = |name: &str| {
            subject
                .get(name)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        match part("kind").as_str() {
            "User" => Some(Self::User(part("name"))),
            "Group" => Some(Self::Group(part("name"))),
            "ServiceAccount" => {
                let namespace = Some(part("namespace")).filter(|namespace| !namespace.is_empty());
                Some(Self::Account(
                    namespace.unwrap_or_else(|| binding.to_owned()),
                    part("name"),
                ))
            }
            _ => None,
        }
    }

    /// Tells whether a user is meant.
    pub(super) fn is(&self, user: &UserInfo) -> bool {
        match self {
            Self::User(name) => user.name == *name,
            Self::Group(name) => user.groups.contains(name),
            Self::Account(namespace, name) => {
                !namespace.is_empty() && user.name == format!("system:serviceaccount:{namespace}:{name}")
            }
        }
    }

    /// Returns the subject as answers quote it.
    pub(super) fn quoted(&self) -> String {
        match self {
            Self::User(name) => format!("User {}", quote(name)),
            Self::Group(name) => format!("Group {}", quote(name)),
            Self::Account(namespace, name) => {
                format!("ServiceAccount {}", quote(&format!("{name}/{namespace}")))
            }
        }
    }
}
