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

    /// Reads the form of `fieldsV1`; says what is wrong where it is not one. Steps of a kind that is not known are left out.
    pub fn from_wire(wire: &Value) -> Result<Self, String> {
        let members = wire.as_object().ok_or("expected an object")?;
        let mut set = Self::default();
        for (key, below) in members.iter().filter(|(key, _)| *key != ".") {
            let Some(element) = read(key)? else { continue };
            let child = Self::from_wire(below)?;
            if below.get(".").is_some() || child.is_empty() {
                set.members.insert(element.clone());
            }
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

fn read(key: &str) -> Result<Option<Element>, String> {
    let value = |text: &str| -> Result<Value, String> {
        serde_json::from_str(text).map_err(|error| format!("{key:?}: {error}"))
    };
    let (kind, text) = key
        .split_once(':')
        .ok_or_else(|| format!("missing colon: {key}"))?;
    let element = match kind {
        "f" => Element::Field(text.to_owned()),
        "v" => Element::Value(value(text)?),
        "i" => Element::Index(text.parse().map_err(|error| format!("{key:?}: {error}"))?),
        "k" => {
            let Value::Object(members) = value(text)? else {
                return Err(format!("{key:?} has no keys"));
            };
            Element::Key(members.into_iter().collect())
        }
        _ => return Ok(None),
    };
    Ok(Some(element))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn reads_what_it_writes() {
        let wire = json!({ "f:a": {}, "f:l": { ".": {}, "k:{\"name\":\"x\",\"port\":80}": { ".": {}, "f:v": {} }, "v:\"s\"": {}, "i:3": {} } });
        let set = Set::from_wire(&wire).expect("a set");
        assert_eq!(set.to_wire(), wire);
        let paths: Vec<String> = set.paths().iter().map(ToString::to_string).collect();
        assert_eq!(
            paths,
            [
                ".a",
                ".l",
                r#".l[name="x",port=80]"#,
                r#".l[="s"]"#,
                ".l[3]",
                r#".l[name="x",port=80].v"#
            ]
        );
    }

    #[test]
    fn says_what_is_no_set() {
        assert_eq!(
            Set::from_wire(&json!({"f": {}})),
            Err("missing colon: f".to_owned())
        );
        assert!(Set::from_wire(&json!({"v:{": {}})).is_err());
        assert!(Set::from_wire(&json!({"f:a": 1})).is_err());
        assert!(Set::from_wire(&json!({"x:y": {}})).expect("left out").is_empty());
    }
}
