//! What an editor asks: the field at a place, the fields that may stand there, and the values that one may have.
//!
//! Decides how a field reads in Markdown; the words are those of the definitions. Never reads a document.

use std::fmt::Write as _;

use serde_json::Value;

use super::fields::{self, first_sentence, innermost, is_required};
use super::render::kind_of;
use super::words::NAMES;

/// A field that may stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its name.
    pub name: String,
    /// Its type, in words.
    pub kind: String,
    /// Whether an object must have it.
    pub required: bool,
    /// Whether its value is a list or a mapping, which begins below it.
    pub is_block: bool,
    /// The first sentence about it.
    pub about: String,
}

/// Returns the field at a path of a kind (`apiVersion`, `kind`) as Markdown; positions in lists are left out.
pub fn field_page(of: (&str, &str), path: &[String]) -> Option<String> {
    let found = fields::field(of, path)?;
    let schema = found.schema;
    let mut text = if found.path.is_empty() {
        format!("**{}** ({})\n", found.kind.kind, found.kind.api_version)
    } else {
        let required = if found.required { ", required" } else { "" };
        format!("**{}** ({}{required})\n", found.path, kind_of(schema))
    };
    if let Some(about) = schema.get("description").and_then(Value::as_str) {
        writeln!(text, "\n{about}").expect("writing to a string cannot fail");
    }
    let mut rows = Vec::new();
    rows.extend(
        schema
            .get("default")
            .map(|default| format!("default: `{default}`")),
    );
    let allowed = values(schema);
    if !allowed.is_empty() {
        rows.push(format!("allowed: `{}`", allowed.join("`, `")));
    }
    let said = [
        "pattern",
        "format",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
    ];
    let limits = said
        .into_iter()
        .filter_map(|name| Some((name, schema.get(name)?)));
    rows.extend(limits.map(|(name, limit)| format!("{name}: `{limit}`")));
    if !rows.is_empty() {
        writeln!(text, "\n- {}", rows.join("\n- ")).expect("writing to a string cannot fail");
    }
    Some(text)
}

/// Returns the fields that may stand below a path.
pub fn fields_below(of: (&str, &str), path: &[String]) -> Vec<Offer> {
    let Some(found) = fields::field(of, path) else {
        return Vec::new();
    };
    let inner = innermost(found.schema);
    let properties = inner.get("properties").and_then(Value::as_object);
    let each = properties.into_iter().flatten().map(|(name, schema)| {
        let about = schema
            .get("description")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let is_a = |kind: &str| schema.get("type").and_then(Value::as_str) == Some(kind);
        Offer {
            name: name.clone(),
            kind: kind_of(schema),
            required: is_required(inner, name),
            is_block: is_a("object") || is_a("array"),
            about: first_sentence(about),
        }
    });
    each.collect()
}

/// Returns the values that a field may have, where they are few.
pub fn values_at(of: (&str, &str), path: &[String]) -> Vec<String> {
    fields::field(of, path).map_or_else(Vec::new, |found| values(innermost(found.schema)))
}

fn values(schema: &Value) -> Vec<String> {
    let listed = schema.get("enum").and_then(Value::as_array);
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    match listed {
        Some(listed) => listed.iter().map(text).collect(),
        None if schema.get("type").and_then(Value::as_str) == Some("boolean") => {
            vec!["true".to_owned(), "false".to_owned()]
        }
        None => Vec::new(),
    }
}

/// Returns the annotations that mean something here, each with what it says.
pub fn annotations() -> impl Iterator<Item = (&'static str, &'static str)> {
    let all = NAMES.iter().filter(|term| term.kind == "an annotation");
    all.map(|term| (term.word, term.says))
}

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: (&str, &str) = (
        "addon.open-cluster-management.io/v1alpha1",
        "ClusterManagementAddOn",
    );

    fn path(text: &str) -> Vec<String> {
        text.split('.')
            .filter(|part| !part.is_empty())
            .map(str::to_owned)
            .collect()
    }

    #[test]
    fn a_field_reads_as_markdown_in_the_version_of_the_document() {
        let strategy = "spec.installStrategy.placements.rolloutStrategy.type";
        let text = field_page(OLD, &path(strategy)).expect("a field");
        assert!(
            text.starts_with("**spec.installStrategy.placements[].rolloutStrategy.type** (string)\n"),
            "{text}"
        );
        assert!(
            text.contains("- default: `\"All\"`\n- allowed: `All`, `Progressive`"),
            "{text}"
        );
        let new = ("addon.open-cluster-management.io/v1beta1", OLD.1);
        assert!(
            field_page(new, &path("spec.defaultConfigs")).is_some(),
            "a field of v1beta1 alone"
        );
        assert_eq!(field_page(OLD, &path("spec.defaultConfigs")), None);
        assert_eq!(field_page(("v1", "Pod"), &path("spec")), None);
        assert!(field_page(OLD, &[]).is_some_and(|text| text.starts_with("**ClusterManagementAddOn**")));
    }

    #[test]
    fn what_may_stand_at_a_place_is_offered() {
        let names: Vec<String> = fields_below(OLD, &path("spec.installStrategy.placements"))
            .into_iter()
            .map(|offer| offer.name)
            .collect();
        assert!(
            names.contains(&"rolloutStrategy".to_owned()) && names.contains(&"namespace".to_owned()),
            "{names:?}"
        );
        assert_eq!(
            values_at(OLD, &path("spec.installStrategy.type"))
                .first()
                .map(String::as_str),
            Some("Manual")
        );
        assert!(fields_below(OLD, &path("spec.nothing")).is_empty());
        assert!(versions_include(OLD));
        assert!(annotations().any(|(name, _)| name == "tidegate.io/paused"));
    }

    fn versions_include(of: (&str, &str)) -> bool {
        fields::versions_of_kinds().any(|one| one == of)
    }
}
