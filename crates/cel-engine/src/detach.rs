//! Copies of values that borrow nothing.
//!
//! Decides nothing: a copy equals its original.

use super::library::{
    Authorizer, Cidr, Format, Grant, GroupCheck, Ip, PathCheck, Quantity, ResourceCheck, Semver, Url,
};
use ::cel::ExecutionError;
use ::cel::common::types::{
    CelBool, CelBytes, CelDouble, CelDuration, CelInt, CelList, CelMap, CelMapKey, CelNull, CelOptional,
    CelString, CelTimestamp, CelType, CelUInt,
};
use ::cel::common::value::{CowVal, StaticVal, Val};

type Detached = Box<dyn Val>;

/// Copies a value.
pub(super) fn detach(value: &dyn Val) -> Result<Detached, ExecutionError> {
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        return Ok(Box::new(CelString::from(text.inner().to_owned())));
    }
    if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        let items = list.inner().iter().map(|item| detach(item.as_ref()));
        return Ok(Box::new(CelList::from(items.collect::<Result<Vec<_>, _>>()?)));
    }
    if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        return detach_map(map);
    }
    if let Some(optional) = value.downcast_ref::<CelOptional<'_>>() {
        return Ok(Box::new(match optional.inner() {
            Some(inner) => CelOptional::of(detach(inner)?),
            None => CelOptional::none(),
        }));
    }
    if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        return Ok(Box::new(CelBytes::from(bytes.inner().to_vec())));
    }
    scalar(value).ok_or_else(|| {
        let words = format!("a value of type {} cannot be kept", value.get_type().name());
        ExecutionError::function_error("variables", words)
    })
}

#[expect(
    clippy::disallowed_types,
    reason = "the engine's maps are hash maps; nothing here depends on their order"
)]
fn detach_map(map: &CelMap<'_>) -> Result<Detached, ExecutionError> {
    let entries = map.inner().iter().map(|(key, value)| {
        let key = CelMapKey::try_from(CowVal::Owned(detach(key.inner())?))?;
        Ok((key, detach(value.as_ref())?))
    });
    let entries: Result<std::collections::HashMap<_, _>, ExecutionError> = entries.collect();
    Ok(Box::new(CelMap::from(entries?)))
}

fn scalar(value: &dyn Val) -> Option<Detached> {
    copy::<CelBool>(value)
        .or_else(|| copy::<CelInt>(value))
        .or_else(|| copy::<CelUInt>(value))
        .or_else(|| copy::<CelDouble>(value))
        .or_else(|| copy::<CelNull>(value))
        .or_else(|| copy::<CelTimestamp>(value))
        .or_else(|| copy::<CelDuration>(value))
        .or_else(|| copy::<CelType>(value))
        .or_else(|| copy::<Quantity>(value))
        .or_else(|| copy::<Semver>(value))
        .or_else(|| copy::<Ip>(value))
        .or_else(|| copy::<Cidr>(value))
        .or_else(|| copy::<Url>(value))
        .or_else(|| copy::<Format>(value))
        .or_else(|| copy::<Authorizer>(value))
        .or_else(|| copy::<PathCheck>(value))
        .or_else(|| copy::<GroupCheck>(value))
        .or_else(|| copy::<ResourceCheck>(value))
        .or_else(|| copy::<Grant>(value))
}

fn copy<T: StaticVal>(value: &dyn Val) -> Option<Detached> {
    value.downcast_ref::<T>().map(Val::clone_as_boxed)
}
