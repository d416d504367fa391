//! What policies say of one request.
//!
//! Decides how a finding becomes a violation. Never decides what follows from it.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubernetes::field::{Fault, Path, Violation};

/// How a finding came about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// An expression does not hold.
    Broken,
    /// An expression could not be evaluated.
    Failed,
    /// A fact that an expression asks for is not known.
    Unknown,
    /// The namespace of the object is not known.
    NoNamespace,
}

/// What is to happen with a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Actions {
    pub(super) audit: bool,
    pub(super) told: UserNotice,
}

/// What the user hears of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UserNotice {
    #[default]
    Nothing,
    Warned,
    Refused,
}

impl Actions {
    /// Refuses.
    pub(super) const DENY: Self = Self {
        audit: false,
        told: UserNotice::Refused,
    };
    /// Warns and records.
    pub(super) const TOLD: Self = Self {
        audit: true,
        told: UserNotice::Warned,
    };
    /// Records.
    pub(super) const AUDIT: Self = Self {
        audit: true,
        told: UserNotice::Nothing,
    };
}

/// One thing that one policy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the policy.
    pub policy: Arc<str>,
    /// Id of the rule: `policy/<name>/<part>`.
    pub rule: String,
    /// How it came about.
    pub judgement: Judgement,
    pub(super) actions: Actions,
    pub(super) path: Path,
    pub(super) fault: Fault,
}

impl Finding {
    /// Tells whether the policy refuses the object for this.
    pub fn denies(&self) -> bool {
        self.actions.told == UserNotice::Refused
    }

    /// Tells whether the policy warns of this.
    pub fn warns(&self) -> bool {
        self.actions.told == UserNotice::Warned
    }

    /// Tells whether this is to be recorded.
    pub fn audits(&self) -> bool {
        self.actions.audit
    }

    /// Returns where the fault stands.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the finding as the gate's collector takes it.
    pub fn violation(&self) -> Violation {
        self.fault.clone().at(self.path.clone(), self.rule.clone())
    }
}

/// What an expression was seen to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Saw {
    /// It held.
    True,
    /// It did not hold.
    False,
    /// It could not be evaluated.
    Error,
}

/// One validation that was evaluated.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EvaluatedValidation {
    /// Id of the rule.
    pub rule: String,
    /// What it was.
    pub saw: Saw,
}

/// What all policies say of one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What they found, in the order of policies and their parts.
    pub findings: Vec<Finding>,
    /// What is recorded with the request.
    pub annotations: BTreeMap<String, String>,
    /// Every validation that was evaluated.
    pub seen: Vec<EvaluatedValidation>,
}

impl Outcome {
    pub(super) fn extend(&mut self, other: Self) {
        self.findings.extend(other.findings);
        self.annotations.extend(other.annotations);
        self.seen.extend(other.seen);
    }
}
