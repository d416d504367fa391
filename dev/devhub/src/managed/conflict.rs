//! The refusal of an apply that others mind.
//!
//! Decides nothing but words.

use std::collections::BTreeMap;

use managed_fields::{Conflict, Path};
use serde_json::{Value, json};

use super::entries::Managers;
use crate::error::ApiError;

/// Returns the answer to an apply with conflicts.
pub(super) fn conflicted(conflicts: &[Conflict], managers: &Managers) -> ApiError {
    let all: BTreeMap<&String, Vec<Path>> = conflicts
        .iter()
        .map(|conflict| (&conflict.owner, conflict.set.paths()))
        .collect();
    let each = all.iter().flat_map(|(owner, paths)| {
        let name = spelled(owner, managers);
        paths.iter().map(move |path| (name.clone(), path.to_string()))
    });
    let each: Vec<(String, String)> = each.collect();
    let causes: Vec<Value> = each
        .iter()
        .map(|(name, path)| {
            json!({ "reason": "FieldManagerConflict", "message": format!("conflict with {name}"), "field": path })
        })
        .collect();
    let message = match each.as_slice() {
        [(name, path)] => format!("Apply failed with 1 conflict: conflict with {name}: {path}"),
        many => {
            let lines = all.iter().flat_map(|(owner, paths)| {
                let head = format!("conflicts with {}:", spelled(owner, managers));
                std::iter::once(head).chain(paths.iter().map(|path| format!("- {path}")))
            });
            let lines: Vec<String> = lines.collect();
            format!("Apply failed with {} conflicts: {}", many.len(), lines.join("\n"))
        }
    };
    ApiError::new(409, "Conflict", message).with_details(json!({ "causes": causes }))
}

fn spelled(owner: &str, managers: &Managers) -> String {
    let (Some(record), Some(owned)) = (managers.records.get(owner), managers.owners.get(owner)) else {
        return format!("{owner:?}");
    };
    let mut text = format!("{:?}", record.manager);
    if !record.subresource.is_empty() {
        text = format!("{text} with subresource {:?}", record.subresource);
    }
    if !owned.applied {
        text = format!("{text} using {}", owned.version);
    }
    text
}
