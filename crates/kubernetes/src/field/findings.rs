//! The collector that every check writes to.
//!
//! Decides order, duplicates and the length of warnings. Never returns early: all faults are shown at once.

use std::collections::BTreeSet;
use std::fmt;

use super::{Path, Violation, text};

/// The longest warning, in characters, where there are many: the API server cuts longer ones then, wherever that is.
const WARNING_LIMIT: usize = 256;
/// The longest path in a warning that is too long, and the shortest length that it is cut to.
const PATH_LIMIT: usize = 64;
const LEAF_LIMIT: usize = 30;

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
    /// Writes at most 256 characters. The rule id is always whole, because `tidegate explain` starts from it; of the
    /// rest the first form is taken that fits: a cure says more than an explanation, and both more than a long path.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let full = self.0.warning();
        if full.chars().count() <= WARNING_LIMIT {
            return f.write_str(&full);
        }
        let rule = format!(" [{}]", self.0.rule());
        let available = WARNING_LIMIT.saturating_sub(rule.chars().count());
        let whole = self.0.path().to_string();
        let paths = [PATH_LIMIT, LEAF_LIMIT].map(|limit| inner_part(&whole, limit));
        let forms = self.forms();
        let at = |path: &str| {
            if self.0.path().segments().is_empty() {
                return String::new();
            }
            format!("{path}: ")
        };
        let mut texts = forms
            .iter()
            .flat_map(|form| paths.iter().map(move |path| format!("{}{form}", at(path))));
        let fits = texts.find(|text| text.chars().count() <= available);
        let text = fits.unwrap_or_else(|| {
            let [path, _] = &paths;
            text::cut(&format!("{}{}", at(path), self.0.detail()), available)
        });
        write!(f, "{text}{rule}")
    }
}

impl Warning {
    fn forms(&self) -> Vec<String> {
        let detail = match self.0.detail() {
            "" => self.0.class().words(),
            detail => detail,
        };
        let valued = |text: &str| {
            self.0
                .value()
                .map_or_else(|| text.to_owned(), |value| format!("{value}: {text}"))
        };
        let mut forms = Vec::new();
        if let Some(hint) = self.0.hint() {
            let both = format!("{detail}; hint: {hint}");
            forms.extend([valued(&both), both, valued(hint), hint.to_owned()]);
        }
        forms.extend([valued(detail), detail.to_owned()]);
        forms
    }
}

/// Everything that the checks of one request have found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
    audited: Vec<Violation>,
}

impl Findings {
    /// Returns an empty collector.
    pub const fn new() -> Self {
        Self {
            violations: Vec::new(),
            warnings: Vec::new(),
            audited: Vec::new(),
        }
    }

    /// Adds a fault that refuses the object.
    pub fn deny(&mut self, violation: Violation) {
        self.violations.push(violation);
    }

    /// Adds a fault that is reported as a warning.
    pub fn warn(&mut self, violation: Violation) {
        self.warnings.push(Warning(violation));
    }

    /// Adds a fault that is recorded for the audit, and not told to the client.
    pub fn audit(&mut self, violation: Violation) {
        self.audited.push(violation);
    }

    /// Adds everything that `other` holds.
    pub fn extend(&mut self, other: Self) {
        self.violations.extend(other.violations);
        self.warnings.extend(other.warnings);
        self.audited.extend(other.audited);
    }

    /// Returns the refusing faults.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the faults that are only recorded.
    pub fn audited(&self) -> &[Violation] {
        &self.audited
    }

    /// Returns whether nothing refuses the object.
    pub fn allows(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the same with a warning for every refusing fault that `is_soft`; all others stay what they are.
    #[must_use]
    pub fn softened(mut self, mut is_soft: impl FnMut(&Violation) -> bool) -> Self {
        let (soft, hard) = self.violations.into_iter().partition(|one| is_soft(one));
        self.violations = hard;
        let soft: Vec<Violation> = soft;
        self.warnings.extend(soft.into_iter().map(Warning));
        self
    }

    /// Returns the same without the errors and warnings for which `is_open` is true.
    #[must_use]
    pub fn without(mut self, mut is_open: impl FnMut(&Violation) -> bool) -> Self {
        self.violations.retain(|one| !is_open(one));
        self.warnings.retain(|one| !is_open(one.violation()));
        self
    }

    /// Puts everything in its shown order and drops what is said twice; a warning about a field that is refused goes as well.
    #[must_use]
    pub fn settled(mut self) -> Self {
        self.violations.sort();
        self.violations.dedup();
        let refused: BTreeSet<&Path> = self.violations.iter().map(Violation::path).collect();
        self.warnings
            .retain(|warning| !refused.contains(warning.0.path()));
        self.warnings.sort();
        self.warnings.dedup();
        self.audited.sort();
        self.audited.dedup();
        self
    }

    /// Takes the collector apart: faults, then warnings, then what is only recorded.
    pub fn into_parts(self) -> (Vec<Violation>, Vec<Warning>, Vec<Violation>) {
        (self.violations, self.warnings, self.audited)
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
    fn a_refused_field_is_not_warned_of_as_well() {
        let mut findings = Findings::new();
        findings.deny(violation("spec.a", "a/b"));
        findings.warn(violation("spec.a", "a/c"));
        findings.warn(violation("spec.b", "a/b"));
        let settled = findings.settled();
        let warned: Vec<String> = settled.warnings().iter().map(ToString::to_string).collect();
        assert_eq!(warned, [r#"spec.b: "x": must be right [a/b]"#]);
    }

    #[test]
    fn warnings_keep_their_rule_id_and_end_before_the_api_server_cuts_them() {
        let path = "spec.installStrategy.placements[1].rolloutStrategy.progressive.mandatoryDecisionGroups[0].groupName";
        let long = Fault::of_text(
            Class::Invalid,
            &"v".repeat(300),
            "must be something else ".repeat(20),
        )
        .hint("a cure ".repeat(40))
        .at(Path::parse(path), "rollout/mandatory-groups");
        let text = Warning::from(long).to_string();
        assert!(text.chars().count() <= 256, "{text}");
        assert!(text.ends_with(" [rollout/mandatory-groups]"), "{text}");
        assert!(
            text.starts_with(
                "...progressive.mandatoryDecisionGroups[0].groupName: must be something else must"
            ),
            "{text}"
        );
    }
}
