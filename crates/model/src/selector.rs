//! Label selectors of specs.
//!
//! Decides the rule that a fault of a selector belongs to; what a selector means and matches is `apimachinery`'s. An empty selector matches
//! everything; what an absent one means is its owner's to say.

use kubernetes::labels;

use api::LabelSelector;
use kubernetes::field::{Path, Violation, selector_fault};

use super::rule;

pub use kubernetes::labels::Selector;
pub use kubernetes::names::{is_label_key, is_label_value};

/// Reads the selector at `path`; every fault has its field.
pub fn parse_selector(raw: &LabelSelector, path: &Path) -> Result<Selector, Vec<Violation>> {
    let told = |fault: &labels::Fault| {
        let (at, fault) = selector_fault(fault, path);
        fault.at(at, rule::LABEL_SELECTOR)
    };
    Selector::from_object(raw).map_err(|faults| faults.iter().map(told).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn parsed(selector: Value) -> Result<Selector, Vec<String>> {
        let raw: LabelSelector = serde_json::from_value(selector).map_err(|error| vec![error.to_string()])?;
        parse_selector(&raw, &Path::root()).map_err(|faults| faults.iter().map(ToString::to_string).collect())
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
            let faults = parsed(selector.clone()).expect_err("it is invalid");
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
