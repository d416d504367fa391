//! The schemas of Kubernetes' own kinds, as a table that is read once.
//!
//! Decides how the table is written: a block a definition, a line a field, its name and its type. Made from k8s-openapi
//! (`tests/manifest_table.rs`), without the prose that would be most of it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde_json::Value;

/// The table.
const TABLE: &str = include_str!("schemas.txt");

/// The type of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A text.
    Text,
    /// A text that is base64.
    Bytes,
    /// A whole number.
    Whole,
    /// A number.
    Number,
    /// `true` or `false`.
    Truth,
    /// A quantity: a text or a number.
    Quantity,
    /// A text or a whole number.
    TextOrWhole,
    /// Any value.
    Anything,
    /// A list.
    List(Box<Self>),
    /// A map.
    Map(Box<Self>),
    /// Fields of a definition.
    Fields(&'static str),
}

/// A field of a definition.
#[derive(Clone, Debug)]
pub(super) struct Field {
    /// What it holds.
    pub(super) of: Type,
    /// Whether it has to be there.
    pub(super) required: bool,
}

/// The fields of a definition by name.
pub(super) type Fields = BTreeMap<&'static str, Field>;

struct Schemas {
    roots: BTreeMap<(&'static str, &'static str), &'static str>,
    definitions: BTreeMap<&'static str, Fields>,
}

static SCHEMAS: LazyLock<Schemas> = LazyLock::new(|| read(TABLE));

fn read(table: &'static str) -> Schemas {
    let mut schemas = Schemas {
        roots: BTreeMap::new(),
        definitions: BTreeMap::new(),
    };
    let mut here = "";
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        if let Some(name) = line.strip_prefix('@') {
            here = name;
            schemas.definitions.entry(here).or_default();
            continue;
        }
        let mut words = line.split(' ');
        match (words.next(), words.next(), words.next()) {
            (Some(version), Some(kind), Some(definition)) => {
                schemas.roots.insert((version, kind), definition);
            }
            (Some(name), Some(of), None) => {
                let (name, required) = name.strip_suffix('!').map_or((name, false), |name| (name, true));
                let field = Field {
                    of: type_of(of),
                    required,
                };
                schemas.definitions.entry(here).or_default().insert(name, field);
            }
            (Some(_) | None, None, _) | (None, Some(_), _) => {}
        }
    }
    schemas
}

fn type_of(word: &'static str) -> Type {
    if let Some(of) = word.strip_prefix("[]") {
        return Type::List(Box::new(type_of(of)));
    }
    if let Some(of) = word.strip_prefix("{}") {
        return Type::Map(Box::new(type_of(of)));
    }
    match word {
        "text" => Type::Text,
        "bytes" => Type::Bytes,
        "whole" => Type::Whole,
        "number" => Type::Number,
        "bool" => Type::Truth,
        "quantity" => Type::Quantity,
        "text-or-whole" => Type::TextOrWhole,
        "any" => Type::Anything,
        name => Type::Fields(name),
    }
}

/// Returns the definition of the kind of a manifest, if it is one of those that are judged.
pub(super) fn root_of(manifest: &Value) -> Option<&'static str> {
    let version = manifest.get("apiVersion")?.as_str()?;
    let kind = manifest.get("kind")?.as_str()?;
    let roots = &SCHEMAS.roots;
    // The table lives as long as the program, what is asked with does not.
    let same = |(v, k): &(&str, &str)| *v == version && *k == kind;
    roots
        .iter()
        .find(|(key, _)| same(key))
        .map(|(_, definition)| *definition)
}

/// Returns the fields of a definition.
pub(super) fn fields_of(definition: &str) -> Option<&'static Fields> {
    SCHEMAS.definitions.get(definition)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_name_in_the_table_is_defined() {
        fn names(of: &Type) -> Option<&'static str> {
            match of {
                Type::List(of) | Type::Map(of) => names(of),
                Type::Fields(name) => Some(name),
                Type::Text
                | Type::Bytes
                | Type::Whole
                | Type::Number
                | Type::Truth
                | Type::Quantity
                | Type::TextOrWhole
                | Type::Anything => None,
            }
        }
        let fields = SCHEMAS.definitions.values().flat_map(BTreeMap::values);
        let named = fields.filter_map(|field| names(&field.of));
        for name in named.chain(SCHEMAS.roots.values().copied()) {
            assert!(fields_of(name).is_some(), "{name}");
        }
    }

    #[test]
    fn kinds_are_known_by_version_and_name() {
        let root = |version: &str, kind: &str| root_of(&json!({"apiVersion": version, "kind": kind}));
        assert_eq!(root("apps/v1", "Deployment"), Some("apps.v1.Deployment"));
        assert_eq!(root("apps/v1beta2", "Deployment"), None);
        assert_eq!(root("v1", "Deployment"), None);
        assert_eq!(root_of(&json!([])), None);
    }
}
