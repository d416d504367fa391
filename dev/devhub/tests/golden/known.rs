//! The list of differences that are known and explained.
//!
//! Decides how the list is read; `main.rs` holds that it neither hides a step that is equal nor misses one that is not.

use std::{collections::BTreeMap, path::PathBuf};

/// Name of the check of resource versions at the end of a scenario, in the place of a step id.
pub(crate) const VERSION_ORDER: &str = "rvOrder";

/// Reasons by scenario and step.
#[derive(Debug, Default)]
pub(crate) struct Known {
    reasons: BTreeMap<(String, String), String>,
}

impl Known {
    /// Reads `known-differences.tsv`.
    pub(crate) fn read() -> Self {
        let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden/known-differences.tsv");
        Self::parse(&std::fs::read_to_string(path).expect("the list of known differences is there"))
    }

    pub(crate) fn parse(text: &str) -> Self {
        let mut reasons = BTreeMap::new();
        for line in text
            .lines()
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
        {
            let columns: Vec<&str> = line.split('\t').collect();
            let [scenario, step, reason] = columns.as_slice() else {
                panic!("three columns are expected in {line:?}")
            };
            assert!(!reason.trim().is_empty(), "{line:?} gives no reason");
            let earlier = reasons.insert(((*scenario).to_owned(), (*step).to_owned()), (*reason).to_owned());
            assert!(earlier.is_none(), "{scenario} {step} is listed twice");
        }
        Self { reasons }
    }

    /// Returns why a step is known to differ.
    pub(crate) fn reason(&self, scenario: &str, step: &str) -> Option<&str> {
        self.reasons
            .get(&(scenario.to_owned(), step.to_owned()))
            .map(String::as_str)
    }

    /// Returns all listed scenarios and steps.
    pub(crate) fn entries(&self) -> impl Iterator<Item = (&str, &str)> {
        self.reasons
            .keys()
            .map(|(scenario, step)| (scenario.as_str(), step.as_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::Known;

    #[test]
    fn reads_rows_and_skips_comments() {
        let known = Known::parse("# why\nwatch-01\twatch-01-003\tno bookmarks yet\n");
        assert_eq!(known.reason("watch-01", "watch-01-003"), Some("no bookmarks yet"));
        assert_eq!(known.reason("watch-01", "watch-01-004"), None);
    }

    #[test]
    #[should_panic(expected = "is listed twice")]
    fn refuses_a_step_that_is_listed_twice() {
        Known::parse("a\tb\tone\na\tb\ttwo\n");
    }
}
