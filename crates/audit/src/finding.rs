//! One thing that is wrong with a stored object, and how wrong it is.
//!
//! Decides how the gate's answers are called in reports: what it would refuse is a failure, what it would warn of or only
//! record is a warning, what is excepted or cannot be judged without a request is skipped.

use store::Name;

/// How a finding stands, the worst first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FindingState {
    /// The gate would refuse the object.
    Denied,
    /// A rule or policy could not be evaluated.
    Broken,
    /// The gate would warn.
    Warned,
    /// The gate would only record it.
    Recorded,
    /// A policy asks for what only a request has: who asks, and when.
    Undecided,
    /// An exception of the policy holds.
    Excused,
}

impl FindingState {
    /// Every standing, the worst first.
    pub const ALL: [Self; 6] = [
        Self::Denied,
        Self::Broken,
        Self::Warned,
        Self::Recorded,
        Self::Undecided,
        Self::Excused,
    ];

    /// Returns the word of the report APIs for the result.
    pub const fn result(self) -> &'static str {
        match self {
            Self::Denied => "fail",
            Self::Broken => "error",
            Self::Warned | Self::Recorded => "warn",
            Self::Undecided | Self::Excused => "skip",
        }
    }

    /// Returns the word of the report APIs for the severity.
    pub const fn severity(self) -> &'static str {
        match self {
            Self::Denied => "high",
            Self::Broken | Self::Warned => "medium",
            Self::Recorded => "low",
            Self::Undecided | Self::Excused => "info",
        }
    }

    /// Tells whether the gate would tell the user of it.
    pub const fn is_reported(self) -> bool {
        match self {
            Self::Denied | Self::Broken | Self::Warned => true,
            Self::Recorded | Self::Undecided | Self::Excused => false,
        }
    }

    /// Returns what the gate would do.
    pub const fn action(self) -> &'static str {
        match self {
            Self::Denied => "deny",
            Self::Broken => "error",
            Self::Warned => "warn",
            Self::Recorded => "audit",
            Self::Undecided => "undecided",
            Self::Excused => "excepted",
        }
    }
}

/// One thing that is wrong with a stored object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// How it stands.
    pub standing: FindingState,
    /// Path of the fault; empty for the object as a whole.
    pub path: Name,
    /// Id of the rule.
    pub rule: Name,
    /// Everything in one line: path, class, value, what would be right, fix, rule id.
    pub message: Name,
}

/// How many findings there are, by standing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u32; 6]);

impl Counts {
    /// Counts one more.
    pub fn add(&mut self, standing: FindingState) {
        for (count, known) in self.0.iter_mut().zip(FindingState::ALL) {
            *count = count.saturating_add(u32::from(known == standing));
        }
    }

    /// Adds other counts.
    pub fn extend(&mut self, other: Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count = count.saturating_add(more);
        }
    }

    /// Returns how many have a result, in the word of the report APIs.
    pub fn with_result(&self, result: &str) -> u32 {
        let pairs = self.0.iter().zip(FindingState::ALL);
        let with = pairs.filter(|(_, standing)| standing.result() == result);
        with.fold(0, |sum, (count, _)| sum.saturating_add(*count))
    }

    /// Returns how many there are.
    pub fn total(&self) -> u32 {
        self.0.iter().fold(0, |sum, count| sum.saturating_add(*count))
    }
}
