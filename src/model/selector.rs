//! Label selectors, as Kubernetes reads them.
//!
//! Decides which selectors have a meaning and which labels they match. An empty selector matches everything; what an
//! absent one means is its owner's to say.

use std::collections::BTreeSet;

use crate::api::{LabelSelector, LabelSelectorRequirement};
use crate::field::{Class, Fault, Path, Violation};

use super::rule;

const OPERATORS: &str = "supported values: \"In\", \"NotIn\", \"Exists\", \"DoesNotExist\"";
const NAME_LIMIT: usize = 63;
const PREFIX_LIMIT: usize = 253;

/// A label selector that has a meaning.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    requirements: Vec<Requirement>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    of: Operator,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Operator {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Reads a selector that stands at `path`; every fault is told with its place.
    pub fn parse(raw: &LabelSelector, path: &Path) -> Result<Self, Vec<Violation>> {
        let mut faults = Vec::new();
        let mut requirements = Vec::new();
        for (key, value) in raw.match_labels.iter().flatten() {
            let at = path.key("matchLabels").entry(key.as_str());
            check_key(key, &at, &mut faults);
            check_value(value, &at, &mut faults);
            requirements.push(Requirement {
                key: key.clone(),
                of: Operator::In(BTreeSet::from([value.clone()])),
            });
        }
        for (index, expression) in raw.match_expressions.iter().flatten().enumerate() {
            let at = path.key("matchExpressions").index(index);
            check_key(&expression.key, &at.key("key"), &mut faults);
            for (index, value) in expression.values.iter().flatten().enumerate() {
                check_value(value, &at.key("values").index(index), &mut faults);
            }
            match operator(expression, &at) {
                Ok(of) => requirements.push(Requirement {
                    key: expression.key.clone(),
                    of,
                }),
                Err(fault) => faults.push(fault),
            }
        }
        if faults.is_empty() {
            Ok(Self { requirements })
        } else {
            Err(faults)
        }
    }

    /// Tells whether labels match; `label` returns the value of a key.
    pub fn matches<'l>(&self, label: impl Fn(&str) -> Option<&'l str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| match (&requirement.of, label(&requirement.key)) {
                (Operator::In(values), Some(value)) => values.contains(value),
                (Operator::In(_), None) => false,
                // Kubernetes: a label that is absent is not one of the values.
                (Operator::NotIn(values), Some(value)) => !values.contains(value),
                (Operator::NotIn(_), None) => true,
                (Operator::Exists, value) => value.is_some(),
                (Operator::DoesNotExist, value) => value.is_none(),
            })
    }
}

fn operator(raw: &LabelSelectorRequirement, at: &Path) -> Result<Operator, Violation> {
    let values: BTreeSet<String> = raw.values.iter().flatten().cloned().collect();
    let needs = |values: BTreeSet<String>| {
        if values.is_empty() {
            let fault = Fault::bare(
                Class::Required,
                format!("operator {:?} needs values", raw.operator),
            );
            return Err(fault.at(at.key("values"), rule::LABEL_SELECTOR));
        }
        Ok(values)
    };
    let needs_none = |of: Operator| {
        if values.is_empty() {
            return Ok(of);
        }
        let fault = Fault::bare(
            Class::Forbidden,
            format!("operator {:?} takes no values", raw.operator),
        );
        Err(fault.at(at.key("values"), rule::LABEL_SELECTOR))
    };
    match raw.operator.as_str() {
        "In" => needs(values).map(Operator::In),
        "NotIn" => needs(values).map(Operator::NotIn),
        "Exists" => needs_none(Operator::Exists),
        "DoesNotExist" => needs_none(Operator::DoesNotExist),
        other => {
            let fault = Fault::of_text(Class::Unsupported, other, OPERATORS);
            Err(fault.at(at.key("operator"), rule::LABEL_SELECTOR))
        }
    }
}

fn check_key(key: &str, at: &Path, faults: &mut Vec<Violation>) {
    if is_label_key(key) {
        return;
    }
    let detail = "must be the key of a label: a name of at most 63 letters, digits, \"-\", \"_\" and \".\", if need be \
                  with a domain and \"/\" before it";
    faults.push(Fault::of_text(Class::Invalid, key, detail).at(at.clone(), rule::LABEL_SELECTOR));
}

fn check_value(value: &str, at: &Path, faults: &mut Vec<Violation>) {
    if is_label_value(value) {
        return;
    }
    let detail = "must be the value of a label: at most 63 letters, digits, \"-\", \"_\" and \".\", with a letter or \
                  digit at both ends";
    faults.push(Fault::of_text(Class::Invalid, value, detail).at(at.clone(), rule::LABEL_SELECTOR));
}

