//! Maps made by `transformMap` and `transformMapEntry`, and `jsonpatch.escapeKey`.
//!
//! Decides that a key may come once only.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]
#![expect(
    clippy::disallowed_types,
    reason = "the engine's maps are hash maps; nothing here depends on their order"
)]

use super::errors::no_overload;
use crate::cost::sorted_keys;
use crate::plain::scalar_to_json;
use ::cel::common::types::{CelList, CelMap, CelMapKey, CelString, LIST_TYPE};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_overload};
use kubernetes::json_pointer;
use std::collections::HashMap;

type Result<T> = std::result::Result<T, ExecutionError>;
type Entries<'v> = HashMap<CelMapKey<'v>, Box<dyn Val + 'v>>;

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_overload("@mapOfPairs", "@mapOfPairs(list)", vec![LIST_TYPE], of_pairs)?;
    env.add_overload("@mapOfMaps", "@mapOfMaps(list)", vec![LIST_TYPE], of_maps)?;
    add_overload!(env, fn escape_key: (CelString<'_>) -> CelString<'_>, name = "jsonpatch.escapeKey")
}

fn list<'a, 'v>(args: &'a [CowVal<'_, 'v>]) -> Result<&'a [Box<dyn Val + 'v>]> {
    let list = args.first().and_then(|list| list.downcast_ref::<CelList<'v>>());
    list.map(CelList::inner)
        .ok_or_else(|| no_overload("transformMap"))
}

fn insert<'v>(entries: &mut Entries<'v>, key: CelMapKey<'v>, value: Box<dyn Val + 'v>) -> Result<()> {
    if entries.contains_key(&key) {
        // Keys are scalars.
        let shown = scalar_to_json(key.inner())
            .and_then(std::result::Result::ok)
            .unwrap_or_default();
        return Err(ExecutionError::function_error(
            "transformMap",
            format!("insert failed: key {shown} already exists"),
        ));
    }
    entries.insert(key, value);
    Ok(())
}

fn of_pairs<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut entries = Entries::new();
    for pair in list(&args)? {
        let pair = pair.downcast_ref::<CelList<'v>>().map(CelList::inner);
        let Some([key, value]) = pair else {
            return Err(no_overload("transformMap"));
        };
        let key = CelMapKey::try_from(CowVal::Borrowed(key.as_ref()))?;
        insert(&mut entries, key, value.clone_as_boxed())?;
    }
    Ok(CowVal::owned(CelMap::from(entries)))
}

fn of_maps<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut entries = Entries::new();
    for map in list(&args)? {
        let map = map
            .downcast_ref::<CelMap<'v>>()
            .ok_or_else(|| no_overload("transformMapEntry"))?;
        for key in sorted_keys(map) {
            let key = CelMapKey::try_from(CowVal::Owned(key))?;
            if let Some(value) = map.inner().get(&key) {
                insert(&mut entries, key, value.clone_as_boxed())?;
            }
        }
    }
    Ok(CowVal::owned(CelMap::from(entries)))
}

fn escape_key(key: &CelString<'_>) -> CelString<'static> {
    json_pointer::escape(key.inner()).into()
}
