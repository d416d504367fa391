//! Sets of paths as objects carry them in `metadata.managedFields[].fieldsV1`.
//!
//! Decides the spelling of steps. Reads what it writes, and what other servers write.

use serde_json::{Map as Members, Value};

use crate::element::Element;
use crate::set::Set;

impl Set {
    /// Returns the form of `fieldsV1`.
    pub fn to_wire(&self) -> Value {
        let mut members = Members::new();
        for element in &self.members {
            if !self.children.contains_key(element) {
                members.insert(spell(element), Value::Object(Members::new()));
            }
        }
        for (element, child) in &self.children {
            let mut below = match child.to_wire() {
                Value::Object(below) => below,
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                    Members::new()
                }
            };
            if self.members.contains(element) {
                below.insert(".".to_owned(), Value::Object(Members::new()));
            }
            members.insert(spell(element), Value::Object(below));
        }
        Value::Object(members)
    }

    /// Reads the form of `fieldsV1`; says what is wrong where it is not one.
    pub fn from_wire(wire: &Value) -> Result<Self, String> {
        let members = wire.as_object().ok_or("expected an object")?;
        let mut set = Self::default();
        for (key, below) in members {
            if key == "." {
                continue;
            }
            let element = read(key)?;
            let below = below.as_object().ok_or_else(|| format!("{key:?} is no object"))?;
            if below.is_empty() || below.contains_key(".") {
                set.members.insert(element.clone());
            }
            let child = Self::from_wire(&Value::Object(below.clone()))?;
            if !child.is_empty() {
                set.children.insert(element, child);
            }
        }
        Ok(set)
    }
}

fn spell(element: &Element) -> String {
    match element {
        Element::Field(name) => format!("f:{name}"),
        Element::Key(pairs) => {
            let members: Members<String, Value> = pairs.iter().cloned().collect();
            format!("k:{}", Value::Object(members))
        }
        Element::Value(value) => format!("v:{value}"),
        Element::Index(position) => format!("i:{position}"),
    }
}

fn read(key: &str) -> Result<Element, String> {
    let value = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| format!("{key:?}: {error}"))
    };
    match key.split_once(':') {
        Some(("f", name)) => Ok(Element::Field(name.to_owned())),
        Some(("v", text)) => Ok(Element::Value(value(text)?)),
        Some(("i", text)) => text
            .parse()
            .map(Element::Index)
            .map_err(|error| format!("{key:?}: {error}")),
        Some(("k", text)) => match value(text)? {
            Value::Object(members) if !members.is_empty() => Ok(Element::Key(members.into_iter().collect())),
            Value::Object(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_)
            | Value::Array(_) => Err(format!("{key:?} has no keys")),
        },
        Some(_) | None => Err(format!("{key:?} is no path element")),
    }
}
