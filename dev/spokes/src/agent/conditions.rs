//! Conditions that a work derives from its manifests: what is well known of a kind, or CEL. What the agent finds out stands
//! with the manifest; the work has the sum of it.

use cel_engine::{Activation, Program};
use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use crate::wire::{Condition, ConditionRule, ManifestConfig, ManifestStatus, Truth};

/// How many steps the rules of one manifest may take.
const STEPS: u64 = 5_000_000;
/// The reasons of all derived conditions begin like this.
const DERIVED: &str = "ConditionRule";
const AGGREGATED: &str = "ConditionRulesAggregated";
const EVALUATED: &str = "ConditionRuleEvaluated";
const WRONG: &str = "ConditionRuleExpressionError";
const INVALID: &str = "ConditionRuleInvalid";
/// OCM's function for expressions; the engine does not have it.
const HAS_CONDITIONS: &str = "hasConditions(";

/// Puts what the rules say about the object into the list, and takes out what rules said that are no longer there.
pub(super) fn derive(
    object: &Value,
    config: Option<&ManifestConfig>,
    list: &mut Vec<Condition>,
    (generation, now): (i64, Timestamp),
) {
    let rules = config
        .map(|config| config.condition_rules.as_slice())
        .unwrap_or_default();
    for condition in rules.iter().filter_map(|rule| by_rule(object, rule)) {
        condition.observing(generation).merge_into(list, now);
    }
    list.retain(|condition| is_current(condition, generation));
}

/// Puts the sums over all manifests into the list of the work, and takes out what is no longer summed up.
pub(super) fn aggregate(
    manifests: &[ManifestStatus],
    list: &mut Vec<Condition>,
    (generation, now): (i64, Timestamp),
) {
    let all = || manifests.iter().flat_map(|manifest| &manifest.conditions);
    let derived = || all().filter(|condition| is_derived(condition));
    let mut kinds: Vec<&str> = derived().map(|condition| condition.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let said: Vec<_> = derived().filter(|condition| condition.kind == kind).collect();
        let message = match said.as_slice() {
            [one] if !one.message.is_empty() => one.message.clone(),
            many => format!("Aggregated from {} manifest conditions", many.len()),
        };
        let condition = Condition::new(kind, sum(kind, &said), AGGREGATED, message);
        condition.observing(generation).merge_into(list, now);
    }
    list.retain(|condition| is_current(condition, generation));
}

/// One manifest that progresses lets the work progress. Of every other condition one manifest without it is enough for the
/// work not to have it.
fn sum(kind: &str, said: &[&Condition]) -> Truth {
    let any = |truth: Truth| said.iter().any(|condition| condition.status == truth);
    let (first, last) = if kind == "Progressing" {
        (Truth::True, Truth::False)
    } else {
        (Truth::False, Truth::True)
    };
    match (any(first), any(Truth::Unknown)) {
        (true, _) => first,
        (false, true) => Truth::Unknown,
        (false, false) => last,
    }
}

fn is_derived(condition: &Condition) -> bool {
    condition.reason.starts_with(DERIVED)
}

fn is_current(condition: &Condition, generation: i64) -> bool {
    !is_derived(condition) || condition.observed_generation == Some(generation)
}

fn by_rule(object: &Value, rule: &ConditionRule) -> Option<Condition> {
    match rule.kind.as_str() {
        "WellKnownConditions" => well_known(object, rule),
        "CEL" => Some(by_expressions(object, rule)),
        other => {
            let message = format!("unrecognized condition rule type {other}");
            Some(Condition::new(&rule.condition, Truth::Unknown, INVALID, message))
        }
    }
}

/// What is well known: that a job or pod is finished, well or not. Of everything else nothing is.
fn well_known(object: &Value, rule: &ConditionRule) -> Option<Condition> {
    let text = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    if rule.condition != "Complete" {
        return None;
    }
    let (expression, message) = match (text("apiVersion"), text("kind")) {
        ("batch/v1", "Job") => (
            "has(object.status) && has(object.status.conditions) && object.status.conditions.exists(c, \
             (c.type == 'Complete' || c.type == 'Failed') && c.status == 'True')",
            "result ? 'Job is finished' : 'Job is not finished'",
        ),
        ("v1", "Pod") => (
            "object.status.phase in ['Succeeded', 'Failed']",
            "'Pod is in phase ' + object.status.phase",
        ),
        _ => return None,
    };
    let mut rule = rule.clone();
    rule.cel_expressions = vec![expression.to_owned()];
    if rule.message_expression.is_empty() {
        message.clone_into(&mut rule.message_expression);
    }
    Some(by_expressions(object, &rule))
}

fn by_expressions(object: &Value, rule: &ConditionRule) -> Condition {
    let condition = |truth, reason, message: String| Condition::new(&rule.condition, truth, reason, message);
    let results = [Value::Bool(false), Value::Bool(true)];
    let mut stage = Activation::new(STEPS);
    stage.bind("object", object);
    let mut holds = true;
    for expression in &rule.cel_expressions {
        match evaluate(&stage, expression) {
            Ok(Value::Bool(true)) => {}
            Ok(Value::Bool(false)) => {
                holds = false;
                break;
            }
            Ok(_other) => return condition(Truth::False, WRONG, "expected bool result".to_owned()),
            Err(why) => return condition(Truth::False, WRONG, why),
        }
    }
    let [not, yes] = &results;
    let (result, truth) = if holds {
        (yes, Truth::True)
    } else {
        (not, Truth::False)
    };
    stage.bind("result", result);
    condition(truth, EVALUATED, message(&stage, rule, holds))
}

