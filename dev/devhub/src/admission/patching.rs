//! JSON patches of mutating webhooks.
//!
//! Decides nothing itself: the dialect is that of `crate::patch::json`.

use serde::de::IgnoredAny;
use serde_json::Value;

use crate::patch::json::{self, Decoding, JsonPatch};

/// Reads a patch document; `None` if it has no operations.
pub(super) fn read(document: &[u8]) -> Result<Option<JsonPatch>, String> {
    if document.is_empty() {
        return Ok(None);
    }
    let patch = json::decode(document, Decoding::Plain).map_err(|refused| refused.message)?;
    let empty = serde_json::from_slice::<Option<Vec<IgnoredAny>>>(document)
        .is_ok_and(|operations| operations.is_none_or(|operations| operations.is_empty()));
    Ok((!empty).then_some(patch))
}

/// Returns the patched object, or why an operation does not apply.
pub(super) fn apply(patch: &JsonPatch, object: &Value) -> Result<Value, String> {
    json::apply_or_explain(object, patch)
}
