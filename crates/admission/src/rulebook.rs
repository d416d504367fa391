//! The configuration of the gate: enforcement settings, policies and other flags. The default is every built-in rule with its default
//! action, and nothing else.

use super::enforcement::Enforcement;
use super::subject::BlastRadius;
use crate::policy::PolicySet;
use api::hash::Keys;
use kubernetes::field::Path;
use model::{HubNamespaces, ReservedSigners};
use serde_json::Value;
use std::sync::Arc;

/// The configuration of the gate by the operator.
#[derive(Clone, Debug, Default)]
pub struct Rulebook {
    /// The actions of findings.
    pub enforcement: Enforcement,
    /// The policies of users.
    pub policies: PolicySet,
    /// The share of an add-on's clusters above which an edit warns.
    pub blast_radius: BlastRadius,
    /// The namespaces in which agents can have roles on the hub, besides those of their cluster and their add-on.
    pub hub_namespaces: HubNamespaces,
    /// Signers that only certain add-ons can use.
    pub reserved_signers: ReservedSigners,
    /// The keys with which replicas verify the records that one of them has written into an object.
    pub keys: Arc<Keys>,
}

/// A fault of a policy that does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyTrouble {
    /// Its kind.
    pub kind: &'static str,
    /// Its name.
    pub name: String,
    /// The path of the field, such as `spec.validations[0].expression`.
    pub path: Path,
    /// What is wrong.
    pub words: String,
    /// The line and the column in the expression, if it is a fault of an expression.
    pub letter: Option<(usize, usize)>,
}

impl Rulebook {
    /// Returns this rulebook with only those policies that read something in which two versions of an object differ.
    pub(super) fn for_the_difference(&self, object: &Value, old: &Value) -> Self {
        Self {
            policies: self.policies.that_see_a_difference(object, old),
            ..self.clone()
        }
    }

    /// Returns this rulebook without policies, for checking policies: a policy that refuses its own fix could only be deleted.
    pub(super) fn without_policies(&self) -> Self {
        Self {
            policies: PolicySet::default(),
            ..self.clone()
        }
    }

    /// Returns this rulebook with the policies of a hub added, and the faults of those that do not compile. `objects` are those in which
    /// params are searched.
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