fn message(stage: &Activation<'_, '_>, rule: &ConditionRule, holds: bool) -> String {
    if !rule.message_expression.is_empty() {
        match evaluate(stage, &rule.message_expression) {
            Ok(Value::String(text)) if text.is_empty() => {}
            Ok(Value::String(text)) => return text,
            Ok(_other) => return "expected message expression to have a string result".to_owned(),
            Err(why) => return why,
        }
    }
    match (rule.message.as_str(), holds) {
        ("", true) => format!("Manifest is {}", rule.condition),
        ("", false) => format!("Manifest is not {}", rule.condition),
        (message, _) => message.to_owned(),
    }
}

fn evaluate(stage: &Activation<'_, '_>, expression: &str) -> Result<Value, String> {
    let program = Program::compile(&spelt_out(expression))?;
    stage.eval(&program).map_err(|error| format!("{error:?}"))
}

/// Returns the expression with OCM's function `hasConditions(x)` written as what it means.
fn spelt_out(expression: &str) -> String {
    let mut text = String::new();
    let mut rest = expression;
    while let Some((before, after)) = rest.split_once(HAS_CONDITIONS) {
        text.push_str(before);
        // The argument of the function is a path: it has no brackets of its own.
        let Some((status, after)) = after.split_once(')') else {
            text.push_str(HAS_CONDITIONS);
            rest = after;
            continue;
        };
        text.extend([
            "(has(",
            status,
            ".conditions) && size(",
            status,
            ".conditions) > 0)",
        ]);
        rest = after;
    }
    text.push_str(rest);
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn said(object: &Value, rule: Value) -> String {
        let rule: ConditionRule = serde_json::from_value(rule).expect("a rule in wire form");
        let condition = by_rule(object, &rule);
        condition.map_or_else(
            || "nothing".to_owned(),
            |said| {
                format!(
                    "{}={:?} {}: {}",
                    said.kind, said.status, said.reason, said.message
                )
            },
        )
    }

    fn job(conditions: &Value) -> Value {
        json!({"apiVersion": "batch/v1", "kind": "Job", "status": {"conditions": conditions}})
    }

    #[test]
    fn a_job_is_complete_whether_it_ended_well_or_not() {
        let known = json!({"type": "WellKnownConditions", "condition": "Complete"});
        for (object, wanted) in [
            (
                json!({"apiVersion": "batch/v1", "kind": "Job"}),
                "False ConditionRuleEvaluated: Job is not finished",
            ),
            (
                job(&json!([])),
                "False ConditionRuleEvaluated: Job is not finished",
            ),
            (
                job(&json!([{"type": "Complete", "status": "True"}])),
                "True ConditionRuleEvaluated: Job is finished",
            ),
            (
                job(&json!([{"type": "Failed", "status": "True"}])),
                "True ConditionRuleEvaluated: Job is finished",
            ),
        ] {
            assert_eq!(said(&object, known.clone()), format!("Complete={wanted}"));
        }
        assert_eq!(
            said(&json!({"apiVersion": "v1", "kind": "ConfigMap"}), known),
            "nothing"
        );
    }

    #[test]
    fn expressions_are_evaluated_with_the_object() {
        let object = job(&json!([{"type": "Failed", "status": "True", "message": "no space"}]));
        let failed = "object.status.conditions.exists(c, c.type == 'Failed' && c.status == 'True')";
        let rule = |more: Value| {
            let mut rule = json!({"type": "CEL", "condition": "Degraded", "celExpressions": ["hasConditions(object.status)", failed]});
            json_patch::merge(&mut rule, &more);
            rule
        };
        for (more, wanted) in [
            (json!({}), "True ConditionRuleEvaluated: Manifest is Degraded"),
            (
                json!({"message": "it failed"}),
                "True ConditionRuleEvaluated: it failed",
            ),
            (
                json!({"message": "it failed", "messageExpression": "result ? object.status.conditions[0].message : ''"}),
                "True ConditionRuleEvaluated: no space",
            ),
            (
                json!({"celExpressions": ["1"]}),
                "False ConditionRuleExpressionError: expected bool result",
            ),
        ] {
            assert_eq!(said(&object, rule(more)), format!("Degraded={wanted}"));
        }
        assert_eq!(
            said(&job(&json!([])), rule(json!({}))),
            "Degraded=False ConditionRuleEvaluated: Manifest is not Degraded"
        );
        let broken = said(&object, rule(json!({"celExpressions": ["object.nothing == 1"]})));
        assert!(
            broken.starts_with("Degraded=False ConditionRuleExpressionError: "),
            "{broken}"
        );
        let unread = said(&object, rule(json!({"celExpressions": ["object ="]})));
        assert!(
            unread.starts_with("Degraded=False ConditionRuleExpressionError: "),
            "{unread}"
        );
    }

    #[test]
    fn one_manifest_without_it_is_enough_unless_it_is_progress() {
        for (kind, truths, wanted) in [
            ("Degraded", [Truth::True, Truth::False], Truth::False),
            ("Degraded", [Truth::True, Truth::Unknown], Truth::Unknown),
            ("Degraded", [Truth::True, Truth::True], Truth::True),
            ("Progressing", [Truth::True, Truth::False], Truth::True),
            ("Progressing", [Truth::Unknown, Truth::False], Truth::Unknown),
        ] {
            let conditions = truths.map(|truth| Condition::new(kind, truth, EVALUATED, ""));
            let said: Vec<_> = conditions.iter().collect();
            assert_eq!(sum(kind, &said), wanted, "{kind} {truths:?}");
        }
    }
}
