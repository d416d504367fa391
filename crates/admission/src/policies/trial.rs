//! Runs only policies, on an object of any kind, for tests and benchmarks of policies.
//!
//! Mutations, validations and the ratchet are the same as in the gate; built-in rules do not run.

use std::collections::BTreeMap;

use json_patch::Patch;
use serde_json::Value;

use super::stage::{PolicyAttributes, with_a_name};
use crate::enforcement::Scope;
use crate::policy::{EvaluatedValidation, Finding};
use crate::ratchet;
use crate::request::{Operation, Request};
use crate::rulebook::Rulebook;
use crate::shape;
use kubernetes::field::Findings;
use store::Facts;

/// The results of policies for an object.
#[derive(Clone, Debug, Default)]
pub struct Trial {
    /// The object after the mutations.
    pub object: Value,
    /// The patch of the mutations.
    pub patch: Patch,
    /// The findings, with old faults as warnings.
    pub findings: Findings,
    /// The single findings.
    pub each: Vec<Finding>,
    /// The audit annotations.
    pub annotations: BTreeMap<String, String>,
    /// Every validation that was evaluated.
    pub seen: Vec<EvaluatedValidation>,
}

/// Evaluates the policies of a rulebook for an object, or for a deletion if that is the operation.
pub fn try_policies(
    request: &Request<'_>,
    object: &Value,
    old: Option<&Value>,
    facts: &Facts,
    rulebook: &Rulebook,
) -> Trial {
    let written = object.pointer("/metadata/name").and_then(Value::as_str);
    let asked = PolicyAttributes {
        request,
        name: if request.name.is_empty() {
            written.unwrap_or_default()
        } else {
            request.name
        },
        facts,
        rulebook,
        scope: Scope {
            addon: None,
            namespace: request.namespace,
        },
    };
    let policies = &rulebook.policies;
    // The API server applies the defaults of a CRD before it calls a webhook.
    let defaulted = |document: &Value| {
        let mut document = document.clone();
        if let Some(shape) = shape::of(request) {
            shape.apply_defaults(&mut document);
        }
        document
    };
    let (object, old) = (&defaulted(object), old.map(defaulted));
    let old = old.as_ref();
    if request.operation == Operation::Delete {
        return parting(&asked, old.unwrap_or(object));
    }
    let added = asked.ask(Some(object), old, |question| policies.mutate(question));
    let mut object = object.clone();
    // They were created for this object.
    let _fits = json_patch::patch(&mut object, &added.patch);
    let named = with_a_name(&object);
    let name = named.as_ref().and_then(|named| named.pointer("/metadata/name"));
    let asked = PolicyAttributes {
        name: name.and_then(Value::as_str).unwrap_or(asked.name),
        ..asked
    };
    let outcome = asked.validate(policies, (Some(named.as_ref().unwrap_or(&object)), old));
    let mut each = added.findings;
    each.extend(outcome.findings);
    let mut findings = asked.collected(&each);
    if let Some(old) = old.filter(|_| !findings.allows()) {
        let was = asked.validate(policies, (Some(old), Some(old)));
        findings = ratchet::soften(findings, &object, &asked.collected(&was.findings), old);
        if ratchet::only_keepers_differ(&object, old) {
            findings = ratchet::soften_unnamed(findings, policies);
        }
    }
    Trial {
        object,
        patch: added.patch,
        findings: findings.settled(),
        each,
        annotations: outcome.annotations,
        seen: outcome.seen,
    }
}

/// Evaluates policies for a deletion: nothing is added, and there are no old faults.
fn parting(asked: &PolicyAttributes<'_>, stored: &Value) -> Trial {
    let outcome = asked.validate(&asked.rulebook.policies, (None, Some(stored)));
    Trial {
        object: stored.clone(),
        patch: Patch::default(),
        findings: asked.collected(&outcome.findings).settled(),
        each: outcome.findings,
        annotations: outcome.annotations,
        seen: outcome.seen,
    }
}
