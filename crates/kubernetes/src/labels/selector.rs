//! Selectors that have a meaning.
//!
//! Decides whether labels match; what a text means is in `parser`, what an object means in `object`.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde_json::Value;

use super::parser;

/// What a requirement says about a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// The label has one of the values.
    In,
    /// The label is absent or has none of the values.
    NotIn,
    /// The label has the value.
    Equals,
    /// The label is absent or has another value.
    NotEquals,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is an integer greater than the value.
    GreaterThan,
    /// The label is an integer less than the value.
    LessThan,
}

/// One requirement of a selector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Key of the label.
    pub key: String,
    /// What must hold for it.
    pub operator: Operator,
    /// Values to compare with.
    pub values: BTreeSet<String>,
}

/// A label selector: requirements that must all hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Selector {
    /// The requirements.
    pub requirements: Vec<Requirement>,
}

impl Selector {
    /// Parses the text form of requests, such as `a=b,c in (d,e),!f`; the fault is in the words of Kubernetes.
    pub fn parse(text: &str) -> Result<Self, String> {
        parser::parse(text).map(|requirements| Self { requirements })
    }

    /// Returns whether every object matches.
    pub fn is_everything(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Returns whether an object matches by its `metadata.labels`.
    pub fn matches_object(&self, object: &Value) -> bool {
        let labels = object.get("metadata").and_then(|metadata| metadata.get("labels"));
        self.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
    }

    /// Returns whether a map of labels matches.
    pub fn matches_map(&self, labels: &BTreeMap<String, String>) -> bool {
        self.matches(|key| labels.get(key).map(String::as_str))
    }

    /// Returns whether labels match that `label` looks up.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.holds(label(&requirement.key)))
    }
}

impl Operator {
    /// Returns the operator that `LabelSelector` objects call by this name.
    pub fn of_object(name: &str) -> Option<Self> {
        match name {
            "In" => Some(Self::In),
            "NotIn" => Some(Self::NotIn),
            "Exists" => Some(Self::Exists),
            "DoesNotExist" => Some(Self::DoesNotExist),
            _ => None,
        }
    }
}

/// As objects name it, and requests where objects have no word.
impl fmt::Display for Operator {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Equals => "=",
            Self::NotEquals => "!=",
            Self::GreaterThan => ">",
            Self::LessThan => "<",
        })
    }
}

impl Requirement {
    fn holds(&self, value: Option<&str>) -> bool {
        let listed = || value.is_some_and(|value| self.values.contains(value));
        match self.operator {
            Operator::In | Operator::Equals => listed(),
            Operator::NotIn | Operator::NotEquals => !listed(),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.bound(value).is_some_and(|(value, bound)| value > bound),
            Operator::LessThan => self.bound(value).is_some_and(|(value, bound)| value < bound),
        }
    }

    fn bound(&self, value: Option<&str>) -> Option<(i64, i64)> {
        Some((value?.parse().ok()?, self.values.first()?.parse().ok()?))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The objects of the recordings.
    fn selected(text: &str) -> Result<String, String> {
        let selector = Selector::parse(text)?;
        let objects = [
            ("a", json!({"app": "x", "tier": "front"})),
            ("b", json!({"app": "x", "tier": "back"})),
            ("c", json!({"app": "y"})),
            ("d", json!(null)),
            ("e", json!({"app": "", "empty": ""})),
        ];
        let matching = objects
            .iter()
            .filter(|(_, labels)| selector.matches_object(&json!({"metadata": {"labels": labels}})));
        Ok(matching.map(|(name, _)| *name).collect())
    }

    #[test]
    fn selects_as_recorded() {
        for (text, names) in [
            ("app=x", "ab"),
            ("app==x", "ab"),
            ("app!=x", "cde"),
            ("app in (x,y)", "abc"),
            ("app notin (x)", "cde"),
            ("app", "abce"),
            ("!app", "d"),
            ("app,tier=back", "b"),
            ("app=x,tier!=back", "a"),
            ("app=", "e"),
            ("app in (x),!tier", ""),
            ("app in ()", "e"),
            ("app>5", ""),
            ("", "abcde"),
            ("app in (,x)", "abe"),
            ("in in (in)", ""),
        ] {
            assert_eq!(selected(text), Ok(names.to_owned()), "{text}");
        }
    }

    #[test]
    fn faults_read_as_recorded() {
        for (text, message) in [
            (
                "app in (x",
                "unable to parse requirement: found '', expected: ',' or ')'",
            ),
            ("=x", "found '=', expected: !, identifier, or 'end of string'"),
            (
                "a b",
                "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("app=x=y", "found '=', expected: ',' or 'end of string'"),
            (
                "bad!key=x",
                "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt",
            ),
            ("app=bad value", "found 'value', expected: ',' or 'end of string'"),
            ("app=x,", "found '', expected: identifier after ','"),
            (",app=x", "found ',', expected: !, identifier, or 'end of string'"),
            ("app in x", "unable to parse requirement: found 'x' expected: '('"),
            (
                "app>x",
                "unable to parse requirement: values[0]: Invalid value: \"x\": for 'Gt', 'Lt' operators, the value must be an integer",
            ),
        ] {
            assert_eq!(selected(text), Err(message.to_owned()), "{text}");
        }
    }

    #[test]
    fn integers_are_compared_by_value() {
        let selector = Selector::parse("n>5,n<12").expect("a selector");
        for (value, expected) in [
            ("6", true),
            ("11", true),
            ("5", false),
            ("12", false),
            ("x", false),
        ] {
            assert_eq!(selector.matches(|_| Some(value)), expected, "{value}");
        }
    }
}
