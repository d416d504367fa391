//! Values of a schema on their way into its rules.
//!
//! Decides the CEL type of a value by its schema (`5` in a `number` field is a double, a `date-time` a timestamp) and
//! which of its members rules see. Never says that a value does not fit: the checks report this.

use super::escaping::escape;
use crate::node::{Additional, Flags, Kind, Node};
use ::cel::common::types::{CelBytes, CelDouble, CelList, CelMapKey, CelString};
use ::cel::common::value::Val;
use base64::Engine as _;
use cel_engine::{ReferencedFields, convert, plain};
use serde_json::{Map, Value};

/// Converts a value by its schema, leaving out members that no rule reads.
pub(super) fn typed<'v>(node: &Node, value: &'v Value, fields: &ReferencedFields) -> Box<dyn Val + 'v> {
    match (node.kind, value) {
        (Kind::Object, Value::Object(members)) => object(node, members, fields),
        (Kind::Array, Value::Array(items)) => match node.items.as_deref() {
            Some(schema) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| typed(schema, item, &ReferencedFields::All))
                    .collect();
                Box::new(CelList::from(items))
            }
            None => plain::untyped(value),
        },
        (Kind::Number, Value::Number(number)) => {
            Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Kind::Integer | Kind::IntOrString, Value::Number(number)) => plain::whole(number),
        (Kind::String, Value::String(text)) => match node.format.as_ref() {
            Some(format) => formatted(format.name(), text),
            None => Box::new(CelString::from(text.as_str())),
        },
        (
            Kind::Any
            | Kind::Object
            | Kind::Array
            | Kind::String
            | Kind::Integer
            | Kind::Number
            | Kind::Boolean
            | Kind::IntOrString,
            _,
        ) => plain::untyped(value),
    }
}

fn object<'v>(node: &Node, members: &'v Map<String, Value>, fields: &ReferencedFields) -> Box<dyn Val + 'v> {
    let mut entries = Vec::new();
    for (name, member) in members {
        if let Some(schema) = node.properties.get(name) {
            let Some(spelled) = escape(name) else {
                continue;
            };
            if fields.contains(&spelled) {
                entries.push((
                    CelMapKey::from(spelled.into_owned()),
                    typed(schema, member, &ReferencedFields::All),
                ));
            }
        } else if let Some(schema) = node.additional_schema() {
            entries.push((
                CelMapKey::from(name.as_str()),
                typed(schema, member, &ReferencedFields::All),
            ));
        } else if matches!(node.additional, Additional::Anything) || node.is(Flags::EMBEDDED) {
            entries.push((CelMapKey::from(name.as_str()), plain::untyped(member)));
        }
    }
    plain::map(entries)
}

/// Converts the three members that every resource has, for rules at the root.
pub(super) fn resource<'v>(node: &Node, value: &'v Value, fields: &ReferencedFields) -> Box<dyn Val + 'v> {
    let Some(members) = value.as_object() else {
        return plain::untyped(value);
    };
    let mut entries = Vec::new();
    for (name, member) in members {
        let Some(spelled) = escape(name).filter(|spelled| fields.contains(spelled)) else {
            continue;
        };
        let key = CelMapKey::from(spelled.into_owned());
        match (name.as_str(), node.properties.get(name)) {
            ("metadata" | "apiVersion" | "kind", _) => entries.push((key, plain::untyped(member))),
            (_, Some(schema)) => entries.push((key, typed(schema, member, &ReferencedFields::All))),
            (_, None) => {}
        }
    }
    plain::map(entries)
}

/// Converts a text with a format. A text that does not have its format stays a text; the schema reports it.
fn formatted<'v>(format: &str, text: &'v str) -> Box<dyn Val + 'v> {
    let plain = || -> Box<dyn Val + 'v> { Box::new(CelString::from(text)) };
    match format {
        "date-time" | "datetime" => convert::parsed("timestamp", text).unwrap_or_else(plain),
        "date" => convert::parsed("timestamp", &format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        "duration" => convert::parsed("duration", text).unwrap_or_else(plain),
        "byte" => match base64::engine::general_purpose::STANDARD.decode(text) {
            Ok(bytes) => Box::new(CelBytes::from(bytes)),
            Err(_) => plain(),
        },
        _ => plain(),
    }
}
