//! CEL `matchConditions` of a webhook.
//!
//! Decides whether a matching request is really sent to the hook; never calls it.

use schema::cel::Program;
use serde_json::Value;

use super::hook::FailurePolicy;

/// One compiled condition. An expression that does not compile fails whenever it is asked.
#[derive(Debug)]
pub(super) struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// What the conditions may look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Scene<'a> {
    pub(super) object: &'a Value,
    pub(super) old_object: &'a Value,
    pub(super) request: &'a Value,
}

impl Condition {
    /// Compiles `expression`.
    pub(super) fn new(expression: &str) -> Self {
        Self {
            expression: expression.to_owned(),
            program: Program::compile(expression),
        }
    }

    fn holds(&self, scene: Scene<'_>) -> Result<bool, String> {
        let program = self
            .program
            .as_ref()
            .map_err(|cause| format!("compilation error: {cause}"))?;
        let variables = [
            ("object", scene.object),
            ("oldObject", scene.old_object),
            ("request", scene.request),
        ];
        match program.eval(&variables) {
            Ok(Value::Bool(holds)) => Ok(holds),
            Ok(_) => Err(format!(
                "expression '{}' evaluated to a non-bool value",
                self.expression
            )),
            Err(cause) => Err(format!(
                "expression '{}' resulted in error: {cause}",
                self.expression
            )),
        }
    }
}

/// Tells whether all conditions hold. A false one beats any error; an error beats a true one, and then the
/// failure policy says whether the hook is skipped or the request refused with the error's text.
pub(super) fn all_hold(
    conditions: &[Condition],
    scene: Scene<'_>,
    policy: FailurePolicy,
) -> Result<bool, String> {
    let mut errors = Vec::new();
    for condition in conditions {
        match condition.holds(scene) {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(cause) => errors.push(cause),
        }
    }
    match (errors.as_slice(), policy) {
        ([], _) => Ok(true),
        (_, FailurePolicy::Ignore) => Ok(false),
        ([one], FailurePolicy::Fail) => Err(one.clone()),
        (many, FailurePolicy::Fail) => Err(format!("[{}]", many.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Condition, Scene, all_hold};
    use crate::admission::hook::FailurePolicy;

    #[track_caller]
    fn check(expressions: &[&str], policy: FailurePolicy, expected: Result<bool, &str>) {
        let conditions: Vec<Condition> = expressions.iter().map(|text| Condition::new(text)).collect();
        let object = json!({ "spec": { "size": 5 } });
        let request = json!({ "operation": "CREATE", "userInfo": { "username": "admin" } });
        let scene = Scene {
            object: &object,
            old_object: &Value::Null,
            request: &request,
        };
        assert_eq!(
            all_hold(&conditions, scene, policy),
            expected.map_err(str::to_owned)
        );
    }

    #[test]
    fn asks_every_condition_and_lets_false_win() {
        check(&[], FailurePolicy::Fail, Ok(true));
        check(
            &[
                "object.spec.size == 5",
                "request.operation == 'CREATE' && oldObject == null",
            ],
            FailurePolicy::Fail,
            Ok(true),
        );
        check(&["object.spec.size > 5"], FailurePolicy::Fail, Ok(false));
        check(
            &["object.spec.nope == 1", "false"],
            FailurePolicy::Fail,
            Ok(false),
        );
    }

    #[test]
    fn an_error_refuses_or_skips_as_the_failure_policy_says() {
        let text = "expression 'object.spec.nope == 1' resulted in error: no such key: nope";
        check(&["object.spec.nope == 1"], FailurePolicy::Fail, Err(text));
        check(
            &["true", "object.spec.nope == 1"],
            FailurePolicy::Ignore,
            Ok(false),
        );
    }
}
