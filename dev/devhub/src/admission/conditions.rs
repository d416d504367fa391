//! CEL `matchConditions` of a webhook.
//!
//! Decides whether a matching request is really sent to the hook.

use cel_engine::admission_policy::{FailurePolicy, Variables};
use cel_engine::{Activation, Program};
use serde_json::Value;

use super::attributes::Attributes;
use super::authority;

/// Units that one condition may spend.
const UNITS: u64 = 1_000_000;

/// One compiled condition. An expression that does not compile fails whenever it is asked.
#[derive(Debug)]
pub(super) struct Condition {
    expression: String,
    program: Result<Program, String>,
}

/// What the conditions may look at.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionContext<'a> {
    pub(super) object: &'a Value,
    pub(super) old_object: &'a Value,
    pub(super) request: &'a Value,
    /// The request itself, for `authorizer`, which is not bound without it.
    pub(super) attributes: Option<&'a Attributes>,
}

impl Condition {
    /// Compiles `expression`.
    pub(super) fn new(expression: &str) -> Self {
        Self {
            expression: expression.to_owned(),
            program: Program::compile(expression),
        }
    }

    fn holds(&self, context: ConditionContext<'_>) -> Result<bool, String> {
        let program = self
            .program
            .as_ref()
            .map_err(|cause| format!("compilation error: {cause}"))?;
        let mut activation = Activation::new(UNITS);
        let variables = Variables {
            object: context.object,
            old_object: context.old_object,
            request: context.request,
            namespace: None,
        };
        variables.bind(&mut activation);
        if let Some(attributes) = context.attributes.filter(|_| program.reads("authorizer")) {
            authority::admit(&mut activation, attributes);
        }
        let expression = &self.expression;
        match activation.answer(program) {
            Ok(answer) => answer
                .as_bool()
                .ok_or_else(|| format!("expression '{expression}' evaluated to a non-bool value")),
            Err(failure) => {
                let cause = failure.words();
                Err(format!("expression '{expression}' resulted in error: {cause}"))
            }
        }
    }
}

/// Tells whether all conditions hold; of an error the failure policy says whether the hook is skipped or the request refused with
/// the error's text.
pub(super) fn all_hold(
    conditions: &[Condition],
    context: ConditionContext<'_>,
    policy: FailurePolicy,
) -> Result<bool, String> {
    let held =
        cel_engine::admission_policy::all_hold(conditions.iter().map(|condition| condition.holds(context)));
    or_fail(held, policy)
}

/// Returns what errors of conditions come to.
pub(super) fn or_fail(held: Result<bool, Vec<String>>, policy: FailurePolicy) -> Result<bool, String> {
    held.or_else(|errors| match (policy, errors.as_slice()) {
        (FailurePolicy::Ignore, _) => Ok(false),
        (FailurePolicy::Fail, [one]) => Err(one.clone()),
        (FailurePolicy::Fail, many) => Err(format!("[{}]", many.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{Condition, ConditionContext, all_hold};
    use cel_engine::admission_policy::FailurePolicy;

    #[track_caller]
    fn check(expressions: &[&str], policy: FailurePolicy, expected: Result<bool, &str>) {
        let conditions: Vec<Condition> = expressions.iter().map(|text| Condition::new(text)).collect();
        let object = json!({ "spec": { "size": 5 } });
        let request = json!({ "operation": "CREATE", "userInfo": { "username": "admin" } });
        let context = ConditionContext {
            object: &object,
            old_object: &Value::Null,
            request: &request,
            attributes: None,
        };
        assert_eq!(
            all_hold(&conditions, context, policy),
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
