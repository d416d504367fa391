//! Expressions of a policy that is about to be stored.
//!
//! Decides which expressions are refused; the form of the policy is a matter of the built-in kinds.

use schema::{ErrorClass, FieldError};
use serde_json::Value;

use super::expression_check::{Environment, ResultType, fault};

/// Bytes that an expression of an audit annotation may have.
const LONGEST_ANNOTATION: usize = 5 * 1024;

/// Returns the faults of all expressions of a policy.
pub fn policy_faults(policy: &Value) -> Vec<FieldError> {
    let mut check = Check {
        params: policy
            .pointer("/spec/paramKind")
            .is_some_and(|kind| !kind.is_null()),
        declared: Vec::new(),
        faults: Vec::new(),
    };
    for (index, condition) in items(policy, "matchConditions") {
        let field = format!("spec.matchConditions[{index}].expression");
        let text = text(condition, "expression").trim();
        // Conditions come before the variables.
        check.expression(&field, text, (true, ResultType::Bool));
    }
    for (index, variable) in items(policy, "variables") {
        let field = format!("spec.variables[{index}].expression");
        check.expression(&field, text(variable, "expression"), (true, ResultType::Any));
        check.declared.push(text(variable, "name"));
    }
    for (index, validation) in items(policy, "validations") {
        let field = format!("spec.validations[{index}]");
        check.expression(
            &format!("{field}.expression"),
            text(validation, "expression"),
            (true, ResultType::Bool),
        );
        check.expression(
            &format!("{field}.messageExpression"),
            text(validation, "messageExpression"),
            (false, ResultType::Text),
        );
    }
    for (index, annotation) in items(policy, "auditAnnotations") {
        let field = format!("spec.auditAnnotations[{index}].valueExpression");
        let text = text(annotation, "valueExpression").trim();
        if text.len() <= LONGEST_ANNOTATION {
            check.expression(&field, text, (true, ResultType::TextOrNull));
        }
    }
    check.faults
}

struct Check<'a> {
    params: bool,
    /// Variables so far.
    declared: Vec<&'a str>,
    faults: Vec<FieldError>,
}

impl Check<'_> {
    /// Checks an expression; an absent one is refused elsewhere.
    fn expression(&mut self, field: &str, source: &str, (authorizer, wanted): (bool, ResultType)) {
        if source.trim().is_empty() {
            return;
        }
        let environment = Environment {
            params: self.params,
            authorizer,
            variables: &self.declared,
        };
        if let Some(cause) = fault(source, environment, wanted) {
            let value = Value::from(source);
            self.faults.push(FieldError {
                field: field.to_owned(),
                class: ErrorClass::Invalid,
                message: format!("Invalid value: {value}: {cause}"),
            });
        }
    }
}

fn items<'a>(policy: &'a Value, list: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    let list = policy.pointer(&format!("/spec/{list}")).and_then(Value::as_array);
    list.into_iter().flatten().enumerate()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_expression_is_judged_where_it_stands() {
        let policy = json!({ "spec": {
            "matchConditions": [{ "name": "a", "expression": "params.x" }],
            "variables": [{ "name": "one", "expression": "variables.two" }, { "name": "two", "expression": "variables.one" }],
            "validations": [{ "expression": "'x'", "messageExpression": "authorizer" }, { "expression": "variables.two == 1" }],
            "auditAnnotations": [{ "key": "k", "valueExpression": "1" }],
        } });
        let fields: Vec<String> = policy_faults(&policy)
            .into_iter()
            .map(|fault| fault.field)
            .collect();
        assert_eq!(
            fields,
            [
                "spec.matchConditions[0].expression",
                "spec.variables[0].expression",
                "spec.validations[0].expression",
                "spec.validations[0].messageExpression",
                "spec.auditAnnotations[0].valueExpression",
            ]
        );
        let mut with_params = policy;
        with_params["spec"]["paramKind"] = json!({ "apiVersion": "v1", "kind": "ConfigMap" });
        assert_eq!(policy_faults(&with_params).len(), 4);
    }
}
