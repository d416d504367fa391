//! A server's answer to a step: in raw form, in normal form, and how it differs from the recorded one.
//!
//! Decides which parts of an answer are compared, as section 5 of the data's README says.

use http::HeaderMap;
use serde_json::{Value, json};

use crate::{
    compare::{self, Bindings, Difference},
    hook::server::HookCall,
    scenario::{Compare, Pick, Step},
    symbols::{LEFT_OUT, Symbols, leave_out},
    wire::Reply,
};

/// What came back.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) status: Option<u16>,
    pub(crate) headers: HeaderMap,
    /// The body if it is a JSON or YAML document.
    pub(crate) json: Option<Value>,
    /// The body otherwise.
    pub(crate) text: Option<String>,
    pub(crate) events: Vec<Value>,
    pub(crate) closed: bool,
    pub(crate) calls: Vec<HookCall>,
}

impl Found {
    pub(crate) fn from_reply(reply: Reply) -> Self {
        let mut found = Self {
            status: Some(reply.status),
            headers: reply.headers,
            ..Self::default()
        };
        let is_yaml = found
            .header("content-type")
            .is_some_and(|name| name.contains("yaml"));
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        let parsed: Option<Value> = if is_yaml {
            serde_saphyr::from_str(&text).ok()
        } else {
            serde_json::from_str(&text).ok()
        };
        match parsed.filter(|value| value.is_object() || value.is_array()) {
            Some(value) => found.json = Some(value),
            None => found.text = Some(text),
        }
        found
    }

    pub(crate) fn header(&self, name: &str) -> Option<String> {
        self.headers
            .get(name)
            .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
    }

    /// Texts of the `Warning: 299 - "text"` headers.
    fn warnings(&self) -> Vec<String> {
        let values = self.headers.get_all("warning").iter();
        values
            .map(|value| unquoted(&String::from_utf8_lossy(value.as_bytes())))
            .collect()
    }
}

fn unquoted(header: &str) -> String {
    let Some(start) = header.find('"') else {
        return header.to_owned();
    };
    let mut text = String::new();
    let mut characters = header
        .chars()
        .skip(header.chars().take_while(|c| *c != '"').count() + 1);
    while let Some(character) = characters.next() {
        match character {
            '\\' => text.extend(characters.next()),
            '"' => break,
            other => text.push(other),
        }
    }
    debug_assert!(start < header.len(), "a found quote is inside the header");
    text
}

/// An answer in the form in which answers are recorded.
#[derive(Debug)]
pub(crate) struct Normal {
    status: Option<u16>,
    content_type: Option<String>,
    headers: HeaderMap,
    json: Option<Value>,
    text: Option<String>,
    warnings: Vec<String>,
    events: Vec<Value>,
    closed: bool,
    calls: Vec<Value>,
}

/// Normalises an answer: body, warnings, events, calls, in this order.
pub(crate) fn normalise(step: &Step, found: Found, request: Option<&Value>, symbols: &mut Symbols) -> Normal {
    let warnings = found.warnings();
    let content_type = found.header("content-type");
    let (mut json, mut events) = (found.json, found.events);
    // A watch that answers with one plain object is compared as that object.
    if let [only] = events.as_slice()
        && only.is_object()
        && only.get("type").is_none()
    {
        json = events.pop();
    }
    let walked = matches!(step.compare, Compare::Exact | Compare::Values);
    let json = json.map(|body| {
        let mut body = reduced(body, step);
        if walked {
            symbols.normalise(&mut body, request);
        }
        body
    });
    let text = found.text.map(|text| {
        if walked {
            symbols.normalise_text(&text)
        } else {
            text
        }
    });
    let warnings = warnings
        .iter()
        .map(|warning| symbols.normalise_text(warning))
        .collect();
    let stream_ignore = step
        .stream
        .as_ref()
        .map(|stream| stream.ignore.as_slice())
        .unwrap_or_default();
    for event in &mut events {
        step.ignore
            .iter()
            .chain(stream_ignore)
            .for_each(|pointer| remove(event, pointer));
        symbols.normalise(event, None);
    }
    let calls = sorted(found.calls)
        .into_iter()
        .map(|call| normal_call(call, symbols))
        .collect();
    Normal {
        status: found.status,
        content_type,
        headers: found.headers,
        json,
        text,
        warnings,
        events,
        closed: found.closed,
        calls,
    }
}

fn normal_call(call: HookCall, symbols: &mut Symbols) -> Value {
    let mut review = call.review;
    symbols.normalise(&mut review, None);
    let mut normal = json!({ "path": call.path, "query": call.query, "review": review });
    if call.caller.0 != "kube-apiserver-admission" {
        normal["userAgent"] = json!(call.caller.0);
    }
    normal
}

