//! Match conditions of a webhook configuration that is about to be stored.
//!
//! Decides which expressions are refused; the other rules for configurations are those of the built-in kinds.

use schema::{ErrorClass, FieldError};
use serde_json::Value;

use super::expression_check::{self, Environment, ResultType};

/// Returns the faults of all match conditions of a configuration object.
pub fn match_condition_faults(configuration: &Value) -> Vec<FieldError> {
    let mut faults = Vec::new();
    for (hook, webhook) in items(configuration, "webhooks") {
        for (index, condition) in items(webhook, "matchConditions") {
            let expression = condition
                .get("expression")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .trim();
            if let Some(cause) = fault(expression) {
                let value = Value::from(expression);
                faults.push(FieldError {
                    field: format!("webhooks[{hook}].matchConditions[{index}].expression"),
                    class: ErrorClass::Invalid,
                    message: format!("Invalid value: {value}: {cause}"),
                });
            }
        }
    }
    faults
}

fn items<'a>(object: &'a Value, list: &str) -> impl Iterator<Item = (usize, &'a Value)> {
    object
        .get(list)
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .enumerate()
}

fn fault(expression: &str) -> Option<String> {
    if expression.is_empty() {
        return None;
    }
    let environment = Environment {
        params: false,
        authorizer: true,
        variables: &[],
    };
    expression_check::fault(expression, environment, ResultType::Bool)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::match_condition_faults;

    #[track_caller]
    fn check(expression: &str, expected: &[&str]) {
        let condition = json!({ "name": "a", "expression": expression });
        let object =
            json!({ "webhooks": [{}, { "matchConditions": [{ "expression": "true" }, condition] }] });
        let found: Vec<String> = match_condition_faults(&object)
            .iter()
            .map(ToString::to_string)
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn takes_conditions_that_may_be_true_or_false() {
        check("object.spec.size > 1 && request.operation == 'CREATE'", &[]);
        check(
            "authorizer.group('').resource('pods').check('get').allowed()",
            &[],
        );
    }

    #[test]
    fn refuses_conditions_that_are_never_a_bool() {
        let place = "webhooks[1].matchConditions[1].expression";
        check(
            "\"x\"",
            &[&format!(
                "{place}: Invalid value: \"\\\"x\\\"\": must evaluate to bool but got string"
            )],
        );
        check(
            "1 + 1",
            &[&format!(
                "{place}: Invalid value: \"1 + 1\": must evaluate to bool but got int"
            )],
        );
    }

    #[test]
    fn refuses_conditions_that_do_not_compile() {
        let condition = json!({ "name": "a", "expression": "object." });
        let found = match_condition_faults(&json!({ "webhooks": [{ "matchConditions": [condition] }] }));
        let message = found
            .first()
            .map(|fault| fault.message.as_str())
            .unwrap_or_default();
        assert!(
            message.starts_with("Invalid value: \"object.\": compilation failed: ERROR: <input>:1:8: "),
            "{message}"
        );
    }
}
