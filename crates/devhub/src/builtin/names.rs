//! Syntax of object names.
//!
//! Decides which faults a name has, in the words of Kubernetes.

use apimachinery::names::{Unit, dns1035_label_faults, dns1123_label_faults, dns1123_subdomain_faults};

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
            Self::Subdomain => dns1123_subdomain_faults(name, Unit::Characters),
            Self::Label => label_faults(name),
            Self::OldLabel => dns1035_label_faults(name, Unit::Characters),
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
    dns1123_label_faults(name, Unit::Characters)
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
