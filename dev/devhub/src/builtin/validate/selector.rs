//! `LabelSelector` objects.
//!
//! Decides faults of their form; matching is `apimachinery`'s.

use ::schema::FieldError;
use kubernetes::labels::Operator;
use serde_json::Value;

use crate::builtin::faults::{forbidden, invalid, list, required, text};
use crate::builtin::metadata::validate_labels;
use kubernetes::names::{Named, label_value_faults, qualified_name_faults};

/// Returns the faults of the selector that stands at `field`.
pub fn validate(field: &str, selector: &Value) -> Vec<FieldError> {
    let mut errors = validate_labels(&format!("{field}.matchLabels"), selector.get("matchLabels"));
    for (index, expression) in list(selector, "/matchExpressions").iter().enumerate() {
        let at = format!("{field}.matchExpressions[{index}]");
        let values = list(expression, "/values");
        match Operator::of_object(text(expression, "/operator")) {
            Some(Operator::In | Operator::NotIn) => {
                if values.is_empty() {
                    errors.push(required(
                        &format!("{at}.values"),
                        "must be specified when `operator` is 'In' or 'NotIn'",
                    ));
                }
            }
            Some(Operator::Exists | Operator::DoesNotExist) => {
                if !values.is_empty() {
                    errors.push(forbidden(
                        &format!("{at}.values"),
                        "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
                    ));
                }
            }
            Some(Operator::Equals | Operator::NotEquals | Operator::GreaterThan | Operator::LessThan)
            | None => errors.push(invalid(
                &format!("{at}.operator"),
                text(expression, "/operator"),
                "not a valid selector operator",
            )),
        }
        let key = text(expression, "/key");
        errors.extend(
            qualified_name_faults(key, Named::LabelKey)
                .iter()
                .map(|fault| invalid(&format!("{at}.key"), key, fault)),
        );
        for (place, value) in values.iter().enumerate() {
            let value = value.as_str().unwrap_or_default();
            let faults = label_value_faults(value);
            errors.extend(
                faults
                    .iter()
                    .map(|fault| invalid(&format!("{at}.values[{place}]"), value, fault)),
            );
        }
    }
    errors
}
