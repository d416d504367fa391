//! How an answer differs from the recorded one.
//!
//! Decides which parts are compared, as section 5 of the data's README says.

use serde_json::{Value, json};

use crate::{
    answer::Normal,
    compare::{self, Bindings, Difference},
    scenario::{Compare, Step},
};

/// Lists how an answer differs from what the step expects.
pub(crate) fn differences(step: &Step, found: &Normal, bindings: &mut Bindings) -> Vec<Difference> {
    let expect = &step.expect;
    let mut list = Vec::new();
    let mut check = |path: &str, recorded: &Value, found: &Value, bindings: &mut Bindings| {
        list.extend(compare::differences(path, recorded, found, bindings));
    };
    if let Some(status) = expect.status {
        check("status", &json!(status), &json!(found.status), bindings);
    }
    if let Some(content_type) = &expect.content_type {
        check(
            "contentType",
            &json!(content_type),
            &json!(found.content_type),
            bindings,
        );
    }
    list.extend(body_differences(step, found, bindings));
    let mut check = |path: &str, recorded: &Value, found: &Value, bindings: &mut Bindings| {
        list.extend(compare::differences(path, recorded, found, bindings));
    };
    if expect.status.is_some() {
        check(
            "warnings",
            &json!(expect.warnings),
            &json!(found.warnings),
            bindings,
        );
    }
    for (name, recorded) in &expect.headers {
        let value = found
            .headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned());
        check(&format!("headers.{name}"), recorded, &json!(value), bindings);
    }
    if let Some(events) = &expect.events {
        check("events", &json!(events), &json!(found.events), bindings);
    }
    if let Some(closed) = expect.closed {
        check("closed", &json!(closed), &json!(found.closed), bindings);
    }
    if let Some(calls) = &expect.webhook_calls {
        check("webhookCalls", &json!(calls), &json!(found.calls), bindings);
    }
    list
}

fn body_differences(step: &Step, found: &Normal, bindings: &mut Bindings) -> Vec<Difference> {
    let body = found.json.clone().unwrap_or_default();
    match step.compare {
        Compare::Status | Compare::None => Vec::new(),
        Compare::Present => {
            let missing = step
                .expect
                .present
                .iter()
                .filter(|pointer| body.pointer(pointer).is_none());
            missing
                .map(|pointer| difference(&format!("body{pointer}"), "something", "nothing"))
                .collect()
        }
        Compare::Values => {
            let compared = step.expect.values.iter();
            compared
                .flat_map(|(pointer, recorded)| value_differences(pointer, recorded, &body, bindings))
                .collect()
        }
        Compare::Exact => exact_differences(step, found, bindings),
    }
}

fn exact_differences(step: &Step, found: &Normal, bindings: &mut Bindings) -> Vec<Difference> {
    if let Some(text) = &step.expect.body_text {
        let body = found
            .text
            .clone()
            .or_else(|| found.json.as_ref().map(Value::to_string))
            .unwrap_or_default();
        return compare::text_difference("bodyText", text, &body, bindings)
            .into_iter()
            .collect();
    }
    let Some(recorded) = &step.expect.body else {
        return Vec::new();
    };
    match &found.json {
        Some(body) => compare::differences("body", recorded, body, bindings),
        None => vec![difference(
            "body",
            &recorded.to_string(),
            &format!("text {:?}", found.text),
        )],
    }
}

fn value_differences(
    pointer: &str,
    recorded: &Value,
    body: &Value,
    bindings: &mut Bindings,
) -> Vec<Difference> {
    let path = format!("body{pointer}");
    match (body.pointer(pointer), recorded == &json!({ "$absent": true })) {
        (None, true) => Vec::new(),
        (Some(value), true) => vec![difference(&path, "nothing", &value.to_string())],
        (None, false) => vec![difference(&path, &recorded.to_string(), "nothing")],
        (Some(value), false) => compare::differences(&path, recorded, value, bindings),
    }
}

fn difference(path: &str, expected: &str, found: &str) -> Difference {
    Difference {
        path: path.to_owned(),
        expected: expected.to_owned(),
        found: found.to_owned(),
    }
}

/// The difference of a step to which there was no answer.
pub(crate) fn failed(cause: String) -> Difference {
    Difference {
        path: "request".to_owned(),
        expected: "an answer".to_owned(),
        found: cause,
    }
}

