//! Plain values: JSON on its way into expressions, and scalars on their way out.
//!
//! Decides the CEL type of a value by its JSON type alone. Texts are borrowed, not copied. Never asks a function of the
//! engine, so that those functions may ask here.

use ::cel::common::types::{
    CelBool, CelDouble, CelInt, CelList, CelMap, CelMapKey, CelNull, CelString, CelUInt,
};
use ::cel::common::value::Val;
use serde_json::{Number, Value};

/// Makes a map.
#[expect(
    clippy::disallowed_types,
    reason = "the engine's maps are hash maps; nothing here depends on their order"
)]
pub fn map<'v>(entries: Vec<(CelMapKey<'v>, Box<dyn Val + 'v>)>) -> Box<dyn Val + 'v> {
    let entries: std::collections::HashMap<_, _> = entries.into_iter().collect();
    Box::new(CelMap::from(entries))
}

/// Converts a value by its JSON type.
pub fn untyped(value: &Value) -> Box<dyn Val + '_> {
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

/// Converts a number that should be whole.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only whole numbers in the range of an i64 get here"
)]
pub fn whole<'v>(number: &Number) -> Box<dyn Val + 'v> {
    if let Some(whole) = number.as_i64() {
        return Box::new(CelInt::from(whole));
    }
    match number.as_f64() {
        Some(real) if real.fract() == 0.0 && real.abs() < 9.2e18 => Box::new(CelInt::from(real as i64)),
        Some(real) => Box::new(CelDouble::from(real)),
        None => Box::new(CelNull),
    }
}

/// Converts a scalar to JSON; `None` if it is none, or JSON cannot hold its type.
pub(super) fn scalar_to_json(value: &dyn Val) -> Option<Result<Value, String>> {
    if value.downcast_ref::<CelNull>().is_some() {
        return Some(Ok(Value::Null));
    }
    if let Some(yes) = value.downcast_ref::<CelBool>() {
        return Some(Ok(Value::Bool(*yes.inner())));
    }
    if let Some(whole) = value.downcast_ref::<CelInt>() {
        return Some(Ok(Value::from(*whole.inner())));
    }
    if let Some(whole) = value.downcast_ref::<CelUInt>() {
        return Some(Ok(Value::from(*whole.inner())));
    }
    if let Some(real) = value.downcast_ref::<CelDouble>() {
        let number = Number::from_f64(*real.inner()).map(Value::Number);
        return Some(number.ok_or_else(|| "a result is not a number".to_owned()));
    }
    value
        .downcast_ref::<CelString<'_>>()
        .map(|text| Ok(Value::String(text.inner().to_owned())))
}
