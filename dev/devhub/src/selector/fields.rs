//! Field selectors: `metadata.name=a,spec.color!=blue`.
//!
//! Decides which fields a kind can be selected by and whether an object matches.

use serde_json::Value;

use crate::{ApiError, Resource, Scope};

/// A parsed field selector. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    terms: Vec<Term>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Term {
    field: String,
    value: String,
    equal: bool,
}

impl FieldSelector {
    /// Parses the `fieldSelector` parameter of a request.
    pub fn parse(text: &str) -> Result<Self, ApiError> {
        let mut terms = Vec::new();
        for part in split(text) {
            let unknown =
                || ApiError::bad_request(format!("invalid selector: '{text}'; can't understand '{part}'"));
            let (field, equal, value) = split_term(&part).ok_or_else(unknown)?;
            terms.push(Term {
                field: field.to_owned(),
                value: unescape(value)?,
                equal,
            });
        }
        terms.sort_by(|left, right| left.field.cmp(&right.field));
        Ok(Self { terms })
    }

    /// Checks that `resource` can be selected by every field. `selectable` are the JSON paths of `selectableFields` of a custom
    /// resource in this version, such as `.spec.color`.
    pub fn check(&self, resource: &Resource, selectable: &[String]) -> Result<(), ApiError> {
        match self
            .terms
            .iter()
            .find(|term| !known(&term.field, resource, selectable))
        {
            None => Ok(()),
            Some(term) => Err(ApiError::bad_request(unknown_text(&term.field, resource))),
        }
    }

    /// Returns whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.terms.is_empty()
    }

    /// Returns the name when the selector asks for exactly one (`metadata.name=x`).
    pub fn exact_name(&self) -> Option<&str> {
        self.terms
            .iter()
            .find(|term| term.equal && term.field == "metadata.name")
            .map(|term| term.value.as_str())
    }

    /// Returns whether `object`, in the version that `resource` serves, matches.
    pub fn matches(&self, resource: &Resource, object: &Value) -> bool {
        self.terms
            .iter()
            .all(|term| (value(&term.field, resource, object) == term.value) == term.equal)
    }
}

/// Returns the fields besides name and namespace by which a built-in kind can be selected.
fn built_in_fields(resource: &Resource) -> &'static [&'static str] {
    match (resource.group.as_str(), resource.kind.as_str()) {
        ("", "Secret") => &["type"],
        ("", "Namespace") => &["status.phase", "name"],
        ("", "Event") => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        ("events.k8s.io", "Event") => &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
        _ => &[],
    }
}

fn known(field: &str, resource: &Resource, selectable: &[String]) -> bool {
    match field {
        "metadata.name" => true,
        "metadata.namespace" => !resource.custom || resource.scope == Scope::Namespaced,
        _ if resource.custom => selectable
            .iter()
            .any(|path| path.trim_start_matches('.') == field),
        _ => built_in_fields(resource).contains(&field),
    }
}

