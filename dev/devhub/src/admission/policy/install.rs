//! Policies and their bindings, read once and kept ready.
//!
//! Decides the order of policies and bindings, both by name, and that a policy without a binding does nothing.

use std::collections::BTreeMap;

use cel_engine::Program;
use cel_engine::admission_policy::{FailurePolicy, MatchResources, Validation};
use serde::Deserialize;
use serde_json::Value;

use super::spec::{BindingSpec, ParamKind, PolicySpec};

/// All policies of the hub that are bound.
#[derive(Debug, Default)]
pub struct Policies {
    pub(super) list: Vec<Policy>,
}

/// One policy with its bindings.
#[derive(Debug)]
pub(super) struct Policy {
    pub(super) name: String,
    pub(super) on_failure: FailurePolicy,
    pub(super) param_kind: Option<ParamKind>,
    pub(super) constraints: MatchResources,
    pub(super) conditions: Vec<Expression>,
    pub(super) variables: Vec<(String, Program)>,
    /// Checks, and the reasons of their refusals.
    pub(super) validations: Vec<(Validation<Expression>, Option<String>)>,
    pub(super) annotations: Vec<(String, Expression)>,
    pub(super) bindings: Vec<Binding>,
}

/// A binding of a policy.
#[derive(Debug)]
pub(super) struct Binding {
    pub(super) name: String,
    pub(super) spec: BindingSpec,
}

/// An expression as written and as compiled. One that does not compile fails whenever it is asked.
#[derive(Debug)]
pub(super) struct Expression {
    pub(super) source: String,
    pub(super) program: Result<Program, String>,
}

impl Expression {
    fn new(source: &str) -> Self {
        Self {
            source: source.to_owned(),
            program: Program::compile(source),
        }
    }
}

impl Policies {
    /// Reads stored objects. What cannot be read is left out with a log line: the API refuses such objects.
    pub fn from_objects(policies: &[Value], bindings: &[Value]) -> Self {
        let mut bound: BTreeMap<String, Vec<Binding>> = BTreeMap::new();
        for (name, spec) in read::<BindingSpec>(bindings) {
            let policy = bound.entry(spec.policy_name.clone()).or_default();
            policy.push(Binding { name, spec });
        }
        let read = read::<PolicySpec>(policies);
        let list = read.into_iter().filter_map(|(name, spec)| {
            let bindings = bound.remove(&name)?;
            Some(Policy::new(name, spec, bindings))
        });
        Self { list: list.collect() }
    }

    /// Tells whether there is no policy that is bound.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

/// Returns the readable ones by name.
fn read<S: for<'d> Deserialize<'d>>(objects: &[Value]) -> BTreeMap<String, S> {
    let mut found = BTreeMap::new();
    for object in objects {
        let name = object
            .pointer("/metadata/name")
            .and_then(Value::as_str)
            .unwrap_or_default();
        match S::deserialize(object.get("spec").unwrap_or(&Value::Null)) {
            Ok(spec) => drop(found.insert(name.to_owned(), spec)),
            Err(cause) => tracing::warn!(name, %cause, "policy or binding left out, it cannot be read"),
        }
    }
    found
}

impl Policy {
    fn new(name: String, spec: PolicySpec, bindings: Vec<Binding>) -> Self {
        // A variable that does not compile is as if it were not there: who reads it fails.
        let variables = spec.variables.into_iter().filter_map(|variable| {
            let program = Program::compile(&variable.expression).ok()?;
            Some((variable.name, program))
        });
        let validations = spec.validations.into_iter().map(|validation| {
            let message_expression = Some(validation.message_expression).filter(|source| !source.is_empty());
            let read = Validation {
                expression: Expression::new(&validation.expression),
                message: validation.message.trim().to_owned(),
                message_expression: message_expression.map(|source| Expression::new(&source)),
            };
            (read, validation.reason)
        });
        let annotations = spec.audit_annotations.into_iter();
        let conditions = spec.match_conditions.iter();
        Self {
            name,
            on_failure: spec.failure_policy.unwrap_or(FailurePolicy::Fail),
            param_kind: spec.param_kind,
            constraints: spec.match_constraints.unwrap_or_default(),
            conditions: conditions
                .map(|condition| Expression::new(condition.expression.trim()))
                .collect(),
            variables: variables.collect(),
            validations: validations.collect(),
            annotations: annotations
                .map(|note| (note.key, Expression::new(note.value_expression.trim())))
                .collect(),
            bindings,
        }
    }
}
