//! The rights that Tidegate needs, as single questions.
//!
//! The table of calls lists the rights.

/// One right.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Right {
    /// The API group; empty for the core group.
    pub group: String,
    /// The resource (plural).
    pub resource: String,
    /// The subresource; empty where there is none.
    pub subresource: String,
    /// The verb.
    pub verb: String,
    /// The namespace; empty for all of them.
    pub namespace: String,
    /// The name; empty for all of them.
    pub name: String,
}

impl Right {
    /// Returns whether an account with this right has another one.
    pub fn covers(&self, other: &Self) -> bool {
        let fits = |own: &str, other: &str| own.is_empty() || own == other;
        self.group == other.group
            && self.resource == other.resource
            && self.subresource == other.subresource
            && self.verb == other.verb
            && fits(&self.namespace, &other.namespace)
            && fits(&self.name, &other.name)
    }

    /// Returns whether it changes nothing on the hub.
    pub fn reads(&self) -> bool {
        ["get", "list", "watch"].contains(&self.verb.as_str())
    }

    /// Returns the words with which `kubectl auth can-i` asks for it.
    pub fn words(&self) -> String {
        let dot = if self.group.is_empty() { "" } else { "." };
        let name = if self.name.is_empty() {
            String::new()
        } else {
            format!("/{}", self.name)
        };
        let sub = if self.subresource.is_empty() {
            String::new()
        } else {
            format!(" --subresource={}", self.subresource)
        };
        let place = if self.namespace.is_empty() {
            " -A".to_owned()
        } else {
            format!(" -n {}", self.namespace)
        };
        format!(
            "{} {}{dot}{}{name}{sub}{place}",
            self.verb, self.resource, self.group
        )
    }
}

/// Whether a right is given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The right.
    pub right: Right,
    /// Whether it is; or why that could not be asked.
    pub allowed: Result<bool, String>,
}
