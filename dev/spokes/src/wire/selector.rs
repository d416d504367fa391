//! Label selectors of placements, sets and claims, and the errors for invalid ones. `apimachinery` evaluates them.

pub use k8s_openapi::apimachinery::pkg::apis::meta::v1::{
    LabelSelector, LabelSelectorRequirement as Requirement,
};
pub use kubernetes::labels::Selector;
use kubernetes::labels::{Cause, Place};

/// Returns the selector, or the phrase that says why it cannot be one.
pub fn read(written: &LabelSelector) -> Result<Selector, String> {
    Selector::from_object(written).map_err(|faults| {
        let first = faults.first();
        first
            .map(|fault| phrase(written, &fault.place, &fault.cause))
            .unwrap_or_default()
    })
}

fn phrase(written: &LabelSelector, place: &Place, cause: &Cause) -> String {
    let key = match place {
        Place::Label(key) => key.as_str(),
        Place::Key(index) | Place::Operator(index) | Place::Values(index) | Place::Value(index, _) => {
            let expression = written.match_expressions.iter().flatten().nth(*index);
            expression
                .map(|expression| expression.key.as_str())
                .unwrap_or_default()
        }
    };
    match cause {
        Cause::NotAKey(key) if key.is_empty() => "a requirement needs a key".to_owned(),
        Cause::NotAKey(_) => format!("\"{key}\" is not the key of a label"),
        Cause::NotAValue(value) => format!("\"{key}\": \"{value}\" is not the value of a label"),
        Cause::NeedsValues(operator) => {
            format!("\"{key}\": operator \"{operator}\" needs at least one value")
        }
        Cause::TakesNoValues(operator) => format!("\"{key}\": operator \"{operator}\" takes no values"),
        Cause::UnknownOperator(other) => {
            format!("\"{key}\": \"{other}\" is not a valid label selector operator")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

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
        let seen = read(&written).map(|parsed| parsed.matches_map(&labels));
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