/// Validating hooks are called side by side: within a run of them the order means nothing.
fn sorted(mut calls: Vec<HookCall>) -> Vec<HookCall> {
    let key = |call: &HookCall| {
        let text = |name: &str| {
            call.review["request"][name]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        (
            call.path.clone(),
            text("operation"),
            text("namespace"),
            text("name"),
        )
    };
    for run in calls.chunk_by_mut(|a, b| a.path.starts_with("/v/") && b.path.starts_with("/v/")) {
        run.sort_by_key(key);
    }
    calls
}

/// Applies `pick`, `at` and `ignore`.
fn reduced(body: Value, step: &Step) -> Value {
    let mut body = match &step.pick {
        Some(pick) => picked(&body, pick),
        None => body,
    };
    if let Some(place) = &step.at {
        body = body.pointer(place).cloned().unwrap_or_default();
    }
    step.ignore.iter().for_each(|pointer| remove(&mut body, pointer));
    body
}

fn picked(body: &Value, pick: &Pick) -> Value {
    let Some(items) = body.pointer(&pick.array).and_then(Value::as_array) else {
        return body.clone();
    };
    let key = |item: &Value| item.pointer(&pick.key).cloned().unwrap_or_default();
    let mut wanted: Vec<Value> = items
        .iter()
        .filter(|item| pick.wanted.contains(&key(item)))
        .cloned()
        .collect();
    wanted.sort_by_key(|item| key(item).to_string());
    Value::Array(wanted)
}

/// Removes the member that a JSON pointer names; `*` stands for every element of a list. Elements of lists
/// themselves stay: the recorded answers have them, too.
fn remove(value: &mut Value, pointer: &str) {
    let Some((head, rest)) = pointer
        .strip_prefix('/')
        .map(|rest| rest.split_once('/').unwrap_or((rest, "")))
    else {
        return;
    };
    let last = rest.is_empty();
    let deeper = format!("/{rest}");
    let name = head.replace("~1", "/").replace("~0", "~");
    match value {
        Value::Object(members) if last => drop(members.remove(&name)),
        Value::Object(members) => members
            .get_mut(&name)
            .into_iter()
            .for_each(|member| remove(member, &deeper)),
        Value::Array(items) if name == "*" => items.iter_mut().for_each(|item| remove(item, &deeper)),
        Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

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
        check(
            "events",
            &without_left_out(&json!(events)),
            &json!(found.events),
            bindings,
        );
    }
    if let Some(closed) = expect.closed {
        check("closed", &json!(closed), &json!(found.closed), bindings);
    }
    if let Some(calls) = &expect.webhook_calls {
        check(
            "webhookCalls",
            &without_left_out(&json!(calls)),
            &json!(found.calls),
            bindings,
        );
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
            let compared = step
                .expect
                .values
                .iter()
                .filter(|(pointer, _)| !is_left_out(pointer));
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
        Some(body) => compare::differences("body", &without_left_out(recorded), body, bindings),
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
        (Some(value), false) => compare::differences(&path, &without_left_out(recorded), value, bindings),
    }
}

fn is_left_out(pointer: &str) -> bool {
    LEFT_OUT
        .iter()
        .any(|name| pointer.contains(&format!("metadata/{name}")))
}

fn without_left_out(recorded: &Value) -> Value {
    let mut recorded = recorded.clone();
    leave_out(&mut recorded);
    recorded
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

    use super::{Found, differences, normalise, remove, unquoted};
    use crate::{
        compare::Bindings,
        scenario::{self, Compare, Scenario, Step},
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
        let normal = normalise(step, found, None, &mut Symbols::new(Vec::new(), false));
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
            "body": { "a": 1, "metadata": { "resourceVersion": "$rv1", "managedFields": [{}] } } } }),
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
            "expect": { "values": { "/a": 1, "/b": { "$absent": true }, "/metadata/managedFields/0": 1 } } }));
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
        assert_eq!(unquoted(r#"299 - "so \"so\"""#), r#"so "so""#);
    }

    #[test]
    fn removes_what_pointers_with_stars_name() {
        let mut value = json!({ "items": [{ "a": 1, "b": 2 }, { "a": 3 }], "c": [1, 2] });
        remove(&mut value, "/items/*/a");
        remove(&mut value, "/c/0");
        remove(&mut value, "/nope/*/x");
        assert_eq!(value, json!({ "items": [{ "b": 2 }, {}], "c": [1, 2] }));
    }

    /// Compares recorded answers with themselves and with a change; returns how many were changed.
    fn check_recorded(scenario: &Scenario) -> usize {
        let mut symbols = Symbols::new(Vec::new(), scenario.header.options.time_symbols);
        let mut bindings = Bindings::default();
        let mut checked = 0;
        for step in &scenario.steps {
            let whole = step.compare == Compare::Exact && step.pick.is_none() && step.at.is_none();
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
