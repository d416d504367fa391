//! Values on their way into and out of expressions.
//!
//! Decides the CEL type of a value: by its schema where there is one (`5` in a `number` field is a double, a
//! `date-time` a timestamp), else by its JSON type. Texts are borrowed, not copied.

use super::engine::engine;
use super::library::{Cidr, Ip, Quantity, Semver, Url};
use super::names;
use super::reads::Needs;
use crate::node::{Additional, Flags, Kind, Node};
use ::cel::common::types::{
    CelBool, CelBytes, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional, CelString,
    CelType, CelUInt,
};
use ::cel::common::value::{CowVal, Val};
use base64::Engine as _;
use serde_json::{Map, Number, Value};
use std::collections::BTreeMap;

/// Converts a value by its schema, leaving out members that nobody reads.
pub(super) fn typed<'v>(node: &Node, value: &'v Value, needs: &Needs) -> Box<dyn Val + 'v> {
    match (node.kind, value) {
        (Kind::Object, Value::Object(members)) => object(node, members, needs),
        (Kind::Array, Value::Array(items)) => match node.items.as_deref() {
            Some(schema) => {
                let items: Vec<_> = items
                    .iter()
                    .map(|item| typed(schema, item, &Needs::All))
                    .collect();
                Box::new(CelList::from(items))
            }
            None => untyped(value),
        },
        (Kind::Number, Value::Number(number)) => {
            Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN)))
        }
        (Kind::Integer | Kind::IntOrString, Value::Number(number)) => whole(number),
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
        ) => untyped(value),
    }
}

fn object<'v>(node: &Node, members: &'v Map<String, Value>, needs: &Needs) -> Box<dyn Val + 'v> {
    let mut entries = Vec::new();
    for (name, member) in members {
        if let Some(schema) = node.properties.get(name) {
            let Some(spelled) = names::escape(name) else {
                continue;
            };
            if needs.wants(&spelled) {
                entries.push((
                    CelMapKey::from(spelled.into_owned()),
                    typed(schema, member, &Needs::All),
                ));
            }
        } else if let Some(schema) = node.additional_schema() {
            entries.push((CelMapKey::from(name.as_str()), typed(schema, member, &Needs::All)));
        } else if matches!(node.additional, Additional::Anything) || node.is(Flags::EMBEDDED) {
            entries.push((CelMapKey::from(name.as_str()), untyped(member)));
        }
    }
    map(entries)
}

#[expect(
    clippy::disallowed_types,
    reason = "the engine's maps are hash maps; nothing here depends on their order"
)]
pub(super) fn map<'v>(entries: Vec<(CelMapKey<'v>, Box<dyn Val + 'v>)>) -> Box<dyn Val + 'v> {
    let entries: std::collections::HashMap<_, _> = entries.into_iter().collect();
    Box::new(CelMap::from(entries))
}

/// Converts the three members that every resource has, for rules at the root.
pub(super) fn resource<'v>(node: &Node, value: &'v Value, needs: &Needs) -> Box<dyn Val + 'v> {
    let Some(members) = value.as_object() else {
        return untyped(value);
    };
    let mut entries = Vec::new();
    for (name, member) in members {
        let Some(spelled) = names::escape(name).filter(|spelled| needs.wants(spelled)) else {
            continue;
        };
        let key = CelMapKey::from(spelled.into_owned());
        match (name.as_str(), node.properties.get(name)) {
            ("metadata" | "apiVersion" | "kind", _) => entries.push((key, untyped(member))),
            (_, Some(schema)) => entries.push((key, typed(schema, member, &Needs::All))),
            (_, None) => {}
        }
    }
    map(entries)
}

/// Converts a value by its JSON type.
pub(super) fn untyped(value: &Value) -> Box<dyn Val + '_> {
    match value {
        Value::Null => Box::new(CelNull),
        Value::Bool(yes) => Box::new(CelBool::from(*yes)),
        Value::Number(number) if number.is_f64() => {
            Box::new(CelDouble::from(number.as_f64().unwrap_or(f64::NAN)))
        }
        Value::Number(number) => whole(number),
        Value::String(text) => Box::new(CelString::from(text.as_str())),
        Value::Array(items) => Box::new(CelList::from(items.iter().map(untyped).collect::<Vec<_>>())),
        Value::Object(members) => map(members
            .iter()
            .map(|(name, member)| (CelMapKey::from(name.as_str()), untyped(member)))
            .collect()),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers in the range of an i64 get here"
)]
fn whole<'v>(number: &Number) -> Box<dyn Val + 'v> {
    if let Some(whole) = number.as_i64() {
        return Box::new(CelInt::from(whole));
    }
    match number.as_f64() {
        Some(real) if real.fract() == 0.0 && real.abs() < 9.2e18 => Box::new(CelInt::from(real as i64)),
        Some(real) => Box::new(CelDouble::from(real)),
        None => Box::new(CelNull),
    }
}

