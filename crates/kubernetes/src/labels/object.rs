//! `LabelSelector` objects (`matchLabels`, `matchExpressions`), as manifests have them.
//!
//! Decides which of them have a meaning, and tells every fault with its place, so that each reader can say it in its own words.

use std::collections::BTreeSet;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::selector::{Operator, Requirement, Selector};
use crate::names::{is_label_key, is_label_value};
use crate::print::quote;

/// What is wrong with a `LabelSelector`, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Where it stands.
    pub place: Place,
    /// What it is.
    pub cause: Cause,
}

/// A place in a `LabelSelector`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The entry of a key in `matchLabels`.
    Label(String),
    /// `key` of one of `matchExpressions`.
    Key(usize),
    /// `operator` of one of `matchExpressions`.
    Operator(usize),
    /// `values` of one of `matchExpressions`.
    Values(usize),
    /// One of the `values` of one of `matchExpressions`.
    Value(usize, usize),
}

/// Why a `LabelSelector` is invalid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cause {
    /// The text cannot be the key of a label.
    NotAKey(String),
    /// The text cannot be the value of a label.
    NotAValue(String),
    /// The operator compares with values, and there are none.
    NeedsValues(Operator),
    /// The operator compares with nothing, and there are values.
    TakesNoValues(Operator),
    /// There is no such operator.
    UnknownOperator(String),
}

/// In the words of Kubernetes.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::NotAKey(key) => write!(f, "key: Invalid value: {}", quote(key)),
            Cause::NotAValue(value) => write!(f, "values: Invalid value: {}", quote(value)),
            Cause::NeedsValues(_) => f.write_str(
                "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty",
            ),
            Cause::TakesNoValues(_) => {
                f.write_str("values: Invalid value: values set must be empty for exists and does not exist")
            }
            Cause::UnknownOperator(other) => {
                write!(f, "{} is not a valid label selector operator", quote(other))
            }
        }
    }
}

impl Selector {
    /// Reads an object. The empty one selects everything.
    pub fn from_object(object: &LabelSelector) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut requirements = Vec::new();
        for (key, value) in object.match_labels.iter().flatten() {
            let mut fault = |cause| {
                faults.push(Fault {
                    place: Place::Label(key.clone()),
                    cause,
                });
            };
            if !is_label_key(key) {
                fault(Cause::NotAKey(key.clone()));
            }
            if !is_label_value(value) {
                fault(Cause::NotAValue(value.clone()));
            }
            requirements.push(Requirement {
                key: key.clone(),
                operator: Operator::In,
                values: BTreeSet::from([value.clone()]),
            });
        }
        for (index, expression) in object.match_expressions.iter().flatten().enumerate() {
            match operator(expression, index) {
                Ok(operator) => requirements.push(Requirement {
                    key: expression.key.clone(),
                    operator,
                    values: expression.values.iter().flatten().cloned().collect(),
                }),
                Err(fault) => faults.push(fault),
            }
            faults.extend(misspelt(expression, index));
        }
        if faults.is_empty() {
            Ok(Self { requirements })
        } else {
            Err(faults)
        }
    }

    /// Reads an object that is still JSON; an absent one selects everything, as the selectors of webhooks do.
    ///
    /// Returns the first fault, with the message of Kubernetes.
    pub fn from_json(object: Option<&Value>) -> Result<Self, String> {
        object.map_or_else(
            || Ok(Self::default()),
            |object| Self::deserialize(object).map_err(|error| error.to_string()),
        )
    }
}

impl<'de> Deserialize<'de> for Selector {
    fn deserialize<D: Deserializer<'de>>(object: D) -> Result<Self, D::Error> {
        let object = Option::<LabelSelector>::deserialize(object)?.unwrap_or_default();
        let told = |faults: Vec<Fault>| faults.first().map(ToString::to_string).unwrap_or_default();
        Self::from_object(&object).map_err(|faults| D::Error::custom(told(faults)))
    }
}

