//! The verdict about one request: the findings of `decide`, in the order in which they are shown.

use std::collections::{BTreeMap, BTreeSet};

use json_patch::Patch;

use kubernetes::field::{Findings, Identity, Status, Violation, Warning};
use store::{ObjectKey, UserRight};

/// Whether an object can be stored, the reasons, the warnings, and the patch.
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
    /// Returns the verdict that allows without a finding.
    pub fn pass() -> Self {
        Self::default()
    }

    /// Returns the verdict with these findings. A refused object gets no patch.
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

    /// Returns the verdict for an object that is already stored: the status of a refusal is different.
    pub(super) fn of_stored(self, is_stored: bool) -> Self {
        Self { is_stored, ..self }
    }

    /// Returns the verdict with every finding converted, another patch, and more warnings.
    pub(super) fn mapped(
        self,
        words: impl Fn(Violation) -> Violation,
        patch: Patch,
        more: Vec<Violation>,
    ) -> Self {
        let all = |violations: Vec<Violation>| -> Vec<Violation> {
            let mut mapped: Vec<Violation> = violations.into_iter().map(&words).collect();
            mapped.sort();
            mapped
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

    /// Returns the verdict with the violations and open findings of another one.
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

    /// Returns the verdict with the audit annotations of policies.
    pub(super) fn noting(self, annotations: BTreeMap<String, String>) -> Self {
        Self { annotations, ..self }
    }

    /// Returns the verdict with undecided findings.
    pub(super) fn leaving_open(self, mut undecided: Vec<Violation>) -> Self {
        undecided.sort();
        undecided.dedup();
        Self { undecided, ..self }
    }

    /// Returns the findings that depend on unknown facts or on an unknown user, if the caller has requested them.
    pub fn undecided(&self) -> &[Violation] {
        &self.undecided
    }

    /// Returns the audit annotations of policies.
    pub fn annotations(&self) -> &BTreeMap<String, String> {
        &self.annotations
    }

    /// Returns this verdict with the objects to read from the hub before it is final.
    pub fn asking(mut self, objects: BTreeSet<ObjectKey>) -> Self {
        self.asks = objects;
        self
    }

    /// Returns the objects on whose absence this verdict depends and that are only missing in the watch cache. A ManagedClusterAddOn also
    /// covers the configurations of its placements.
    pub fn asks(&self) -> &BTreeSet<ObjectKey> {
        &self.asks
    }

    /// Returns this verdict with the permissions of the user to check on the hub.
    pub(super) fn asking_whether(self, rights: BTreeSet<UserRight>) -> Self {
        Self { rights, ..self }
    }

    /// Returns the permissions that the user of the request needs on the hub. Until the hub has confirmed them, the verdict refuses.
    pub fn asks_whether(&self) -> &BTreeSet<UserRight> {
        &self.rights
    }

    /// Returns whether the hub must be read before this verdict is final.
    pub fn is_open(&self) -> bool {
        !self.asks.is_empty() || !self.rights.is_empty()
    }

    /// Returns whether the object can be stored.
    pub fn allowed(&self) -> bool {
        self.violations.is_empty()
    }

    /// Returns the violations, in the order in which they are shown.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Returns the warnings.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Returns the findings that are recorded in the audit log. The user gets only those that also refuse or warn.
    pub fn audited(&self) -> &[Violation] {
        &self.audited
    }

    /// Returns the patch of the object.
    pub fn patch(&self) -> &Patch {
        &self.patch
    }

    /// Returns the refusal as a `Status` of the Kubernetes API; `None` if the object is allowed.
    pub fn status(&self) -> Option<Status> {
        let form = if self.is_stored {
            Status::forbidden
        } else {
            Status::invalid
        };
        (!self.allowed()).then(|| form(&self.identity, &self.violations))
    }

    /// Returns the ids of the rules that refused or warned, sorted and without duplicates.
    pub fn rules(&self) -> Vec<&str> {
        let refused = self.violations.iter().map(Violation::rule);
        let warned = self.warnings.iter().map(|warning| warning.violation().rule());
        let mut rules: Vec<&str> = refused.chain(warned).collect();
        rules.sort_unstable();
        rules.dedup();
        rules
    }
}
