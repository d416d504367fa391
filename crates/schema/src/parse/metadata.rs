//! Checks what a schema says about `apiVersion`, `kind` and `metadata`, which every resource has anyway.
//!
//! Decides only whether the schema restricts more than names; never adds anything.

use super::level::Level;
use crate::error::FieldError;
use crate::fault;
use crate::path::Path;
use serde_json::Value;

/// Checks the schema of one of the three members.
pub(super) fn check(name: &str, schema: &Value, level: Level, path: &Path<'_>, faults: &mut Vec<FieldError>) {
    let wanted = if name == "metadata" { "object" } else { "string" };
    let given = schema.get("type").unwrap_or(&Value::Null);
    if given != wanted && !given.is_null() {
        faults.push(fault::invalid(
            &path.child("type"),
            given,
            &format!("must be {wanted}"),
        ));
    }
    if name == "metadata" && level == Level::Root && !restricts_names_only(schema) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        faults.push(fault::forbidden(path, detail));
    }
}

/// Upstream compares what it has read with an empty schema: even a description is too much.
fn restricts_names_only(schema: &Value) -> bool {
    let Some(words) = schema.as_object() else {
        return false;
    };
    words.iter().all(|(keyword, given)| match keyword.as_str() {
        "type" | "default" => true,
        "properties" => given.as_object().is_some_and(|members| {
            members
                .keys()
                .all(|name| matches!(name.as_str(), "name" | "generateName"))
        }),
        _ => matches!(given, Value::Null | Value::Bool(false)) || given == "",
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_metadata_only_the_names_may_be_told_and_nothing_be_said() {
        for (schema, allowed) in [
            (json!({"type": "object"}), true),
            (json!({"type": "object", "properties": {}}), true),
            (
                json!({"type": "object", "properties": {"name": {"type": "string", "pattern": "^a"}}}),
                true,
            ),
            (
                json!({"type": "object", "description": "", "nullable": false}),
                true,
            ),
            (
                json!({"type": "object", "description": "What every object has."}),
                false,
            ),
            (json!({"type": "object", "title": "Metadata"}), false),
            (
                json!({"type": "object", "properties": {"labels": {"type": "object"}}}),
                false,
            ),
            (json!({"type": "object", "required": ["name"]}), false),
        ] {
            assert_eq!(restricts_names_only(&schema), allowed, "{schema}");
        }
    }
}
