//! Selector objects as text.
//!
//! Decides how `{"matchLabels": …}` and plain maps are written as the text form of requests; never matches.

use serde_json::Value;

/// Writes a label selector, or a plain map of labels, as requests write it: `a=b,c in (d,e),!f`. An empty one is an empty text.
pub fn written(selector: &Value) -> String {
    let is_plain = selector.get("matchLabels").is_none() && selector.get("matchExpressions").is_none();
    let labels = if is_plain {
        Some(selector)
    } else {
        selector.get("matchLabels")
    };
    let mut terms: Vec<(String, String)> = labels
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| {
            (
                key.clone(),
                format!("{key}={}", value.as_str().unwrap_or_default()),
            )
        })
        .collect();
    let expressions = selector.get("matchExpressions").and_then(Value::as_array);
    terms.extend(expressions.into_iter().flatten().map(expression));
    terms.sort();
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}

fn expression(requirement: &Value) -> (String, String) {
    let text = |member: &str| {
        requirement
            .get(member)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let key = text("key");
    let values = requirement.get("values").and_then(Value::as_array);
    let mut values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    let term = match text("operator") {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "DoesNotExist" => format!("!{key}"),
        _ => key.to_owned(),
    };
    (key.to_owned(), term)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_read_as_requests_write_them() {
        for (selector, text) in [
            (json!({"matchLabels": {"b": "c", "a": "b"}}), "a=b,b=c"),
            (json!({"app": "web"}), "app=web"),
            (
                json!({"matchLabels": {"z": "1"}, "matchExpressions": [
                    {"key": "a", "operator": "In", "values": ["y", "x"]}, {"key": "c", "operator": "DoesNotExist"}]}),
                "a in (x,y),!c,z=1",
            ),
            (json!({}), ""),
        ] {
            assert_eq!(written(&selector), text);
        }
    }
}
