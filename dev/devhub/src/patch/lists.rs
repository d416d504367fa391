//! Lists inside a strategic merge patch: merging by key or as a set, and the order of what comes out.
//!
//! Decides contents and order of one merged list. Items that the patch names keep the order of the patch, the others keep the
//! order of the live list, and the two rows are zipped by the live order where that says anything.

use serde_json::Value;

use super::kinds::Field;
use super::strategic::{Fault, PATCH, merge_object};

/// Merges the list `patch` into `live`.
pub(super) fn merge(mut live: Vec<Value>, patch: Vec<Value>, field: Field) -> Result<Vec<Value>, Fault> {
    let Some(key) = field.merge_key() else {
        let mut merged = live.clone();
        merged.extend(patch.iter().cloned());
        let mut unique: Vec<Value> = Vec::with_capacity(merged.len());
        for item in merged {
            if !unique.contains(&item) {
                unique.push(item);
            }
        }
        return order(unique, &patch, &live, field);
    };
    let mut items = Vec::with_capacity(patch.len());
    let mut replace = false;
    for item in patch {
        match item.get(PATCH).map(Value::as_str) {
            None => items.push(item),
            Some(Some("delete")) => {
                let gone = item.get(key).ok_or_else(|| no_merge_key(&item, key))?;
                live.retain(|old| old.get(key) != Some(gone));
            }
            Some(Some("replace")) => replace = true,
            Some(Some("merge")) => {
                return Err(Fault::Other(
                    "merging lists cannot yet be specified in the patch".to_owned(),
                ));
            }
            Some(_) => return Err(Fault::Directive),
        }
    }
    if replace {
        return Ok(items);
    }
    let mut merged = live.clone();
    for item in &items {
        let Value::Object(change) = item else {
            return Err(no_merge_key(item, key));
        };
        let name = change.get(key).ok_or_else(|| no_merge_key(item, key))?;
        match merged.iter_mut().find(|old| old.get(key) == Some(name)) {
            Some(Value::Object(old)) => {
                *old = merge_object(std::mem::take(old), change.clone(), field.node())?;
            }
            Some(other) => *other = item.clone(),
            None => merged.push(item.clone()),
        }
    }
    order(merged, &items, &live, field)
}

/// Puts `merged` in order: items named in `wanted` in that order, the others as in `live`.
pub(super) fn order(
    merged: Vec<Value>,
    wanted: &[Value],
    live: &[Value],
    field: Field,
) -> Result<Vec<Value>, Fault> {
    let key = field.merge_key();
    let place = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item, key));
    if let Some(key) = key
        && let Some(item) = merged.iter().chain(wanted).find(|item| item.get(key).is_none())
    {
        return Err(no_merge_key(item, key));
    }
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        merged.into_iter().partition(|item| place(wanted, item).is_some());
    named.sort_by_key(|item| place(wanted, item));
    others.sort_by_key(|item| place(live, item).unwrap_or(usize::MAX));
    let mut out = Vec::with_capacity(named.len() + others.len());
    let (mut named, mut others) = (named.into_iter().peekable(), others.into_iter().peekable());
    while let (Some(left), Some(right)) = (others.peek(), named.peek()) {
        let before =
            matches!((place(live, left), place(live, right)), (Some(left), Some(right)) if left < right);
        out.extend(if before { others.next() } else { named.next() });
    }
    out.extend(named);
    out.extend(others);
    Ok(out)
}

/// Checks that the list of a patch has the order of its `$setElementOrder`.
pub(super) fn check_order(patch: &[Value], wanted: &[Value], field: Field) -> Result<(), Fault> {
    let key = field.merge_key();
    let kept: Vec<&Value> = patch
        .iter()
        .filter(|item| item.get(PATCH).is_none_or(|directive| directive != "delete"))
        .collect();
    let mut rest = kept.iter().peekable();
    for item in wanted {
        if rest.peek().is_some_and(|next| same(next, item, key)) {
            rest.next();
        }
    }
    if rest.peek().is_none() {
        return Ok(());
    }
    let print = |items: &[Value]| kubernetes::print::plain(&Value::Array(items.to_vec()));
    Err(Fault::Other(format!(
        "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
        print(patch),
        print(wanted)
    )))
}

fn same(left: &Value, right: &Value, key: Option<&str>) -> bool {
    match key {
        Some(key) => left.get(key).is_some() && left.get(key) == right.get(key),
        None => left == right,
    }
}

fn no_merge_key(item: &Value, key: &str) -> Fault {
    Fault::Other(format!(
        "map: {} does not contain declared merge key: {key}",
        kubernetes::print::plain(item)
    ))
}
