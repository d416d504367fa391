//! From a step to the request that is sent.
//!
//! Decides how saved values and placeholders are put in.

use std::collections::BTreeMap;

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use crate::{
    scenario::Step,
    wire::{Call, Server, encoded, encoded_query},
};

/// Values that are put into what is sent.
#[derive(Debug)]
pub(crate) struct Values {
    /// Placeholders such as `$WEBHOOK` and what they stand for here, longest placeholder first.
    placeholders: Vec<(&'static str, String)>,
    /// Text for `${symbol}`, from earlier answers.
    saved: BTreeMap<String, String>,
}

impl Values {
    pub(crate) fn new(placeholders: Vec<(&'static str, String)>) -> Self {
        let mut placeholders = placeholders;
        placeholders.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Self {
            placeholders,
            saved: BTreeMap::new(),
        }
    }

    pub(crate) fn save(&mut self, symbol: &str, value: String) {
        self.saved.insert(symbol.to_owned(), value);
    }

    /// Puts real values into a text.
    pub(crate) fn text(&self, text: &str) -> String {
        let mut out = text.to_owned();
        if !out.contains('$') {
            return out;
        }
        for (symbol, value) in &self.saved {
            out = out.replace(&format!("${{{symbol}}}"), value);
        }
        for (placeholder, value) in &self.placeholders {
            out = out.replace(placeholder, value);
        }
        out
    }

    fn value(&self, value: &Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(text)),
            Value::Array(items) => items.iter().map(|item| self.value(item)).collect(),
            Value::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|(name, member)| (self.text(name), self.value(member)))
                    .collect(),
            ),
            Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        }
    }
}

/// Builds the request of a step.
pub(crate) fn call(step: &Step, values: &Values, server: &Server) -> Call {
    let mut headers = BTreeMap::from([
        ("host".to_owned(), server.address.clone()),
        ("user-agent".to_owned(), "golden/1.0".to_owned()),
        ("accept-encoding".to_owned(), "identity".to_owned()),
    ]);
    let token = match step.auth.as_deref() {
        Some("none") => None,
        Some(token) => Some(values.text(token)),
        None => Some(server.token.clone()),
    };
    if let Some(token) = token {
        headers.insert("authorization".to_owned(), format!("Bearer {token}"));
    }
    for (name, value) in &step.headers {
        headers.insert(name.to_lowercase(), values.text(value));
    }
    let mut target = encoded(&values.text(&step.path));
    if !step.query.is_empty() {
        target = format!("{target}?{}", encoded_query(&values.text(&step.query)));
    }
    Call {
        verb: step.verb.clone(),
        target,
        headers,
        body: body(step, values),
    }
}

/// The JSON body of a step as it is sent, for names that the server makes from it.
pub(crate) fn json_body(step: &Step, values: &Values) -> Option<Value> {
    step.body.as_ref().map(|body| values.value(body))
}

/// Members are sorted and nothing is indented: some error texts quote the body.
fn body(step: &Step, values: &Values) -> Option<Vec<u8>> {
    if let Some(text) = &step.body_text {
        return Some(values.text(text).into_bytes());
    }
    if let Some(bytes) = &step.body_base64 {
        return Some(STANDARD.decode(bytes).expect("base64 in a scenario"));
    }
    let mut text = json_body(step, values)?.to_string();
    if let Some(size) = step.body_size {
        text = text.replace("$FILL", &"x".repeat(size));
    }
    if let Some(count) = step.body_repeat {
        text = format!("[{}]", vec![text; count].join(","));
    }
    Some(text.into_bytes())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{Values, call};
    use crate::{scenario::Step, wire::Server};

    #[test]
    fn puts_saved_values_and_placeholders_everywhere() {
        let step: Step = serde_json::from_value(json!({ "id": "a", "verb": "PUT", "path": "/x/${name}", "query": "rv=${rv}",
            "headers": { "X-From": "$SERVERADDR" }, "body": { "b": "$FILL", "a": "$SERVER ${name}" }, "bodySize": 3 }))
        .expect("a step");
        let server = Server {
            url: "https://h:1".to_owned(),
            address: "h:1".to_owned(),
            token: "secret".to_owned(),
            ca_pem: String::new(),
        };
        let mut values = Values::new(vec![
            ("$SERVER", server.url.clone()),
            ("$SERVERADDR", server.address.clone()),
        ]);
        values.save("name", "n 1".to_owned());
        values.save("rv", "7".to_owned());
        let call = call(&step, &values, &server);
        assert_eq!(call.target, "/x/n%201?rv=7");
        assert_eq!(call.headers["x-from"], "h:1");
        assert_eq!(call.headers["authorization"], "Bearer secret");
        assert_eq!(
            call.body.as_deref(),
            Some(br#"{"a":"https://h:1 n 1","b":"xxx"}"#.as_slice())
        );
    }
}
