//! What a column is.
//!
//! Decides how one is defined and what the age of every built-in kind looks like.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::age::age_at;

/// Marks descriptions that come from the schema of metadata.
pub(super) const NAME: &str = "\0name";
pub(super) const CREATED: &str = "\0creationTimestamp";

/// One column of a built-in kind.
pub(super) struct BuiltIn {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) priority: i32,
    pub(super) description: &'static str,
    pub(super) cell: fn(&Value, Timestamp) -> Value,
}

/// Returns a column that is always shown.
pub(super) const fn column(
    name: &'static str,
    kind: &'static str,
    description: &'static str,
    cell: fn(&Value, Timestamp) -> Value,
) -> BuiltIn {
    BuiltIn {
        name,
        kind,
        priority: 0,
        description,
        cell,
    }
}

/// Keeps a column for those who ask for more.
pub(super) const fn wide(mut column: BuiltIn) -> BuiltIn {
    column.priority = 1;
    column
}

/// How long ago an object was created.
pub(super) const AGE: BuiltIn = column("Age", "string", CREATED, |object, now| {
    json!(age_at(object, "/metadata/creationTimestamp", now))
});

/// Returns the definition of a column as tables carry it.
pub(super) fn definition(name: &str, kind: &str, format: &str, description: &str, priority: i32) -> Value {
    let description = match description.strip_prefix('\0') {
        Some(member) => metadata_description(member),
        None => description,
    };
    json!({ "name": name, "type": kind, "format": format, "description": description, "priority": priority })
}

fn metadata_description(member: &str) -> &'static str {
    let definition = crate::builtin::schema::definition(crate::builtin::schema::OBJECT_META);
    let member = definition.and_then(|(_, definition)| definition.get("properties")?.get(member));
    member
        .and_then(|member| member.get("description")?.as_str())
        .unwrap_or_default()
}
