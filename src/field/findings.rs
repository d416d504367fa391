//! The collector that every check writes to.
//!
//! Decides order, duplicates and the length of warnings. Never returns early: all faults are shown at once.

use std::fmt;

use super::{Violation, text};

/// The longest warning, in characters; the API server cuts long ones where it likes.
const WARNING_LIMIT: usize = 120;

/// Something that is allowed and probably not meant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Warning(Violation);

impl Warning {
    /// Returns the violation that this warning shows.
    pub fn violation(&self) -> &Violation {
        &self.0
    }
}

impl From<Violation> for Warning {
    fn from(violation: Violation) -> Self {
        Self(violation)
    }
}

impl fmt::Display for Warning {
    /// Writes at most 120 characters. The rule id is always whole, because `tidegate explain` starts from it; the hint
    /// goes first, then the outer part of the path, then the end of the detail.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.0.to_string();
        if full.chars().count() <= WARNING_LIMIT {
            return f.write_str(&full);
        }
        let rule = format!(" [{}]", self.0.rule());
        let room = WARNING_LIMIT.saturating_sub(rule.chars().count());
        let path = inner_part(&self.0.path().to_string(), 48);
        let wordy = match self.0.hint() {
            Some(hint) => format!("{path}: {}; hint: {hint}", self.0.detail()),
            None => String::new(),
        };
        let text = if wordy.is_empty() || wordy.chars().count() > room {
            text::cut(&format!("{path}: {}", self.0.detail()), room)
        } else {
            wordy
        };
        write!(f, "{text}{rule}")
    }
}

/// Everything that the checks of one request have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
}

impl Findings {
    /// Returns an empty collector.
    pub const fn new() -> Self {
        Self {
            violations: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// Adds a fault that refuses the object.
    pub fn deny(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Adds a fault that is told and allowed.
    pub fn warn(&mut self, violation: Violation) {
        self.warnings.push(Warning(violation));
    }

    /// Adds everything that `other` holds.
    pub fn extend(&mut self, other: Self) {
        self.violations.extend(other.violations);
        self.warnings.extend(other.warnings);
    }

    /// Returns the refusing faults.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns whether nothing refuses the object.
    pub fn allows(&self) -> bool {
        self.violations.is_empty()
    }

    /// Puts everything in its shown order and drops what is said twice; a warning that a refusal repeats goes as well.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.violations.sort();
        self.violations.dedup();
        let refused = &self.violations;
        self.warnings.retain(|warning| {
            !refused
                .iter()
                .any(|violation| violation.path() == warning.0.path() && violation.rule() == warning.0.rule())
        });
        self.warnings.sort();
        self.warnings.dedup();
        self
    }

    /// Takes the collector apart: faults, then warnings.
    pub fn into_parts(self) -> (Vec<Violation>, Vec<Warning>) {
        (self.violations, self.warnings)
    }
}

fn inner_part(path: &str, limit: usize) -> String {
    let length = path.chars().count();
    if length <= limit {
        return path.to_owned();
    }
    let tail: String = path.chars().skip(length - limit).collect();
    // Start at a whole field name: half a word would look like a misspelling.
    let whole = tail.split_once('.').map_or(tail.as_str(), |(_, after)| after);
    format!("...{whole}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::field::{Class, Fault, Path};

    fn violation(path: &str, rule: &'static str) -> Violation {
        Fault::of_text(Class::Invalid, "x", "must be right").at(Path::parse(path), rule)
    }

    #[test]
    fn findings_are_shown_in_the_order_of_their_paths_and_once() {
        let mut findings = Findings::new();
        for path in ["spec.b", "spec.a[10]", "spec.a[9]", "spec.b"] {
            findings.deny(violation(path, "a/b"));
        }
        let shown: Vec<String> = findings
            .settled()
            .violations()
            .iter()
            .map(|found| found.path().to_string())
            .collect();
        assert_eq!(shown, ["spec.a[9]", "spec.a[10]", "spec.b"]);
    }

    #[test]
    fn a_refusal_silences_its_own_warning() {
        let mut findings = Findings::new();
        findings.deny(violation("spec.a", "a/b"));
        findings.warn(violation("spec.a", "a/b"));
        findings.warn(violation("spec.a", "a/c"));
        assert_eq!(findings.settled().warnings().len(), 1);
    }

    #[test]
    fn warnings_keep_their_rule_id_within_120_characters() {
        let path = "spec.installStrategy.placements[1].rolloutStrategy.progressive.mandatoryDecisionGroups[0].groupName";
        let long = Fault::of_text(
            Class::Invalid,
            &"v".repeat(300),
            "must be something else ".repeat(20),
        )
        .hint("a cure ".repeat(30))
        .at(Path::parse(path), "rollout/mandatory-groups");
        let text = Warning::from(long).to_string();
        assert!(text.chars().count() <= 120, "{text}");
        assert!(text.ends_with(" [rollout/mandatory-groups]"), "{text}");
        assert!(
            text.starts_with("...mandatoryDecisionGroups[0].groupName: must be"),
            "{text}"
        );
    }
}
