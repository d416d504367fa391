//! One step of a path into an object: a member, or an item of a list.
//!
//! Decides the order of steps and how they are written. Never looks at an object.

use std::cmp::Ordering;
use std::fmt;

use serde_json::Value;

use crate::shown;

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Element {
    /// A member of a map.
    Field(String),
    /// An item of an associative list, by the values of its keys (sorted by name).
    Key(Vec<(String, Value)>),
    /// An item of a set, by its value.
    Value(Value),
    /// An item of a list, by position.
    Index(usize),
}

impl Element {
    const fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Value(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(one), Self::Field(two)) => one.cmp(two),
            (Self::Key(one), Self::Key(two)) => by_pairs(one, two),
            (Self::Value(one), Self::Value(two)) => by_value(one, two),
            (Self::Index(one), Self::Index(two)) => one.cmp(two),
            (Self::Field(_) | Self::Key(_) | Self::Value(_) | Self::Index(_), _) => {
                self.rank().cmp(&other.rank())
            }
        }
    }
}

fn by_pairs(one: &[(String, Value)], two: &[(String, Value)]) -> Ordering {
    let each = one
        .iter()
        .zip(two)
        .map(|((name, value), (other, with))| name.cmp(other).then_with(|| by_value(value, with)));
    each.fold(Ordering::Equal, Ordering::then)
        .then_with(|| one.len().cmp(&two.len()))
}

/// Orders values: numbers, strings, booleans, null, lists, maps; numbers by size, whatever their spelling.
pub(crate) fn by_value(one: &Value, two: &Value) -> Ordering {
    match (one, two) {
        (Value::Number(one), Value::Number(two)) => {
            if let (Some(one), Some(two)) = (one.as_i64(), two.as_i64()) {
                one.cmp(&two)
            } else {
                let float = |number: &serde_json::Number| number.as_f64().unwrap_or(f64::INFINITY);
                float(one).total_cmp(&float(two))
            }
        }
        (Value::String(one), Value::String(two)) => one.cmp(two),
        (Value::Bool(one), Value::Bool(two)) => one.cmp(two),
        (Value::Array(one), Value::Array(two)) => {
            let each = one.iter().zip(two).map(|(one, two)| by_value(one, two));
            each.fold(Ordering::Equal, Ordering::then)
                .then_with(|| one.len().cmp(&two.len()))
        }
        (Value::Object(one), Value::Object(two)) => {
            let each = one
                .iter()
                .zip(two)
                .map(|((name, one), (other, two))| name.cmp(other).then_with(|| by_value(one, two)));
            each.fold(Ordering::Equal, Ordering::then)
                .then_with(|| one.len().cmp(&two.len()))
        }
        (
            Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_)
            | Value::Object(_),
            _,
        ) => value_rank(one).cmp(&value_rank(two)),
    }
}

const fn value_rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Null => 3,
        Value::Array(_) => 4,
        Value::Object(_) => 5,
    }
}

/// Returns whether two values are the same to an owner: 1 and 1.0 are.
pub(crate) fn equal(one: &Value, two: &Value) -> bool {
    by_value(one, two) == Ordering::Equal
}

impl fmt::Display for Element {
    /// Writes the step as messages about conflicts do.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(pairs) => {
                f.write_str("[")?;
                for (position, (name, value)) in pairs.iter().enumerate() {
                    let comma = if position == 0 { "" } else { "," };
                    write!(f, "{comma}{name}={}", shown::step(value))?;
                }
                f.write_str("]")
            }
            Self::Value(value) => write!(f, "[={}]", shown::step(value)),
            Self::Index(position) => write!(f, "[{position}]"),
        }
    }
}
