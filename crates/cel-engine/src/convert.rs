//! Results on their way out of expressions, and texts that the engine's own functions read.
//!
//! Decides which form a result has in JSON. Never decides the type of what goes in.

use super::engine::engine;
use super::library::{Cidr, Ip, Quantity, Semver, Url};
use super::plain::scalar_to_json;
use ::cel::common::types::{CelBytes, CelList, CelMap, CelMapKey, CelOptional, CelString, CelType};
use ::cel::common::value::{CowVal, Val};
use base64::Engine as _;
use serde_json::Value;
use std::collections::BTreeMap;

/// Calls one of the engine's own conversions: `timestamp(text)`, `duration(text)`.
pub fn parsed<'v>(function: &str, text: &str) -> Option<Box<dyn Val + 'v>> {
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
    if let Some(scalar) = scalar_to_json(value) {
        return scalar;
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
