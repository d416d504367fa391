//! The findings of policies for one request, and their conversion to violations.

use std::collections::BTreeMap;
use std::sync::Arc;

use kubernetes::field::{Fault, Path, Violation};

/// The cause of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Judgement {
    /// An expression does not hold.
    Broken,
    /// An expression could not be evaluated.
    Failed,
    /// A fact that an expression reads is not known.
    Unknown,
    /// The namespace of the object is not known.
    NoNamespace,
}

/// The actions for a finding.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Actions {
    pub(super) audit: bool,
    pub(super) notice: UserNotice,
}

/// What the user gets.
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
        notice: UserNotice::Refused,
    };
    /// Warns and records.
    pub(super) const WARNED: Self = Self {
        audit: true,
        notice: UserNotice::Warned,
    };
    /// Records.
    pub(super) const AUDIT: Self = Self {
        audit: true,
        notice: UserNotice::Nothing,
    };
}

/// One finding of one policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the policy.
    pub policy: Arc<str>,
    /// Id of the rule: `policy/<name>/<part>`.
    pub rule: String,
    /// Its cause.
    pub judgement: Judgement,
    pub(super) actions: Actions,
    pub(super) path: Path,
    pub(super) fault: Fault,
}

impl Finding {
    /// Returns whether the policy refuses the object.
    pub fn denies(&self) -> bool {
        self.actions.notice == UserNotice::Refused
    }

    /// Returns whether the policy warns.
    pub fn warns(&self) -> bool {
        self.actions.notice == UserNotice::Warned
    }

    /// Returns whether the finding is recorded.
    pub fn audits(&self) -> bool {
        self.actions.audit
    }

    /// Returns the path of the fault.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the finding as a violation.
    pub fn violation(&self) -> Violation {
        self.fault.clone().at(self.path.clone(), self.rule.clone())
    }
}

/// The result of an expression.
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
    /// Its result.
    pub saw: Saw,
}

/// The result of all policies for one request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The findings, in the order of policies and their parts.
    pub findings: Vec<Finding>,
    /// The audit annotations of the request.
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
