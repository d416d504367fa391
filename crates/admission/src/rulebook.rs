//! What the gate decides by, besides the request and the facts: the operator's choices.
//!
//! Decides nothing. The default holds every built-in rule as it is documented, and nothing else.

use super::enforcement::Enforcement;
use super::subject::BlastRadius;
use crate::policy::PolicySet;
use api::hash::Keys;
use kubernetes::field::Path;
use model::{HubNamespaces, ReservedSigners};
use serde_json::Value;
use std::sync::Arc;

/// The operator's choices.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// What the findings of rules do.
    pub enforcement: Enforcement,
    /// Users' own rules.
    pub policies: PolicySet,
    /// How large a share of an add-on's clusters one edit may reach before the gate says so.
    pub blast_radius: BlastRadius,
    /// Where agents may have roles on the hub, beside the cluster's namespace and the add-on's own.
    pub hub_namespaces: HubNamespaces,
    /// Signers that only certain add-ons may have.
    pub reserved_signers: ReservedSigners,
    /// The keys by which replicas recognise what one of them has written into an object.
    pub keys: Arc<Keys>,
}

/// What is wrong with a policy that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTrouble {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// Where it stands, such as `spec.validations[0].expression`.
    pub path: Path,
    /// What is wrong.
    pub words: String,
    /// The line and the column in the expression, where it is one.
    pub letter: Option<(usize, usize)>,
}

impl Rulebook {
    /// Returns this rulebook with only those policies that look at something in which two versions of an object differ.
    pub(super) fn for_the_difference(&self, object: &Value, old: &Value) -> Self {
        Self {
            policies: self.policies.that_see_a_difference(object, old),
            ..self.clone()
        }
    }

    /// Returns this rulebook with no policies: for policies themselves. One that refuses its own repair could only be deleted.
    pub(super) fn without_policies(&self) -> Self {
        Self {
            policies: PolicySet::default(),
            ..self.clone()
        }
    }

    /// Returns this rulebook with the policies of a hub beside its own, and what is wrong with those that do not compile. `objects`
    /// are those that params may be found in.
    pub fn with_policies(&self, documents: &[Value], objects: &[Value]) -> (Self, Vec<PolicyTrouble>) {
        let loaded = self.policies.beside(documents, objects);
        let rulebook = Self {
            policies: loaded.set,
            ..self.clone()
        };
        let troubles = loaded.reports.into_iter().flat_map(|report| {
            let (kind, name) = (report.kind, report.name);
            report.faults.into_iter().map(move |fault| PolicyTrouble {
                kind,
                name: name.clone(),
                words: fault.message,
                letter: fault.caret.as_ref().map(|caret| (caret.line, caret.column)),
                path: fault.path,
            })
        });
        (rulebook, troubles.collect())
    }
}
