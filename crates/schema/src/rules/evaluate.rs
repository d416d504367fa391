//! Evaluates the rules of a schema over a value.
//!
//! Decides which rules apply where, what a violation says, and when it is only a warning. An expression that fails
//! to evaluate is a violation: nothing passes because a rule broke.

use super::rule::{Member, Rule};
use super::scope::{Place, Scope};
use super::typing::is_typed;
use crate::correlate::{ByKey, unchanged};
use crate::error::{ErrorClass, FieldError};
use crate::fault;
use crate::node::{Flags, Kind, Node};
use crate::path::Path;
use cel_engine::Stop;
use cel_engine::{Budget, EvalError};
use serde_json::Value;

/// Units for all rules of one object. A unit is about one step of the evaluator, well below a microsecond.
const OBJECT_UNITS: u64 = 5_000_000;

/// What rules found.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pub(crate) errors: Vec<FieldError>,
    pub(crate) warnings: Vec<String>,
}

/// The old counterpart of a value.
#[derive(Clone, Copy)]
struct Old<'a> {
    /// The value that rules see as `oldSelf`.
    value: Option<&'a Value>,
    /// The nearest part of the object that has a counterpart: its schema, new and old value.
    pair: Option<(&'a Node, &'a Value, &'a Value)>,
}

impl Old<'_> {
    /// Tells whether the value is in a part of the object that did not change.
    fn is_same(&self) -> bool {
        self.pair
            .is_some_and(|(node, new, old)| unchanged(node, new, old))
    }
}

/// Evaluates all rules below `node`.
pub(crate) fn check(root: &Node, value: &Value, old: Option<&Value>, stop: &Stop, out: &mut Findings) {
    let mut walk = Walk {
        budget: Budget::until(OBJECT_UNITS, stop),
        out,
    };
    let old = Old {
        value: old,
        pair: old.map(|old| (root, value, old)),
    };
    walk.rules_here(root, value, old, Place::Root, &Path::root(""));
    walk.parts(root, value, old, &Path::root(""));
}

/// Evaluates all rules of a default and below it, as if `old` had stood there; nothing is tolerated.
pub(crate) fn check_default(
    node: &Node,
    value: &Value,
    old: Option<&Value>,
    path: &Path<'_>,
    out: &mut Findings,
) {
    let mut walk = Walk {
        budget: Budget::until(OBJECT_UNITS, &Stop::never()),
        out,
    };
    let old = Old {
        value: old,
        pair: None,
    };
    walk.rules_here(node, value, old, Place::Below, path);
    walk.parts(node, value, old, path);
}

struct Walk<'o> {
    budget: Budget,
    out: &'o mut Findings,
}

impl Walk<'_> {
    fn parts(&mut self, node: &Node, value: &Value, old: Old<'_>, path: &Path<'_>) {
        match value {
            Value::Object(members) => {
                let olds = old.value.and_then(Value::as_object);
                for (name, member) in members {
                    let (schema, here) = match node.properties.get(name) {
                        Some(schema) => (schema, path.child(name)),
                        None => match node.additional_schema() {
                            Some(schema) => (schema, path.key(name)),
                            None => continue,
                        },
                    };
                    let counterpart = olds.and_then(|olds| olds.get(name));
                    let comparable = !node.is(Flags::ATOMIC_MAP);
                    self.part(
                        schema,
                        member,
                        below(schema, member, old, counterpart, comparable),
                        &here,
                    );
                }
            }
            Value::Array(items) => {
                let Some(schema) = node
                    .items
                    .as_deref()
                    .filter(|schema| schema.is(Flags::RULES_WITHIN))
                else {
                    return;
                };
                let olds = old
                    .value
                    .and_then(Value::as_array)
                    .map(|olds| ByKey::new(node, olds));
                for (at, item) in items.iter().enumerate() {
                    let counterpart = olds.as_ref().and_then(|olds| olds.find(item));
                    self.part(
                        schema,
                        item,
                        below(schema, item, old, counterpart, true),
                        &path.index(at),
                    );
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }

    fn part(&mut self, node: &Node, value: &Value, old: Old<'_>, path: &Path<'_>) {
        if !node.is(Flags::RULES_WITHIN) || value.is_null() || !is_typed(node) {
            return;
        }
        self.rules_here(node, value, old, Place::Below, path);
        self.parts(node, value, old, path);
    }

    fn rules_here(&mut self, node: &Node, value: &Value, old: Old<'_>, place: Place, path: &Path<'_>) {
        for words in &node.rules.broken {
            let detail = format!("rule compile error: {words}");
            self.out.errors.push(fault_of_rule(node, &detail, path));
        }
        if node.rules.list.is_empty() {
            return;
        }
        let scope = Scope::new(node, value, old.value, place, &self.budget);
        for rule in &node.rules.list {
            if self.budget.is_spent() {
                return;
            }
            if rule.reads_old && old.value.is_none() && !rule.optional_old {
                continue;
            }
            match judge(rule, value, &scope, path) {
                Ok(None) => {}
                Ok(Some(fault)) if !rule.reads_old && old.is_same() => {
                    self.out.warnings.push(fault.to_string());
                }
                Ok(Some(fault)) => self.out.errors.push(fault),
                // A rule that breaks is tolerated nowhere.
                Err(error) => self.out.errors.push(broken(rule, node, &error, path)),
            }
        }
    }
}

/// Finds the old counterpart of a part. A part without one is as unchanged as the nearest part around it that has one.
fn below<'a>(
    schema: &'a Node,
    value: &'a Value,
    around: Old<'a>,
    counterpart: Option<&'a Value>,
    comparable: bool,
) -> Old<'a> {
    let pair = counterpart.map(|old| (schema, value, old)).or(around.pair);
    Old {
        value: counterpart.filter(|_| comparable),
        pair,
    }
}

