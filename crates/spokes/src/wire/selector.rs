//! Label selectors: parsed once, with the faults that Kubernetes would name, then matched without failing.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// A label selector as manifests write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with these values.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<Requirement>,
}

/// One requirement of a selector as manifests write it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Requirement {
    /// The label or claim asked about.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// The values to compare with.
    pub values: Vec<String>,
}

/// A selector that is known to make sense.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector(Vec<Test>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Test {
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
    Exists(String),
    DoesNotExist(String),
}

impl Selector {
    /// Returns the selector, or the phrase that says why it cannot be one.
    pub fn parse(written: &LabelSelector) -> Result<Self, String> {
        let labels = written
            .match_labels
            .iter()
            .map(|(key, value)| Ok(Test::In(key.clone(), BTreeSet::from([value.clone()]))));
        labels
            .chain(written.match_expressions.iter().map(Test::parse))
            .collect::<Result<_, _>>()
            .map(Self)
    }

    /// Returns whether these labels satisfy every requirement; an empty selector matches everything.
    pub fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.0.iter().all(|test| test.holds(labels))
    }
}

impl Test {
    fn parse(written: &Requirement) -> Result<Self, String> {
        let Requirement {
            key,
            operator,
            values,
        } = written;
        let set = || values.iter().cloned().collect::<BTreeSet<_>>();
        if key.is_empty() {
            return Err("a requirement needs a key".to_owned());
        }
        match (operator.as_str(), values.is_empty()) {
            ("In", false) => Ok(Self::In(key.clone(), set())),
            ("NotIn", false) => Ok(Self::NotIn(key.clone(), set())),
            ("Exists", true) => Ok(Self::Exists(key.clone())),
            ("DoesNotExist", true) => Ok(Self::DoesNotExist(key.clone())),
            ("In" | "NotIn", true) => Err(format!(
                "\"{key}\": operator \"{operator}\" needs at least one value"
            )),
            ("Exists" | "DoesNotExist", false) => {
                Err(format!("\"{key}\": operator \"{operator}\" takes no values"))
            }
            _ => Err(format!(
                "\"{key}\": \"{operator}\" is not a valid label selector operator"
            )),
        }
    }

    fn holds(&self, labels: &BTreeMap<String, String>) -> bool {
        match self {
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            // Kubernetes counts an absent label as "not in".
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
            Self::Exists(key) => labels.contains_key(key),
            Self::DoesNotExist(key) => !labels.contains_key(key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[expect(clippy::needless_pass_by_value, reason = "rows read better without borrows")]
    fn check(selector: serde_json::Value, wanted: Result<bool, &str>) {
        let labels = BTreeMap::from([
            ("env".to_owned(), "prod".to_owned()),
            ("zone".to_owned(), "a".to_owned()),
        ]);
        let written: LabelSelector =
            serde_json::from_value(selector.clone()).expect("a selector in wire form");
        let seen = Selector::parse(&written).map(|parsed| parsed.matches(&labels));
        assert_eq!(
            seen.as_ref().map_err(String::as_str),
            wanted.as_ref().map_err(|text| *text),
            "{selector}"
        );
    }

    fn expression(key: &str, operator: &str, values: &[&str]) -> serde_json::Value {
        json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]})
    }

    #[test]
    fn requirements_are_joined_with_and() {
        check(json!({}), Ok(true));
        check(json!({"matchLabels": {"env": "prod"}}), Ok(true));
        check(json!({"matchLabels": {"env": "prod", "zone": "b"}}), Ok(false));
        check(expression("env", "In", &["dev", "prod"]), Ok(true));
        check(expression("env", "NotIn", &["prod"]), Ok(false));
        check(expression("absent", "NotIn", &["prod"]), Ok(true));
        check(expression("absent", "In", &["prod"]), Ok(false));
        check(expression("env", "Exists", &[]), Ok(true));
        check(expression("env", "DoesNotExist", &[]), Ok(false));
    }

    #[test]
    fn nonsense_is_named() {
        check(
            expression("env", "In", &[]),
            Err("\"env\": operator \"In\" needs at least one value"),
        );
        check(
            expression("env", "Exists", &["x"]),
            Err("\"env\": operator \"Exists\" takes no values"),
        );
        check(
            expression("env", "Near", &["x"]),
            Err("\"env\": \"Near\" is not a valid label selector operator"),
        );
        check(expression("", "Exists", &[]), Err("a requirement needs a key"));
    }
}
