//! JSON bodies, with every member that stands twice.
//!
//! Decides what a body says: the last of two equal members wins, and both facts are kept.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::patch::go_json;

/// A decoded body.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Decoded {
    /// The value.
    pub(crate) value: Value,
    /// Texts such as `duplicate field "spec.size"`, as strict decoding prints them.
    pub(crate) faults: Vec<String>,
}

/// Decodes JSON. The error is the text that Go's decoder has for it.
pub(crate) fn decode_json(bytes: &[u8]) -> Result<Decoded, String> {
    let mut faults = Vec::new();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let seed = Node {
        path: String::new(),
        faults: &mut faults,
    };
    let value = seed
        .deserialize(&mut deserializer)
        .and_then(|value| deserializer.end().map(|()| value));
    match value {
        Ok(value) => Ok(Decoded { value, faults }),
        Err(error) => Err(go_json::check(bytes).err().unwrap_or_else(|| error.to_string())),
    }
}

struct Node<'a> {
    path: String,
    faults: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Node<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        loop {
            let path = format!("{}[{}]", self.path, list.len());
            let Some(item) = items.next_element_seed(Node {
                path,
                faults: self.faults,
            })?
            else {
                break;
            };
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(name) = members.next_key::<String>()? {
            let path = if self.path.is_empty() {
                name.clone()
            } else {
                format!("{}.{name}", self.path)
            };
            if map.contains_key(&name) {
                self.faults.push(format!("duplicate field \"{path}\""));
            }
            let value = members.next_value_seed(Node {
                path,
                faults: self.faults,
            })?;
            map.insert(name, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_of_two_members_wins_and_both_are_reported() {
        let decoded = decode_json(br#"{"a":{"b":1,"b":2},"c":[{"d":1,"d":1}]}"#).unwrap();
        assert_eq!(decoded.value, json!({"a": {"b": 2}, "c": [{"d": 1}]}));
        assert_eq!(
            decoded.faults,
            ["duplicate field \"a.b\"", "duplicate field \"c[0].d\""]
        );
    }

    #[test]
    fn broken_bodies_are_described_as_go_does() {
        let text = |bytes: &[u8]| decode_json(bytes).unwrap_err();
        assert_eq!(text(b""), "unexpected end of JSON input");
        assert_eq!(
            text(b"hello"),
            "invalid character 'h' looking for beginning of value"
        );
        assert_eq!(
            text(b"{\"a\":1,}"),
            "invalid character '}' looking for beginning of object key string"
        );
        assert_eq!(text(b"{\"a\" 1}"), "invalid character '1' after object key");
        assert_eq!(text(b"[1 2]"), "invalid character '2' after array element");
        assert_eq!(text(b"{} x"), "invalid character 'x' after top-level value");
        assert_eq!(
            text(b"notjson"),
            "invalid character 'o' in literal null (expecting 'u')"
        );
    }
}