/// The difference of two versions that come in the wrong order.
pub(crate) fn out_of_order(first: &(String, u64), second: &(String, u64)) -> Difference {
    let expected = format!("{} < {}", first.0, second.0);
    let found = format!("{} and {}", first.1, second.1);
    Difference {
        path: "resourceVersion".to_owned(),
        expected,
        found,
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderMap;
    use serde_json::{Value, json};

    use super::differences;
    use crate::{
        answer::{Found, normalise},
        compare::Bindings,
        scenario::{self, Compare, Options, Scenario, Step},
        symbols::Symbols,
        wire::Reply,
    };

    fn step(value: Value) -> Step {
        serde_json::from_value(value).expect("a step")
    }

    fn reply(status: u16, content_type: &str, body: &str) -> Found {
        let mut headers = HeaderMap::new();
        headers.insert("content-type", content_type.parse().expect("a header"));
        Found::from_reply(Reply {
            status,
            headers,
            body: body.as_bytes().to_vec(),
        })
    }

    #[track_caller]
    fn check(step: &Step, found: Found, expected: &[&str]) {
        let normal = normalise(
            step,
            found,
            None,
            &mut Symbols::new(Vec::new(), Options::default()),
        );
        let paths: Vec<String> = differences(step, &normal, &mut Bindings::default())
            .into_iter()
            .map(|it| it.path)
            .collect();
        assert_eq!(paths, expected);
    }

    #[test]
    fn compares_what_a_step_expects() {
        let exact = step(
            json!({ "id": "a", "verb": "GET", "expect": { "status": 200, "contentType": "application/json",
            "body": { "a": 1, "metadata": { "resourceVersion": "$rv1" } } } }),
        );
        let body = r#"{"a":1,"metadata":{"resourceVersion":"9"}}"#;
        check(&exact, reply(200, "application/json", body), &[]);
        check(&exact, reply(201, "text/plain", body), &["status", "contentType"]);
        check(
            &exact,
            reply(200, "application/json", r#"{"a":2}"#),
            &["body.a", "body.metadata"],
        );
        check(&exact, reply(200, "application/json", "oops"), &["body"]);
        let values = step(json!({ "id": "a", "verb": "GET", "compare": "values",
            "expect": { "values": { "/a": 1, "/b": { "$absent": true } } } }));
        check(&values, reply(200, "application/json", r#"{"a":1}"#), &[]);
        check(
            &values,
            reply(200, "application/json", r#"{"a":2,"b":3}"#),
            &["body/a", "body/b"],
        );
        let present =
            step(json!({ "id": "a", "verb": "GET", "compare": "present", "expect": { "present": ["/a"] } }));
        check(&present, reply(200, "application/json", "{}"), &["body/a"]);
    }

    #[test]
    fn notices_a_warning_that_was_not_recorded() {
        let quiet =
            step(json!({ "id": "a", "verb": "GET", "compare": "status", "expect": { "status": 200 } }));
        let mut found = reply(200, "application/json", "{}");
        found
            .headers
            .append("warning", r#"299 - "so \"so\"""#.parse().expect("a header"));
        check(&quiet, found, &["warnings"]);
    }

    /// Compares recorded answers with themselves and with a change; returns how many were changed.
    fn check_recorded(scenario: &Scenario) -> usize {
        let mut symbols = Symbols::new(Vec::new(), scenario.header.options);
        let mut bindings = Bindings::default();
        let mut checked = 0;
        for step in &scenario.steps {
            let parts = step.pick.is_some() || step.at.is_some() || !step.ignore.is_empty();
            let whole = step.compare == Compare::Exact && !parts;
            let Some(body) = step.expect.body.as_ref().filter(|_| whole && !step.is_unstable()) else {
                continue;
            };
            let found = |body: &Value| Found {
                json: Some(body.clone()),
                ..Found::default()
            };
            let normal = normalise(step, found(body), step.body.as_ref(), &mut symbols);
            let differs = super::body_differences(step, &normal, &mut bindings);
            assert!(differs.is_empty(), "{}: {differs:?}", step.id);
            let mut changed = body.clone();
            if changed.get("apiVersion").is_none() {
                continue;
            }
            changed["apiVersion"] = json!("x/v0");
            let normal = normalise(step, found(&changed), None, &mut symbols);
            let differs = super::body_differences(step, &normal, &mut bindings.clone());
            assert!(!differs.is_empty(), "{}", step.id);
            checked += 1;
        }
        checked
    }

    #[test]
    fn a_recorded_answer_equals_itself_and_any_changed_one_differs() {
        let checked: usize = scenario::all().iter().map(check_recorded).sum();
        assert!(checked > 1000, "only {checked} answers were checked");
    }
}