/// Converts a text with a format. A text that does not have its format stays a text; the schema reports it.
fn formatted<'v>(format: &str, text: &'v str) -> Box<dyn Val + 'v> {
    let plain = || -> Box<dyn Val + 'v> { Box::new(CelString::from(text)) };
    match format {
        "date-time" | "datetime" => parsed("timestamp", text).unwrap_or_else(plain),
        "date" => parsed("timestamp", &format!("{text}T00:00:00Z")).unwrap_or_else(plain),
        "duration" => parsed("duration", text).unwrap_or_else(plain),
        "byte" => match base64::engine::general_purpose::STANDARD.decode(text) {
            Ok(bytes) => Box::new(CelBytes::from(bytes)),
            Err(_) => plain(),
        },
        _ => plain(),
    }
}

/// Calls one of the engine's own conversions: `timestamp(text)`, `duration(text)`.
pub(super) fn parsed<'v>(function: &str, text: &str) -> Option<Box<dyn Val + 'v>> {
    let args = vec![CowVal::owned(CelString::from(text.to_owned()))];
    let convert = engine().find_overload(function, &args)?;
    convert(args).ok().map(CowVal::into_owned)
}

/// Tells whether a function reads a text.
pub(super) fn reads_as(function: &str, text: &str) -> bool {
    parsed(function, text).is_some()
}

/// Converts a result back to JSON. Values that JSON cannot hold become texts, as `string(x)` would print them.
pub(super) fn to_json(value: &dyn Val) -> Result<Value, String> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Ok(Value::Null);
    }
    if let Some(yes) = value.downcast_ref::<CelBool>() {
        return Ok(Value::Bool(*yes.inner()));
    }
    if let Some(whole) = value.downcast_ref::<CelInt>() {
        return Ok(Value::from(*whole.inner()));
    }
    if let Some(whole) = value.downcast_ref::<CelUInt>() {
        return Ok(Value::from(*whole.inner()));
    }
    if let Some(real) = value.downcast_ref::<CelDouble>() {
        return Number::from_f64(*real.inner())
            .map(Value::Number)
            .ok_or_else(|| "a result is not a number".to_owned());
    }
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return Ok(Value::String(text.inner().to_owned()));
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        return Ok(Value::String(
            base64::engine::general_purpose::STANDARD.encode(bytes.inner()),
        ));
    }
    if let Some(kind) = value.downcast_ref::<CelType>() {
        return Ok(Value::String(kind.name().to_owned()));
    }
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        return list
            .inner()
            .iter()
            .map(|item| to_json(item.as_ref()))
            .collect::<Result<_, _>>()
            .map(Value::Array);
    }
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        return map_to_json(map);
    }
    if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
        return optional.inner().map_or(Ok(Value::Null), to_json);
    }
    as_text(value)
        .map(Value::String)
        .ok_or_else(|| format!("a result of type {} has no JSON form", value.get_type().name()))
}

fn map_to_json(map: &CelMap<'_>) -> Result<Value, String> {
    let entry = |key: &CelMapKey<'_>, member: &dyn Val| {
        let name = match to_json(key.inner())? {
            Value::String(name) => name,
            other
            @ (Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                other.to_string()
            }
        };
        Ok((name, to_json(member)?))
    };
    // By name: the order of the engine's maps must not reach a result.
    let members = map
        .inner()
        .iter()
        .map(|(key, member)| entry(key, member.as_ref()))
        .collect::<Result<BTreeMap<_, _>, String>>()?;
    Ok(Value::Object(members.into_iter().collect()))
}

/// Prints a value as `string(x)` does; values of Kubernetes types in their canonical form.
pub(super) fn as_text(value: &dyn Val) -> Option<String> {
    if let Some(quantity) = value.downcast_ref::<Quantity>() {
        return Some(quantity.canonical());
    }
    if let Some(version) = value.downcast_ref::<Semver>() {
        return Some(version.text().to_owned());
    }
    if let Some(url) = value.downcast_ref::<Url>() {
        return Some(url.text().to_owned());
    }
    if let Some(ip) = value.downcast_ref::<Ip>() {
        return Some(ip.text());
    }
    if let Some(cidr) = value.downcast_ref::<Cidr>() {
        return Some(cidr.text());
    }
    let args = vec![CowVal::Borrowed(value)];
    let print = engine().find_overload("string", &args)?;
    let printed = print(args).ok()?;
    printed
        .downcast_ref::<CelString<'_>>()
        .map(|text| text.inner().to_owned())
}