fn unknown_text(field: &str, resource: &Resource) -> String {
    if resource.custom || !built_in_fields(resource).is_empty() {
        return format!("field label not supported: {field}");
    }
    format!("\"{field}\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"")
}

/// Reads a field as the text that is compared: absent fields are empty, numbers and booleans are printed.
fn value(field: &str, resource: &Resource, object: &Value) -> String {
    let at = |path: &str| path.split('.').try_fold(object, |below, name| below.get(name));
    let found = match (resource.kind.as_str(), field) {
        ("Namespace", "name") => at("metadata.name"),
        ("Event", "source") => at("source.component")
            .filter(|text| *text != "")
            .or_else(|| at("reportingComponent")),
        _ => at(field),
    };
    match found {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        Some(Value::Bool(flag)) => flag.to_string(),
        Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => String::new(),
    }
}

/// Splits at commas that are not escaped and drops empty terms.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut escaped = false;
    for letter in text.chars() {
        match letter {
            ',' if !escaped => parts.push(String::new()),
            _ => parts
                .iter_mut()
                .last()
                .into_iter()
                .for_each(|part| part.push(letter)),
        }
        escaped = letter == '\\' && !escaped;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn split_term(term: &str) -> Option<(&str, bool, &str)> {
    for (at, _) in term.char_indices() {
        let (field, rest) = term.split_at(at);
        for (operator, equal) in [("!=", false), ("==", true), ("=", true)] {
            if let Some(value) = rest.strip_prefix(operator) {
                return Some((field, equal, value));
            }
        }
    }
    None
}

fn unescape(value: &str) -> Result<String, ApiError> {
    let mut out = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(escaped @ ('\\' | ',' | '=')) => out.push(escaped),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(ApiError::bad_request(format!(
                        "invalid field selector: invalid escape sequence: {sequence}"
                    )));
                }
            },
            ',' | '=' => {
                return Err(ApiError::bad_request(format!(
                    "invalid field selector: unescaped character in value: {letter}"
                )));
            }
            _ => out.push(letter),
        }
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::builtin;

    fn widgets() -> Resource {
        let mut resource = builtin::resources()
            .into_iter()
            .find(|resource| resource.kind == "ConfigMap")
            .expect("config maps");
        resource.custom = true;
        "dev.example.io".clone_into(&mut resource.group);
        "Widget".clone_into(&mut resource.kind);
        resource
    }

    fn matches(selector: &str, resource: &Resource, object: &Value) -> Result<bool, String> {
        let selector = FieldSelector::parse(selector).map_err(|error| error.message)?;
        selector
            .check(
                resource,
                &[".spec.color".into(), ".spec.size".into(), ".spec.enabled".into()],
            )
            .map_err(|error| error.message)?;
        Ok(selector.matches(resource, object))
    }

    #[test]
    fn custom_resources_are_selected_as_recorded() {
        let object =
            json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"color": "red", "size": 2}});
        for (selector, expected) in [
            ("metadata.name=a", true),
            ("metadata.name==a", true),
            ("metadata.name!=a", false),
            ("metadata.name=a,metadata.namespace=n", true),
            ("metadata.name=a,metadata.name=b", false),
            ("metadata.namespace=other", false),
            ("spec.size=2", true),
            ("spec.size=02", false),
            ("spec.enabled=", true),
            ("spec.color!=blue", true),
            ("", true),
        ] {
            assert_eq!(matches(selector, &widgets(), &object), Ok(expected), "{selector}");
        }
    }

    #[test]
    fn faults_read_as_recorded() {
        for (selector, message) in [
            ("spec.nope=1", "field label not supported: spec.nope"),
            (
                "metadata.labels.app=x",
                "field label not supported: metadata.labels.app",
            ),
            (
                "metadata.name",
                "invalid selector: 'metadata.name'; can't understand 'metadata.name'",
            ),
            (
                "spec.size>1",
                "invalid selector: 'spec.size>1'; can't understand 'spec.size>1'",
            ),
            (
                "spec.color=a=b",
                "invalid field selector: unescaped character in value: =",
            ),
        ] {
            assert_eq!(
                matches(selector, &widgets(), &json!({})),
                Err(message.to_owned()),
                "{selector}"
            );
        }
    }

    #[test]
    fn built_in_kinds_have_their_own_fields() {
        let event = json!({"metadata": {"name": "e1"}, "involvedObject": {"kind": "Widget", "name": "w1"}, "reason": "Tested", "source": {"component": "golden"}});
        let secret = json!({"metadata": {"name": "s"}, "type": "kubernetes.io/tls"});
        let find = |group: &str, kind: &str| {
            builtin::resources()
                .into_iter()
                .find(|resource| resource.group == group && resource.kind == kind)
                .expect("a kind")
        };
        for (group, kind, selector, object, expected) in [
            ("", "Event", "involvedObject.name=w1,involvedObject.kind=Widget", &event, Ok(true)),
            ("", "Event", "reason=Other", &event, Ok(false)),
            ("", "Event", "source=golden", &event, Ok(true)),
            ("", "Secret", "type=kubernetes.io/tls", &secret, Ok(true)),
            ("", "Secret", "type!=Opaque", &secret, Ok(true)),
            ("", "Secret", "data.a=1", &secret, Err("field label not supported: data.a".to_owned())),
            (
                "",
                "ConfigMap",
                "data.a=1",
                &secret,
                Err("\"data.a\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"".to_owned()),
            ),
        ] {
            assert_eq!(matches(selector, &find(group, kind), object), expected, "{selector}");
        }
    }

    #[test]
    fn escaped_commas_belong_to_the_value() {
        let selector = FieldSelector::parse(r"metadata.name=a\,b").expect("a selector");
        assert_eq!(selector.exact_name(), Some("a,b"));
    }
}