fn operator(expression: &LabelSelectorRequirement, index: usize) -> Result<Operator, Fault> {
    let is_empty = expression.values.iter().flatten().next().is_none();
    let (place, cause) = match (Operator::of_object(&expression.operator), is_empty) {
        (Some(operator @ (Operator::In | Operator::NotIn)), true) => {
            (Place::Values(index), Cause::NeedsValues(operator))
        }
        (Some(operator @ (Operator::Exists | Operator::DoesNotExist)), false) => {
            (Place::Values(index), Cause::TakesNoValues(operator))
        }
        (Some(operator), _) => return Ok(operator),
        (None, _) => (
            Place::Operator(index),
            Cause::UnknownOperator(expression.operator.clone()),
        ),
    };
    Err(Fault { place, cause })
}

/// The texts of a requirement that no label can have.
fn misspelt(expression: &LabelSelectorRequirement, index: usize) -> impl Iterator<Item = Fault> {
    let key = (!is_label_key(&expression.key)).then(|| Fault {
        place: Place::Key(index),
        cause: Cause::NotAKey(expression.key.clone()),
    });
    let values = expression.values.iter().flatten().enumerate();
    let values = values
        .filter(|(_, value)| !is_label_value(value))
        .map(move |(at, value)| Fault {
            place: Place::Value(index, at),
            cause: Cause::NotAValue(value.clone()),
        });
    key.into_iter().chain(values)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn faults(object: Value) -> Vec<(Place, Cause)> {
        let object = serde_json::from_value(object).expect("an object");
        let faults = Selector::from_object(&object).expect_err("it is invalid");
        faults
            .into_iter()
            .map(|fault| (fault.place, fault.cause))
            .collect()
    }

    #[test]
    fn every_fault_is_reported_with_its_field() {
        let expression = |operator: &str, values: &[&str]| json!({"matchExpressions": [{"key": "a", "operator": operator, "values": values}]});
        let rows = [
            (
                expression("in", &["x"]),
                Place::Operator(0),
                Cause::UnknownOperator("in".to_owned()),
            ),
            (
                expression("In", &[]),
                Place::Values(0),
                Cause::NeedsValues(Operator::In),
            ),
            (
                expression("NotIn", &[]),
                Place::Values(0),
                Cause::NeedsValues(Operator::NotIn),
            ),
            (
                expression("Exists", &["x"]),
                Place::Values(0),
                Cause::TakesNoValues(Operator::Exists),
            ),
            (
                expression("In", &["x", "-"]),
                Place::Value(0, 1),
                Cause::NotAValue("-".to_owned()),
            ),
            (
                json!({"matchExpressions": [{"key": "a b", "operator": "Exists"}]}),
                Place::Key(0),
                Cause::NotAKey("a b".to_owned()),
            ),
            (
                json!({"matchLabels": {"A.com/x": "y"}}),
                Place::Label("A.com/x".to_owned()),
                Cause::NotAKey("A.com/x".to_owned()),
            ),
        ];
        for (object, place, cause) in rows {
            assert_eq!(faults(object), [(place, cause)]);
        }
        assert_eq!(faults(json!({"matchLabels": {"-": "-"}})).len(), 2);
    }

    #[test]
    fn json_is_read_like_the_object_and_told_in_the_words_of_kubernetes() {
        let selector = Selector::from_json(Some(&json!({"matchLabels": {"app": "x"}}))).expect("a selector");
        assert!(selector.matches(|key| (key == "app").then_some("x")));
        assert!(Selector::from_json(None).expect("a selector").is_everything());
        assert!(
            Selector::from_json(Some(&Value::Null))
                .expect("a selector")
                .is_everything()
        );
        let near = json!({"matchExpressions": [{"key": "a", "operator": "Near"}]});
        assert_eq!(
            Selector::from_json(Some(&near)),
            Err("\"Near\" is not a valid label selector operator".to_owned())
        );
        assert!(
            Selector::from_json(Some(&json!("app=x"))).is_err(),
            "a text is no object"
        );
    }
}
