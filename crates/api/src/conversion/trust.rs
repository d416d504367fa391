//! Which annotations count. They may hold a status, and an author who may write an object may write its annotations, but not its
//! status.
//!
//! Decides that a hub's conversion puts back only what it has signed itself. Files have no status that anyone relies on.

use serde_json::Value;

use super::version::Version;
use crate::hash::Keys;

/// The object by which `tidegate definitions` finds out who converts; no add-on has its name.
pub const PROBE: &str = "tidegate-conversion-probe";

/// Which annotations count.
#[derive(Clone, Copy, Debug)]
pub enum Trust<'a> {
    /// All of them, and none is signed: objects in files.
    Everything,
    /// Those that one of these keys has signed: objects of a hub.
    Keys(&'a Keys),
}

impl Trust<'_> {
    /// Returns what an annotation of an object keeps, if it counts.
    pub(super) fn open<'t>(self, whole: &Value, of: Version, text: &'t str) -> Option<&'t str> {
        let (signature, kept) = match text.split_once(' ') {
            Some((signature, kept)) if !text.starts_with('{') => (signature, kept),
            Some(_) | None => ("", text),
        };
        match self {
            Self::Everything => Some(kept),
            Self::Keys(keys) => {
                let counts =
                    keys.verifies(&parts(whole, of, kept), signature) || name(whole, "name") == PROBE;
                counts.then_some(kept)
            }
        }
    }

    /// Returns the annotation of an object for what it keeps.
    pub(super) fn close(self, whole: &Value, of: Version, kept: String) -> String {
        let signature = match self {
            Self::Everything => None,
            Self::Keys(keys) => keys.sign(&parts(whole, of, &kept)),
        };
        match signature {
            Some(signature) => format!("{signature} {kept}"),
            None => kept,
        }
    }
}

/// The object is part of it, so that no signature counts in another one.
fn parts<'p>(whole: &'p Value, of: Version, kept: &'p str) -> [&'p str; 5] {
    let kind = whole.get("kind").and_then(Value::as_str).unwrap_or_default();
    [
        of.kept_in(),
        kind,
        name(whole, "namespace"),
        name(whole, "name"),
        kept,
    ]
}

fn name<'p>(whole: &'p Value, part: &str) -> &'p str {
    let found = whole
        .get("metadata")
        .and_then(|metadata| metadata.get(part)?.as_str());
    found.unwrap_or_default()
}
