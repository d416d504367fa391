//! Reads the value checks of a schema: required, enum, pattern, bounds, counts.
//!
//! Decides whether the checks themselves make sense; never applies them.

use super::level::{is_true, texts};
use crate::error::FieldError;
use crate::fault;
use crate::node::{Bound, Limits, Sizes};
use crate::path::Path;
use kubernetes::regexp::Pattern;
use serde_json::{Map, Value};

/// Reads the checks of one schema; `None` when it has none.
pub(super) fn read(
    words: &Map<String, Value>,
    path: &Path<'_>,
    structural: &mut Vec<FieldError>,
    faults: &mut Vec<FieldError>,
) -> Option<Box<Limits>> {
    const KEYWORDS: [&str; 13] = [
        "enum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "uniqueItems",
    ];
    if !KEYWORDS.iter().any(|keyword| words.contains_key(*keyword)) {
        return None;
    }
    if is_true(words, "uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        faults.push(fault::forbidden(&path.child("uniqueItems"), detail));
    }
    let sizes = |least: &str, most: &str| Sizes {
        least: count(words, least),
        most: count(words, most),
    };
    let limits = Limits {
        required: texts(words, "required"),
        legal: words
            .get("enum")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default(),
        pattern: pattern(words, path, structural),
        minimum: bound(words, "minimum", "exclusiveMinimum"),
        maximum: bound(words, "maximum", "exclusiveMaximum"),
        multiple_of: words.get("multipleOf").and_then(Value::as_number).cloned(),
        length: sizes("minLength", "maxLength"),
        items: sizes("minItems", "maxItems"),
        members: sizes("minProperties", "maxProperties"),
    };
    Some(Box::new(limits))
}

fn count(words: &Map<String, Value>, name: &str) -> Option<u64> {
    words.get(name).and_then(Value::as_u64)
}

fn bound(words: &Map<String, Value>, name: &str, exclusive: &str) -> Option<Bound> {
    let at = words.get(name)?.as_number()?.clone();
    Some(Bound {
        at,
        exclusive: is_true(words, exclusive),
    })
}

fn pattern(words: &Map<String, Value>, path: &Path<'_>, faults: &mut Vec<FieldError>) -> Option<Pattern> {
    let given = words.get("pattern")?;
    let text = given.as_str().filter(|text| !text.is_empty())?;
    match Pattern::parse(text) {
        Ok(pattern) => Some(pattern),
        Err(words) => {
            let detail = format!("must be a valid regular expression, but isn't: {words}");
            faults.push(fault::invalid(&path.child("pattern"), given, &detail));
            None
        }
    }
}
