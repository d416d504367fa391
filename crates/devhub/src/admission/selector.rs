//! Label selector objects (`matchLabels`, `matchExpressions`) of webhook configurations.
//!
//! Decides whether a set of labels is selected; never which labels are asked.

use std::collections::BTreeMap;

use serde::Deserialize;

/// A parsed label selector; the empty one selects everything.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Selector {
    match_labels: BTreeMap<String, String>,
    match_expressions: Vec<Expression>,
}

#[derive(Clone, Debug, Deserialize)]
struct Expression {
    key: String,
    operator: Operator,
    #[serde(default)]
    values: Vec<String>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
enum Operator {
    In,
    NotIn,
    Exists,
    DoesNotExist,
}

impl Selector {
    /// Tells whether everything is selected.
    pub(super) fn is_empty(&self) -> bool {
        self.match_labels.is_empty() && self.match_expressions.is_empty()
    }

    /// Tells whether `labels` are selected.
    pub(super) fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        self.match_labels
            .iter()
            .all(|(key, value)| labels.get(key) == Some(value))
            && self
                .match_expressions
                .iter()
                .all(|expression| expression.matches(labels))
    }
}

impl Expression {
    fn matches(&self, labels: &BTreeMap<String, String>) -> bool {
        let value = labels.get(&self.key);
        let listed = value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In => listed,
            Operator::NotIn => !listed,
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::{Value, json};

    use super::Selector;

    #[track_caller]
    fn check(selector: Value, labels: &[(&str, &str)], expected: bool) {
        let selector: Selector = serde_json::from_value(selector).expect("a selector");
        let labels: BTreeMap<String, String> = labels
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        assert_eq!(selector.matches(&labels), expected);
    }

    #[test]
    fn selects_by_labels_and_expressions_together() {
        let one = |operator: &str, values: &[&str]| json!({ "matchExpressions": [{ "key": "a", "operator": operator, "values": values }] });
        check(json!({}), &[], true);
        check(
            json!({ "matchLabels": { "a": "1" } }),
            &[("a", "1"), ("b", "2")],
            true,
        );
        check(json!({ "matchLabels": { "a": "1" } }), &[("a", "2")], false);
        check(one("In", &["1", "2"]), &[("a", "2")], true);
        check(one("In", &["1"]), &[], false);
        check(one("NotIn", &["1"]), &[], true);
        check(one("NotIn", &["1"]), &[("a", "1")], false);
        check(one("Exists", &[]), &[("a", "")], true);
        check(one("DoesNotExist", &[]), &[("a", "")], false);
        check(
            json!({ "matchLabels": { "a": "1" }, "matchExpressions": [{ "key": "b", "operator": "Exists" }] }),
            &[("a", "1")],
            false,
        );
    }
}
