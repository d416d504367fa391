//! The answer to one request.
//!
//! Decides nothing: it carries what `decide` found, in the order in which it is shown.

use std::collections::{BTreeMap, BTreeSet};

use json_patch::Patch;

use kubernetes::field::{Findings, Identity, Status, Violation, Warning};
use store::{ObjectKey, UserRight};

/// Whether an object may be stored, why not, what else to say, and what to add to it.
#[must_use = "a verdict does nothing until it is answered"]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verdict {
    identity: Identity,
    /// Whether the object is on the hub already.
    is_stored: bool,
    violations: Vec<Violation>,
    warnings: Vec<Warning>,
    audited: Vec<Violation>,
    patch: Patch,
    annotations: BTreeMap<String, String>,
    undecided: Vec<Violation>,
    asks: BTreeSet<ObjectKey>,
    rights: BTreeSet<UserRight>,
}

impl Verdict {
    /// Returns the verdict that says yes and nothing else.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Returns the verdict of these findings; a refused object gets no patch.
    pub fn of(identity: Identity, findings: Findings, patch: Patch) -> Self {
        let (violations, warnings, audited) = findings.settled().into_parts();
        let patch = if violations.is_empty() {
            patch
        } else {
            Patch::default()
        };
        Self {
            identity,
            is_stored: false,
            violations,
            warnings,
            audited,
            patch,
            annotations: BTreeMap::new(),
            undecided: Vec::new(),
            asks: BTreeSet::new(),
            rights: BTreeSet::new(),
        }
    }

    /// Returns the verdict about an object that is on the hub already: a refusal of its change is told in another form.
    pub(super) fn of_stored(self, is_stored: bool) -> Self {
        Self { is_stored, ..self }
    }

    /// Returns the verdict in other words, with another patch and more to warn of.
    pub(super) fn told(
        self,
        words: impl Fn(Violation) -> Violation,
        patch: Patch,
        more: Vec<Violation>,
    ) -> Self {
        let all = |violations: Vec<Violation>| -> Vec<Violation> {
            let mut told: Vec<Violation> = violations.into_iter().map(&words).collect();
            told.sort();
            told
        };
        let warned = self
            .warnings
            .into_iter()
            .map(|warning| warning.violation().clone());
        let mut warned = all(warned.collect());
        warned.extend(more);
        warned.sort();
        Self {
            violations: all(self.violations),
            warnings: warned.into_iter().map(Warning::from).collect(),
            audited: all(self.audited),
            undecided: all(self.undecided),
            patch,
            ..self
        }
    }

    /// Returns the verdict with more findings.
    pub(super) fn finding_as_well(mut self, findings: Findings) -> Self {
        let (violations, warnings, audited) = findings.into_parts();
        self.violations.extend(violations);
        self.violations.sort();
        let more = warnings.iter().map(|warning| warning.violation().clone());
        let warned = self.warnings.iter().map(|warning| warning.violation().clone());
        let mut warned: Vec<Violation> = warned.chain(more).collect();
        warned.sort();
        self.warnings = warned.into_iter().map(Warning::from).collect();
        self.audited.extend(audited);
        self.audited.sort();
        self
    }

    /// Returns the verdict with what another one refuses, or leaves open.
    pub(super) fn refusing_as_well(mut self, other: Self) -> Self {
        self.violations.extend(other.violations);
        self.violations.sort();
        self.violations.dedup();
        self.undecided.extend(other.undecided);
        self.undecided.sort();
        self.undecided.dedup();
        self.asks.extend(other.asks);
        self.rights.extend(other.rights);
        if !self.allowed() {
            self.patch = Patch::default();
            if self.identity == Identity::default() {
                self.identity = other.identity;
            }
        }
        self
    }

    /// Returns the verdict with what policies want to be recorded.
    pub(super) fn noting(self, annotations: BTreeMap<String, String>) -> Self {
        Self { annotations, ..self }
    }

    /// Returns the verdict with what cannot be decided.
    pub(super) fn leaving_open(self, mut undecided: Vec<Violation>) -> Self {
        undecided.sort();
        undecided.dedup();
        Self { undecided, ..self }
    }

    /// Returns what hangs on facts or on a user that are not known, where the caller wants to hear of it.
    pub fn undecided(&self) -> &[Violation] {
        &self.undecided
    }

    /// Returns what policies want to be recorded with the request.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// Returns this verdict with the objects that the hub should be asked for before it is relied on.
    pub fn asking(mut self, objects: BTreeSet<ObjectKey>) -> Self {
        self.asks = objects;
        self
    }

    /// Returns the objects whose absence this verdict rests on, as far as only the watch has not seen them; an add-on of a
    /// cluster stands for what its placements give it.
    pub fn asks(&self) -> &BTreeSet<ObjectKey> {
        &self.asks
    }

    /// Returns this verdict with what the hub should be asked about the user of the request.
    pub(super) fn asking_whether(self, rights: BTreeSet<UserRight>) -> Self {
        Self { rights, ..self }
    }

    /// Returns what the user of the request must be allowed on the hub. Until the hub has said so, the verdict refuses what hangs
    /// on it.
    pub fn asks_whether(&self) -> &BTreeSet<UserRight> {
        &self.rights
    }

    /// Returns whether the hub should be asked before this verdict is relied on.
    pub fn is_open(&self) -> bool {
        !self.asks.is_empty() || !self.rights.is_empty()
    }

    /// Returns whether the object may be stored.
    pub fn allowed(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns everything that is wrong, in its shown order.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns everything that is allowed and probably not meant.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns what is recorded in the audit log; of it the user is told only what is refused or warned of as well.
    pub fn audited(&self) -> &[Violation] {
        &self.audited
    }

    /// Returns what the gate adds to the object.
    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Returns the refusal in the form of the Kubernetes API; nothing when the object is allowed.
    pub fn status(&self) -> Option<Status> {
        let form = if self.is_stored {
            Status::forbidden
        } else {
            Status::invalid
        };
        (!self.allowed()).then(|| form(&self.identity, &self.violations))
    }

    /// Returns the ids of the rules that refused or warned, sorted, each once.
    pub fn rules(&self) -> Vec<&str> {
        let refused = self.violations.iter().map(Violation::rule);
        let warned = self.warnings.iter().map(|warning| warning.violation().rule());
        let mut rules: Vec<&str> = refused.chain(warned).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}
