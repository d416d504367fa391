//! What a run found.
//!
//! Decides what is printed.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
};

use crate::compare::Difference;

/// Result of one step.
#[derive(Debug)]
pub(crate) enum Outcome {
    /// Nothing was to be compared.
    Sent,
    Equal,
    /// Differs, and the list says why.
    Known(String),
    /// Differs, or is listed although it is equal.
    Unexpected,
}

/// Results of one scenario.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) equal: usize,
    pub(crate) sent: usize,
    pub(crate) known: BTreeMap<String, usize>,
    pub(crate) unexpected: usize,
    /// Rows that would have to be added to the list.
    pub(crate) candidates: Vec<String>,
    /// Text of everything unexpected.
    pub(crate) text: String,
}

impl Report {
    pub(crate) fn count(&mut self, outcome: Outcome) {
        match outcome {
            Outcome::Sent => self.sent += 1,
            Outcome::Equal => self.equal += 1,
            Outcome::Known(reason) => *self.known.entry(reason).or_default() += 1,
            Outcome::Unexpected => self.unexpected += 1,
        }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        self.equal += other.equal;
        self.sent += other.sent;
        self.unexpected += other.unexpected;
        for (reason, count) in other.known {
            *self.known.entry(reason).or_default() += count;
        }
        self.candidates.extend(other.candidates);
        self.text.push_str(&other.text);
    }

    pub(crate) fn known_count(&self) -> usize {
        self.known.values().sum()
    }

    pub(crate) fn compared(&self) -> usize {
        self.equal + self.known_count() + self.unexpected
    }

    /// Adds the text of a step that should not have come out as it did.
    pub(crate) fn tell(&mut self, step: &str, differences: &[Difference]) {
        writeln!(self.text, "  {step}").ok();
        for difference in differences {
            writeln!(self.text, "      {difference}").ok();
        }
    }

    /// One line about a scenario.
    pub(crate) fn line(&self, name: &str) -> String {
        let verdict = if self.unexpected == 0 { "ok" } else { "FAILED" };
        let (compared, equal, known) = (self.compared(), self.equal, self.known_count());
        format!(
            "scenario {name} ... {verdict} ({compared} compared, {equal} equal, {known} known differences)"
        )
    }

    /// The totals of a run.
    pub(crate) fn totals(&self) -> String {
        let mut text = format!(
            "golden: {} steps compared, {} equal, {} known differences, {} unexpected; {} steps only sent\n",
            self.compared(),
            self.equal,
            self.known_count(),
            self.unexpected,
            self.sent,
        );
        for (reason, count) in &self.known {
            writeln!(text, "    {count:4} {reason}").ok();
        }
        text
    }
}

/// Prints past the capture of the test runner: the totals are worth reading when all is well, too.
pub(crate) fn print(text: &str) {
    let mut out = io::stderr().lock();
    writeln!(out, "{text}").ok();
}
