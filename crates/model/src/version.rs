//! Versions of an add-on: semantic versions, with a leading `v` and without their last numbers where people write so.
//!
//! Decides which texts are versions, how they are ordered and which one is the default. Never looks whether a version
//! exists.

use std::cmp::Ordering;

use semver::Version;

use kubernetes::field::{Class, Fault};

/// A version becomes a label value on every work that carries it.
const LONGEST: usize = 63;

/// A version of an add-on, with the spelling of its author.
#[derive(Clone, Debug)]
pub struct AddonVersion {
    text: String,
    number: Version,
}

impl AddonVersion {
    /// Reads `v1.2.3`, `1.2.3`, and what leaves the last numbers out: `v1`, `1.2`, `v1-rc.1`.
    pub fn parse(text: &str) -> Result<Self, Fault> {
        let detail = "must be a version such as \"v1.2.3\" or \"v1\"";
        let number = if text.chars().count() > LONGEST {
            None
        } else {
            number(text)
        };
        number
            .map(|number| Self {
                text: text.to_owned(),
                number,
            })
            .ok_or_else(|| {
                let fault = Fault::of_text(Class::Invalid, text, detail);
                fault.hint_if(near(text).map(|near| format!("did you mean \"{near}\"?")))
            })
    }

    /// Returns the version in the spelling of its author.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns major and minor number: what agents are tested to be upgraded between.
    pub fn minor(&self) -> (u64, u64) {
        (self.number.major, self.number.minor)
    }

    /// Returns whether it is only meant for those who ask for it, such as a release candidate.
    pub fn is_preliminary(&self) -> bool {
        !self.number.pre.is_empty()
    }

    /// Returns the version that is installed where none is asked for: the highest release, and a preliminary version
    /// only where there is no release.
    pub fn default_of<'a>(versions: impl IntoIterator<Item = &'a Self>) -> Option<&'a Self> {
        versions.into_iter().max_by(
            |one, other| match (one.is_preliminary(), other.is_preliminary()) {
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                (true, true) | (false, false) => one.cmp(other),
            },
        )
    }
}

/// What a build adds behind `+` makes no other version.
impl Ord for AddonVersion {
    fn cmp(&self, other: &Self) -> Ordering {
        self.number.cmp_precedence(&other.number)
    }
}

impl PartialOrd for AddonVersion {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for AddonVersion {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for AddonVersion {}

fn number(text: &str) -> Option<Version> {
    let text = text.strip_prefix('v').unwrap_or(text);
    let numbers = text.split(['-', '+']).next().unwrap_or_default();
    let rest = text.strip_prefix(numbers).unwrap_or_default();
    let lacking = match numbers.split('.').count() {
        1 => ".0.0",
        2 => ".0",
        _ => "",
    };
    Version::parse(&format!("{numbers}{lacking}{rest}")).ok()
}

/// Spaces and a capital V are the slips that are easy to see and hard to find.
fn near(text: &str) -> Option<String> {
    let near = text.trim().to_ascii_lowercase();
    (near != text && number(&near).is_some()).then_some(near)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> AddonVersion {
        AddonVersion::parse(text).unwrap()
    }

    #[test]
    fn versions_are_read_with_and_without_their_last_numbers() {
        let rows = [
            ("v1", Some("1.0.0")),
            ("0.10", Some("0.10.0")),
            ("v1.2.3-rc.1+b", Some("1.2.3-rc.1+b")),
            ("v1-rc.1", Some("1.0.0-rc.1")),
            ("latest", None),
            ("", None),
            ("v", None),
            ("v1.2.3.4", None),
            ("v01", None),
        ];
        for (text, expected) in rows {
            let read = AddonVersion::parse(text).ok().map(|read| read.number.to_string());
            assert_eq!(read.as_deref(), expected, "{text}");
        }
        assert!(AddonVersion::parse(&format!("1.0.0-{}", "a".repeat(60))).is_err());
    }

    #[test]
    fn the_order_is_that_of_the_numbers_and_not_of_the_texts() {
        let mut versions = ["v10", "v2", "v1.1", "1.0.0-rc.2", "v1", "v1.0.0-rc.10"].map(version);
        versions.sort();
        let sorted: Vec<&str> = versions.iter().map(AddonVersion::as_str).collect();
        assert_eq!(sorted, ["1.0.0-rc.2", "v1.0.0-rc.10", "v1", "v1.1", "v2", "v10"]);
        assert_eq!(version("v1"), version("1.0.0"));
        assert_eq!(version("v1+a"), version("v1+b"));
    }

    #[test]
    fn the_default_is_the_highest_release() {
        let rows: [(&[&str], Option<&str>); 4] = [
            (&["v1", "v2", "v3-rc.1"], Some("v2")),
            (&["v3-rc.1", "v1"], Some("v1")),
            (&["v1-alpha", "v1-beta"], Some("v1-beta")),
            (&[], None),
        ];
        for (texts, expected) in rows {
            let versions: Vec<AddonVersion> = texts.iter().map(|text| version(text)).collect();
            let default = AddonVersion::default_of(&versions).map(AddonVersion::as_str);
            assert_eq!(default, expected, "{texts:?}");
        }
    }

    #[test]
    fn a_slip_of_the_pen_is_pointed_out() {
        let fault = |text: &str| {
            let fault = AddonVersion::parse(text).unwrap_err();
            fault
                .at(kubernetes::field::Path::root().key("x"), "r")
                .to_string()
        };
        assert!(fault("V2").contains("did you mean \"v2\"?"), "{}", fault("V2"));
        assert!(fault(" 2 ").contains("did you mean \"2\"?"));
        assert!(!fault("latest").contains("did you mean"));
    }
}
