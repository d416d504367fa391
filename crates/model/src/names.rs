//! Names: of things on the hub, of add-ons, and of the namespace that an agent is installed in.
//!
//! Decides which texts are such names. Never looks whether the named thing exists.

use std::cmp::Ordering;
use std::sync::Arc;

use kubernetes::names::{is_dns1123_label, is_dns1123_subdomain};

use kubernetes::field::{Class, Fault, Path, Violation, quoted};

use crate::rule;

pub use api::names::DEFAULT_INSTALL_NAMESPACE;

const LABEL_LIMIT: usize = 63;
/// So many checks hold one change at most.
const MOST_CHECKS: usize = 20;

/// A shared, immutable text: the name of something on the hub.
pub type Name = Arc<str>;

/// Returns the order of two names. Most are shared, so that most equal names are recognised without being read.
pub fn order(one: &Name, other: &Name) -> Ordering {
    if Arc::ptr_eq(one, other) {
        return Ordering::Equal;
    }
    one.cmp(other)
}

/// The namespace on the managed cluster that an add-on's agent is installed in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InstallNamespace(String);

impl InstallNamespace {
    /// Reads an RFC 1123 label of at most 63 characters.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.chars().count() > LABEL_LIMIT {
            let detail = format!("must have at most {LABEL_LIMIT} characters");
            return Err(Fault::of_text(Class::TooLong, text, detail));
        }
        if is_dns1123_label(text) {
            return Ok(Self(text.to_owned()));
        }
        let detail = "must be lower case letters, digits and \"-\", with a letter or digit at both ends";
        Err(Fault::of_text(Class::Invalid, text, detail).hint_if(label_like(text)))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The name of an add-on, which becomes a label value on every work of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AddonName(String);

impl AddonName {
    /// Reads a name of at most 63 characters: RFC 1123 labels with points between them.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        if text.chars().count() > LABEL_LIMIT {
            let detail = format!(
                "must have at most {LABEL_LIMIT} characters, because it is a label value on ManifestWorks"
            );
            return Err(Fault::of_text(Class::TooLong, text, detail));
        }
        if text.split('.').all(is_dns1123_label) {
            return Ok(Self(text.to_owned()));
        }
        let detail =
            "must be lower case letters, digits, \"-\" and \".\", with a letter or digit at both ends";
        Err(Fault::of_text(Class::Invalid, text, detail))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn label_like(text: &str) -> Option<String> {
    let label: String = text
        .trim()
        .to_lowercase()
        .chars()
        .map(|letter| {
            if letter.is_ascii_alphanumeric() {
                letter
            } else {
                '-'
            }
        })
        .collect();
    let label = label.trim_matches('-');
    is_dns1123_label(label).then(|| format!("did you mean {}?", quoted(label)))
}

/// Reads the name of a RolloutProfile at `path`; absent where none is named. What is wrong with it is added to `wrong`.
pub(crate) fn profile_name(text: &str, path: &Path, wrong: &mut Vec<Violation>) -> Option<Name> {
    if text.is_empty() {
        return None;
    }
    if !is_dns1123_subdomain(text) {
        let detail = "must be the name of a RolloutProfile: lower case letters, digits, \"-\" and \".\"";
        let fault = Fault::of_text(Class::Invalid, text, detail);
        wrong.push(fault.at(path.clone(), rule::ROLLOUT_PROFILE));
    }
    Some(Name::from(text))
}

/// Reads a list of names of RolloutChecks.
pub(crate) fn check_names(names: &[String], path: &Path, wrong: &mut Vec<Violation>) -> Vec<Name> {
    if names.len() > MOST_CHECKS {
        let fault = Fault::bare(Class::TooMany, format!("must have at most {MOST_CHECKS} names"));
        wrong.push(fault.at(path.clone(), rule::ROLLOUT_CHECKS));
    }
    let mut found: Vec<Name> = Vec::new();
    for (index, name) in names.iter().enumerate().take(MOST_CHECKS) {
        let fault = if !is_dns1123_subdomain(name) {
            Fault::of_text(Class::Invalid, name, "must be the name of a RolloutCheck")
        } else if found.iter().any(|known| **known == **name) {
            Fault::of_text(Class::Duplicate, name, "is listed above; remove it here")
        } else {
            found.push(Name::from(name.as_str()));
            continue;
        };
        wrong.push(fault.at(path.index(index), rule::ROLLOUT_CHECKS));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn install_namespaces_are_labels() {
        for text in ["a", "0", "agent-addon", &"x".repeat(63)] {
            assert!(InstallNamespace::parse(text).is_ok(), "{text}");
        }
        for text in [
            "",
            "-a",
            "a-",
            "A",
            "a.b",
            "a_b",
            "a b",
            "\u{e9}",
            &"x".repeat(64),
        ] {
            assert!(InstallNamespace::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_label_that_is_almost_right_is_suggested() {
        let fault = InstallNamespace::parse("My_Addon").expect_err("upper case and underscore");
        let text = fault.at(kubernetes::field::Path::parse("n"), "a/b").to_string();
        assert!(text.contains("hint: did you mean \"my-addon\"?"), "{text}");
    }

    #[test]
    fn add_on_names_fit_a_label_value() {
        assert!(AddonName::parse("cluster-proxy.v2").is_ok());
        for text in ["", "a..b", ".a", "Upper", &"x".repeat(64)] {
            assert!(AddonName::parse(text).is_err(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn labels_agree_with_the_crd_pattern(text in "[-a-z0-9A.]{0,70}") {
            let pattern = regex::Regex::new(r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$").expect("OCM's pattern compiles");
            prop_assert_eq!(InstallNamespace::parse(&text).is_ok(), pattern.is_match(&text) && text.len() <= 63);
        }
    }
}