fn judge(
    rule: &Rule,
    value: &Value,
    scope: &Scope<'_>,
    path: &Path<'_>,
) -> Result<Option<FieldError>, EvalError> {
    if scope.holds(&rule.program, rule.optional_old)? {
        return Ok(None);
    }
    let told = rule
        .message_expression
        .as_ref()
        .and_then(|told| scope.message(told, rule.optional_old));
    let detail = told.unwrap_or_else(|| rule.fixed_message());
    Ok(Some(violation(rule, value, &detail, path)))
}

fn violation(rule: &Rule, value: &Value, detail: &str, path: &Path<'_>) -> FieldError {
    with_field_path(path, &rule.field_path, &|at| match rule.class {
        ErrorClass::Required => fault::required(at, detail),
        ErrorClass::Forbidden => fault::forbidden(at, detail),
        ErrorClass::Duplicate if value.is_object() || value.is_array() => fault::duplicate_omitting(at),
        ErrorClass::Duplicate => fault::duplicate(at, value),
        ErrorClass::Invalid
        | ErrorClass::TypeInvalid
        | ErrorClass::NotSupported
        | ErrorClass::NotFound
        | ErrorClass::TooLong
        | ErrorClass::TooMany
        | ErrorClass::Internal => {
            if value.is_object() || value.is_array() {
                fault::invalid_omitting(at, detail)
            } else {
                fault::invalid(at, value, detail)
            }
        }
    })
}

fn with_field_path(path: &Path<'_>, rest: &[Member], make: &dyn Fn(&Path<'_>) -> FieldError) -> FieldError {
    match rest {
        [] => make(path),
        [Member::Field(name), rest @ ..] => with_field_path(&path.child(name), rest, make),
        [Member::Key(key), rest @ ..] => with_field_path(&path.key(key), rest, make),
    }
}

/// Words a rule that could not be evaluated. The value is the schema's type, as in Kubernetes.
fn broken(rule: &Rule, node: &Node, error: &EvalError, path: &Path<'_>) -> FieldError {
    let detail = match error {
        EvalError::NoOverload(words) => format!(
            "'{words}': call arguments did not match a supported operator, function or macro signature for rule: {}",
            rule.label()
        ),
        EvalError::BudgetSpent => format!(
            "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call \
             cost exceeds limit for rule: {}",
            rule.label()
        ),
        EvalError::Stopped => format!(
            "'{}': no further validation rules will be run for rule: {}",
            error.words(),
            rule.label()
        ),
        EvalError::Failed(words) => format!("{words} evaluating rule: {}", rule.label()),
    };
    fault_of_rule(node, &detail, path)
}

/// Reports a fault of a rule; the value is the schema's type.
fn fault_of_rule(node: &Node, detail: &str, path: &Path<'_>) -> FieldError {
    let kind = match node.kind {
        Kind::IntOrString | Kind::Any => "",
        Kind::Object | Kind::Array | Kind::String | Kind::Integer | Kind::Number | Kind::Boolean => {
            node.kind.name()
        }
    };
    fault::invalid_printed(path, &kubernetes::print::quote(kind), detail)
}
