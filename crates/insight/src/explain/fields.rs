//! From a word such as `cma.spec.configs` to the schema of a field.
//!
//! Decides how kinds may be called: by kind, plural, singular or short name, in any case. A path without a kind is looked
//! for in all of them. Positions in lists may be left out.

use std::sync::LazyLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::Value;

use kubernetes::field::nearest;

/// A kind and its schema.
#[derive(Debug)]
pub(super) struct Definition {
    pub(super) kind: String,
    pub(super) api_version: String,
    names: Vec<String>,
    schema: Value,
}

/// A field of a kind.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) kind: &'static Definition,
    /// Its path, lists marked by `[]`; empty for the kind itself.
    pub(super) path: String,
    pub(super) required: bool,
    pub(super) schema: &'static Value,
}

/// What a word has led to.
#[derive(Debug)]
pub(super) enum Meaning {
    /// The fields of that name.
    Found(Vec<Field>),
    /// Nothing, and what was probably meant.
    Unknown(Vec<String>),
}

/// Kinds in the version in which they are stored: that is what words name.
static DEFINITIONS: LazyLock<Vec<Definition>> =
    LazyLock::new(|| api::crds().iter().filter_map(stored).collect());

/// Returns what stands inside of lists and maps: the schema of their values.
pub(super) fn innermost(schema: &Value) -> &Value {
    let mut inner = schema;
    while let Some(next) = inner.get("items").or_else(|| inner.get("additionalProperties")) {
        inner = next;
    }
    inner
}

/// Returns every kind with the first sentence about it.
pub(super) fn kinds() -> Vec<(String, String)> {
    let all = DEFINITIONS.iter();
    all.map(|definition| {
        let text = definition.schema.get("description").and_then(Value::as_str);
        (definition.kind.clone(), first_sentence(text.unwrap_or_default()))
    })
    .collect()
}

/// Returns the fields that a word names.
pub(super) fn ask(word: &str) -> Meaning {
    let parts = parts(word);
    let Some((first, rest)) = parts.split_first() else {
        return Meaning::Unknown(Vec::new());
    };
    if let Some(definition) = DEFINITIONS.iter().find(|definition| definition.is_called(first)) {
        return match walk(definition, rest) {
            Ok(field) => Meaning::Found(vec![field]),
            Err(near) => Meaning::Unknown(near.into_iter().collect()),
        };
    }
    let walks: Vec<Result<Field, Option<String>>> = DEFINITIONS
        .iter()
        .map(|definition| walk(definition, &parts))
        .collect();
    let (found, missed): (Vec<_>, Vec<_>) = walks.into_iter().partition(Result::is_ok);
    let found: Vec<Field> = found.into_iter().flatten().collect();
    if !found.is_empty() {
        return Meaning::Found(found);
    }
    let called = DEFINITIONS
        .iter()
        .flat_map(|definition| definition.names.iter().map(move |name| (name, definition)));
    let meant = nearest(
        &first.to_lowercase(),
        called.clone().map(|(name, _)| name.as_str()),
    );
    let kind = meant.and_then(|meant| called.clone().find(|(name, _)| *name == meant));
    let mut near: Vec<String> = kind
        .map(|(_, definition)| definition.kind.clone())
        .into_iter()
        .collect();
    near.extend(missed.into_iter().filter_map(Result::err).flatten());
    near.dedup();
    Meaning::Unknown(near)
}

impl Definition {
    fn is_called(&self, word: &str) -> bool {
        let word = word.to_lowercase();
        self.names.contains(&word)
    }
}

/// Takes a path apart; what is in brackets is a position or a key of a map.
fn parts(word: &str) -> Vec<String> {
    let mut parts = Vec::new();
    let mut rest = word;
    while let Some((before, after)) = rest.split_once('[') {
        parts.extend(before.split('.').map(str::to_owned));
        let (_, after) = after.split_once(']').unwrap_or(("", ""));
        rest = after;
    }
    parts.extend(rest.split('.').map(str::to_owned));
    parts.retain(|part| !part.is_empty());
    parts
}

fn walk(kind: &'static Definition, parts: &[String]) -> Result<Field, Option<String>> {
    let mut schema = &kind.schema;
    let (mut path, mut required) = (String::new(), false);
    for (depth, part) in parts.iter().enumerate() {
        schema = inside(schema, &mut path);
        let properties = schema.get("properties").and_then(Value::as_object);
        let Some(next) = properties.and_then(|properties| properties.get(part)) else {
            if let Some(values) = schema
                .get("additionalProperties")
                .filter(|values| values.is_object())
            {
                schema = values;
                path.push_str("[KEY]");
                continue;
            }
            // Far from any field of this kind it is no near miss, but another kind.
            let names = properties
                .into_iter()
                .flat_map(|properties| properties.keys().map(String::as_str));
            let near = nearest(part, names).filter(|_| depth > 0);
            return Err(near.map(|near| joined(&kind.kind, &path, near)));
        };
        required = is_required(schema, part);
        path = joined("", &path, part);
        schema = next;
    }
    Ok(Field {
        kind,
        path,
        required,
        schema,
    })
}

fn joined(kind: &str, path: &str, name: &str) -> String {
    [kind, path, name]
        .into_iter()
        .filter(|part| !part.is_empty())
        .collect::<Vec<_>>()
        .join(".")
}

fn inside<'s>(schema: &'s Value, path: &mut String) -> &'s Value {
    let mut schema = schema;
    while let Some(items) = schema.get("items") {
        schema = items;
        path.push_str("[]");
    }
    schema
}

/// Tells whether an object must have a field.
pub(super) fn is_required(schema: &Value, name: &str) -> bool {
    let required = schema.get("required").and_then(Value::as_array);
    required.is_some_and(|required| required.iter().any(|field| field == name))
}

/// Returns a text up to its first full stop.
pub(super) fn first_sentence(text: &str) -> String {
    text.split_once(". ")
        .map_or_else(|| text.to_owned(), |(first, _)| format!("{first}."))
}

fn stored(definition: &CustomResourceDefinition) -> Option<Definition> {
    let spec = &definition.spec;
    let names = &spec.names;
    let called = [
        Some(names.kind.as_str()),
        Some(names.plural.as_str()),
        names.singular.as_deref(),
    ];
    let short = names.short_names.iter().flatten().map(String::as_str);
    let called = called.into_iter().flatten().chain(short).map(str::to_lowercase);
    let version = spec.versions.iter().find(|version| version.storage)?;
    let schema = version.schema.as_ref()?.open_api_v3_schema.as_ref()?;
    Some(Definition {
        api_version: format!("{}/{}", spec.group, version.name),
        names: called.collect(),
        kind: names.kind.clone(),
        schema: serde_json::to_value(schema).ok()?,
    })
}