/// Tells whether a text can be the key of a label.
pub fn is_label_key(key: &str) -> bool {
    let (prefix, name) = match key.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    prefix.is_none_or(is_domain) && is_label_text(name)
}

/// Tells whether a text can be the value of a label.
pub fn is_label_value(value: &str) -> bool {
    value.is_empty() || is_label_text(value)
}

fn is_label_text(text: &str) -> bool {
    let bytes = text.as_bytes();
    text.len() <= NAME_LIMIT
        && bytes.first().is_some_and(u8::is_ascii_alphanumeric)
        && bytes.last().is_some_and(u8::is_ascii_alphanumeric)
        && bytes
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
}

fn is_domain(text: &str) -> bool {
    let inner = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_label = |part: &str| {
        let bytes = part.as_bytes();
        bytes.first().is_some_and(inner)
            && bytes.last().is_some_and(inner)
            && bytes.iter().all(|byte| inner(byte) || *byte == b'-')
    };
    text.len() <= PREFIX_LIMIT && text.split('.').all(is_label)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(selector: Value) -> Result<Selector, Vec<String>> {
        let raw: LabelSelector = serde_json::from_value(selector).map_err(|error| vec![error.to_string()])?;
        Selector::parse(&raw, &Path::root())
            .map_err(|faults| faults.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_selector_matches_as_kubernetes_does() {
        let labels = [("env", "prod"), ("zone", ""), ("example.com/tier", "1")];
        let label = |key: &str| {
            labels
                .iter()
                .find(|(known, _)| *known == key)
                .map(|(_, value)| *value)
        };
        let expression = |key: &str, operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]});
        let rows = [
            (json!({}), true),
            (json!({"matchLabels": {}}), true),
            (json!({"matchLabels": {"env": "prod"}}), true),
            (json!({"matchLabels": {"env": "stage"}}), false),
            (json!({"matchLabels": {"env": "prod", "absent": "x"}}), false),
            (json!({"matchLabels": {"zone": ""}}), true),
            (json!({"matchLabels": {"absent": ""}}), false),
            (json!({"matchLabels": {"example.com/tier": "1"}}), true),
            (expression("env", "In", &["stage", "prod"]), true),
            (expression("env", "In", &["stage"]), false),
            (expression("absent", "In", &["x"]), false),
            (expression("env", "NotIn", &["stage"]), true),
            (expression("env", "NotIn", &["prod"]), false),
            (expression("absent", "NotIn", &["x"]), true),
            (expression("zone", "Exists", &[]), true),
            (expression("absent", "Exists", &[]), false),
            (expression("absent", "DoesNotExist", &[]), true),
            (expression("zone", "DoesNotExist", &[]), false),
            (
                json!({"matchLabels": {"env": "prod"},
                    "matchExpressions": [{"key": "env", "operator": "NotIn", "values": ["prod"]}]}),
                false,
            ),
        ];
        for (selector, matches) in rows {
            let found = parsed(selector.clone()).expect("it has a meaning").matches(label);
            assert_eq!(found, matches, "{selector}");
        }
    }

    #[test]
    fn a_selector_without_a_meaning_is_refused_with_every_fault() {
        let rows = [
            (
                json!({"matchExpressions": [{"key": "a", "operator": "in", "values": ["x"]}]}),
                "matchExpressions[0].operator",
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "In"}]}),
                "matchExpressions[0].values",
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "NotIn", "values": []}]}),
                "matchExpressions[0].values",
            ),
            (
                json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["x"]}]}),
                "matchExpressions[0].values",
            ),
            (
                json!({"matchExpressions": [{"key": "a b", "operator": "Exists"}]}),
                "matchExpressions[0].key",
            ),
            (json!({"matchLabels": {"A.com/x": "y"}}), "matchLabels[A.com/x]"),
            (json!({"matchLabels": {"a": "-"}}), "matchLabels[a]"),
            (json!({"matchLabels": {"": "x"}}), "matchLabels[]"),
            (json!({"matchLabels": {"a": "x".repeat(64)}}), "matchLabels[a]"),
        ];
        for (selector, place) in rows {
            let faults = parsed(selector.clone()).expect_err("it has no meaning");
            assert_eq!(faults.len(), 1, "{selector}: {faults:?}");
            assert!(
                faults.iter().all(|fault| fault.starts_with(place)),
                "{selector}: {faults:?}"
            );
        }
        let both = json!({"matchLabels": {"-": "-"}});
        assert_eq!(parsed(both).expect_err("both are wrong").len(), 2);
    }
}
