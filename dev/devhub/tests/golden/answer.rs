//! A server's answer to a step, in raw and in normal form.
//!
//! Decides what is picked out of it before anything is compared.

use http::HeaderMap;
use serde_json::{Value, json};

use crate::{
    hook::server::HookCall,
    scenario::{Compare, Pick, Step},
    symbols::Symbols,
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
    assert!(start < header.len(), "a found quote is inside the header");
    text
}

/// An answer in the form in which answers are recorded.
#[derive(Debug)]
pub(crate) struct Normal {
    pub(crate) status: Option<u16>,
    pub(crate) content_type: Option<String>,
    pub(crate) headers: HeaderMap,
    pub(crate) json: Option<Value>,
    pub(crate) text: Option<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) events: Vec<Value>,
    pub(crate) closed: bool,
    pub(crate) calls: Vec<Value>,
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

/// Removes what a JSON pointer names; `*` stands for every element of a list.
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
    match (value, name.parse::<usize>()) {
        (Value::Object(members), _) if last => drop(members.remove(&name)),
        (Value::Object(members), _) => members
            .get_mut(&name)
            .into_iter()
            .for_each(|it| remove(it, &deeper)),
        (Value::Array(items), _) if name == "*" => items.iter_mut().for_each(|item| remove(item, &deeper)),
        (Value::Array(items), Ok(index)) if last && index < items.len() => drop(items.remove(index)),
        (Value::Array(items), Ok(index)) => items
            .get_mut(index)
            .into_iter()
            .for_each(|it| remove(it, &deeper)),
        (Value::Array(_) | Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_), _) => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{remove, unquoted};

    #[test]
    fn removes_what_pointers_with_stars_name() {
        let mut value = json!({ "items": [{ "a": 1, "b": 2 }, { "a": 3 }], "c": [1, 2] });
        remove(&mut value, "/items/*/a");
        remove(&mut value, "/c/0");
        remove(&mut value, "/nope/*/x");
        assert_eq!(value, json!({ "items": [{ "b": 2 }, {}], "c": [2] }));
    }

    #[test]
    fn reads_the_text_of_a_warning_header() {
        assert_eq!(unquoted(r#"299 - "so \"so\"""#), r#"so "so""#);
    }
}
