//! What a report holds, whatever form it takes.
//!
//! Decides the order in which findings are shown. Never knows how they look.

use std::collections::BTreeMap;

/// How much a finding matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The object would be refused.
    Error,
    /// The object would be stored, and probably does not do what was meant.
    Warning,
    /// It cannot be told from what is known.
    Unknown,
}

impl Severity {
    /// Returns the word for it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Unknown => "unknown",
        }
    }
}

/// A stretch of one line of a file; lines and columns count from 1, columns in characters.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Spot {
    /// The file, as the user named it.
    pub file: String,
    /// The line.
    pub line: usize,
    /// The first column.
    pub column: usize,
    /// The column behind the last one; the first column itself when the end is unknown.
    pub end: usize,
    /// The text of the line; of a very long one the part around the column.
    pub excerpt: String,
    /// The column of the first letter of the excerpt; 0 counts as 1.
    pub begins: usize,
}

/// Which object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectReference {
    /// Its kind.
    pub kind: String,
    /// Its namespace, empty when it has none.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl std::fmt::Display for ObjectReference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        let name = if name.is_empty() { "(no name)" } else { name };
        if namespace.is_empty() {
            return write!(f, "{kind} {name}");
        }
        write!(f, "{kind} {namespace}/{name}")
    }
}

/// One thing that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// The rule that found it.
    pub rule: String,
    /// Where it is in the file.
    pub spot: Spot,
    /// The object that it is about.
    pub subject: ObjectReference,
    /// The field, as Kubernetes writes paths; empty for the whole object.
    pub path: String,
    /// The class and the value, then what would be right; neither the path, nor the hint, nor the rule.
    pub message: String,
    /// The fix, if it is known.
    pub hint: Option<String>,
}

/// A file that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// Where reading stopped making sense.
    pub spot: Spot,
    /// Why.
    pub message: String,
}

/// An object that was judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Where it begins.
    pub spot: Spot,
    /// Which object.
    pub subject: ObjectReference,
    /// What the gate would add to it, one line each.
    pub additions: Vec<String>,
}

/// What a rule is about, for those who have never met it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleDoc {
    /// Its id.
    pub id: String,
    /// One sentence.
    pub summary: String,
    /// The rest.
    pub text: String,
}

/// What was not judged, by the reason: the kinds of documents or the names of files, each with how often.
pub type Ignored = BTreeMap<String, BTreeMap<String, usize>>;

/// Everything that was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings.
    pub findings: Vec<Finding>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// The objects that were judged.
    pub checked: Vec<Checked>,
    /// The documents that were not.
    pub ignored: Ignored,
    /// How many findings comments of the files ignore.
    pub excused: usize,
    /// How many files were read.
    pub files: usize,
    /// The rules that can speak.
    pub rules: Vec<RuleDoc>,
}

impl Report {
    /// Puts everything in its shown order: by file and line, the same on every run.
    pub fn sort(&mut self) {
        self.findings.sort_by(|one, other| key(one).cmp(&key(other)));
        self.unreadable.sort_by(|one, other| one.spot.cmp(&other.spot));
        self.checked.sort_by(|one, other| one.spot.cmp(&other.spot));
        self.rules.sort_by(|one, other| one.id.cmp(&other.id));
    }

    /// Returns how many findings have a severity.
    pub fn count(&self, severity: Severity) -> usize {
        let all = self.findings.iter();
        all.filter(|finding| finding.severity == severity).count()
    }
}

fn key(finding: &Finding) -> (&Spot, Severity, &str, &str, &str) {
    (
        &finding.spot,
        finding.severity,
        &finding.rule,
        &finding.path,
        &finding.message,
    )
}
