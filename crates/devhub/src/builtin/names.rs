//! Syntax of object names.
//!
//! Decides which faults a name has, in the words of Kubernetes.

use crate::selector::{is_label, subdomain_faults};

const LABEL: &str = "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end \
     with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const OLD_LABEL: &str = "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
     character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
     '[a-z]([-a-z0-9]*[a-z0-9])?')";

/// Syntax that the names of a kind follow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameRule {
    /// RFC 1123 subdomain, the usual rule.
    Subdomain,
    /// RFC 1123 label.
    Label,
    /// RFC 1035 label, which begins with a letter.
    OldLabel,
    /// Anything that can stand between two slashes of a path.
    PathSegment,
}

impl NameRule {
    /// Returns the faults of `name`.
    pub fn faults(self, name: &str) -> Vec<String> {
        match self {
            Self::Subdomain => subdomain_faults(name),
            Self::Label => label_faults(name),
            Self::OldLabel => old_label_faults(name),
            Self::PathSegment => segment_faults(name),
        }
    }

    /// Returns the faults of `prefix` as a `generateName`, which may end in a dash.
    pub fn prefix_faults(self, prefix: &str) -> Vec<String> {
        match (self, prefix.strip_suffix('-')) {
            (Self::Subdomain | Self::Label | Self::OldLabel, Some(rest)) if !rest.is_empty() => {
                self.faults(rest)
            }
            (Self::Subdomain | Self::Label | Self::OldLabel, _) => self.faults(prefix),
            (Self::PathSegment, _) => segment_faults(prefix)
                .into_iter()
                .filter(|fault| fault.starts_with("may not contain"))
                .collect(),
        }
    }
}

/// Returns the faults of a name that should be an RFC 1123 label.
pub fn label_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) {
        faults.push(LABEL.to_owned());
    }
    faults
}

fn old_label_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 63 {
        faults.push("must be no more than 63 characters".to_owned());
    }
    if !is_label(name) || name.starts_with(|letter: char| letter.is_ascii_digit()) {
        faults.push(OLD_LABEL.to_owned());
    }
    faults
}

fn segment_faults(name: &str) -> Vec<String> {
    if matches!(name, "." | "..") {
        return vec![format!("may not be '{name}'")];
    }
    ['/', '%']
        .into_iter()
        .filter(|letter| name.contains(*letter))
        .map(|letter| format!("may not contain '{letter}'"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_rule_of_their_kind() {
        use NameRule::{Label, OldLabel, PathSegment, Subdomain};
        for (rule, name, count) in [
            (Subdomain, "ok.dotted.name", 0),
            (Subdomain, "Upper", 1),
            (Subdomain, "under_score", 1),
            (Subdomain, "-dash", 1),
            (Subdomain, "dot.", 1),
            (Subdomain, "with space", 1),
            (Label, "a-b", 0),
            (Label, "a.b", 1),
            (OldLabel, "web-1", 0),
            (OldLabel, "1-web", 1),
            (PathSegment, "system:node", 0),
            (PathSegment, "a/b%c", 2),
            (PathSegment, "..", 1),
        ] {
            assert_eq!(rule.faults(name).len(), count, "{name}");
        }
        assert_eq!(
            Subdomain.faults(&"a".repeat(254)),
            ["must be no more than 253 characters"]
        );
    }

    #[test]
    fn prefixes_may_end_in_a_dash() {
        assert_eq!(NameRule::Subdomain.prefix_faults("web-"), [""; 0]);
        assert_eq!(NameRule::Subdomain.prefix_faults("-").len(), 1);
    }
}
