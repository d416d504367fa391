//! Variables in the manifests of a template: `{{NAME}}`, byte for byte, in keys and in values.
//!
//! Works on parsed JSON, so a value can never change the structure around it. Unknown variables and unclosed braces are
//! faults with the variable's name; values are not expanded again.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

/// Why a template cannot be filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum SubstitutionFault {
    /// Nobody gives this variable a value.
    UnknownVariable(String),
    /// `{{` without `}}`.
    Unclosed(String),
}

impl std::fmt::Display for SubstitutionFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UnknownVariable(name) => write!(f, "unknown variable {name:?}"),
            Self::Unclosed(text) => write!(f, "braces that are never closed in {text:?}"),
        }
    }
}

/// The variables of a rendering.
pub(super) type Variables = BTreeMap<String, String>;

/// Returns `value` with every variable replaced.
pub(super) fn substitute(value: &Value, variables: &Variables) -> Result<Value, SubstitutionFault> {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(value.clone()),
        Value::String(text) => expand(text, variables).map(Value::String),
        Value::Array(items) => items
            .iter()
            .map(|item| substitute(item, variables))
            .collect::<Result<_, _>>()
            .map(Value::Array),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, field)| Ok((expand(key, variables)?, substitute(field, variables)?)))
            .collect::<Result<Map<_, _>, _>>()
            .map(Value::Object),
    }
}

fn expand(text: &str, variables: &Variables) -> Result<String, SubstitutionFault> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, tail)) = rest.split_once("{{") {
        let Some((name, after)) = tail.split_once("}}") else {
            return Err(SubstitutionFault::Unclosed(excerpt(text)));
        };
        let Some(value) = variables.get(name) else {
            return Err(SubstitutionFault::UnknownVariable(excerpt(name)));
        };
        out.push_str(before);
        out.push_str(value);
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

fn excerpt(text: &str) -> String {
    const LONGEST: usize = 80;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    text.chars().take(LONGEST).chain("…".chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn variables() -> Variables {
        [("CLUSTER_NAME", "c1"), ("QUOTE", "a\"b\\c{{CLUSTER_NAME}}\n")]
            .into_iter()
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect()
    }

    #[test]
    fn replaces_in_keys_and_values_and_expands_no_value_again() {
        let template =
            json!({"{{CLUSTER_NAME}}-x": ["{{QUOTE}}", 1, null, "a {{CLUSTER_NAME}}{{CLUSTER_NAME}} }}{"]});
        let filled = substitute(&template, &variables()).unwrap();
        assert_eq!(
            filled,
            json!({"c1-x": ["a\"b\\c{{CLUSTER_NAME}}\n", 1, null, "a c1c1 }}{"]})
        );
    }

    #[test]
    fn names_the_fault() {
        let fault = |text: &str| substitute(&json!([text]), &variables()).unwrap_err().to_string();
        assert_eq!(fault("{{ CLUSTER_NAME }}"), "unknown variable \" CLUSTER_NAME \"");
        assert_eq!(fault("{{}}"), "unknown variable \"\"");
        assert_eq!(
            fault("x {{CLUSTER_NAME"),
            "braces that are never closed in \"x {{CLUSTER_NAME\""
        );
    }
}
