//! Patches.
//!
//! The patch types of a kind, and the checks of the patched document; `patch` applies patches.

use serde_json::Value;

use super::apply::{apply as apply_intent, is_apply};
use super::call::Call;
use super::decode::{self, Place};
use super::errors::not_found;
use super::options::{FieldValidation, WriteOptions};
use super::part::Part;
use super::represent;
use super::unreadable::unsupported;
use super::update::change;
use crate::admission::Warnings;
use crate::builtin;
use crate::error::ApiError;
use crate::http::Reply;
use crate::patch::json::Decoding;
use crate::patch::{self, invalid_patch};

/// A patch type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dialect {
    /// JSON merge patch.
    Merge,
    /// JSON patch.
    Json,
    /// Strategic merge patch.
    Strategic,
}

impl Dialect {
    /// Returns the patch type of a request that is no apply.
    pub(super) fn of(call: &Call) -> Result<Self, ApiError> {
        match call.content_type.as_str() {
            "application/merge-patch+json" => Ok(Self::Merge),
            "application/json-patch+json" => Ok(Self::Json),
            "application/strategic-merge-patch+json" if !call.is_custom() => Ok(Self::Strategic),
            _ if call.is_custom() => Err(unsupported(
                "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
            )),
            _ => Err(
                ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")
                    .with_details(serde_json::json!({})),
            ),
        }
    }
}

/// Answers a PATCH of an object or its status.
pub(super) async fn patch(call: &Call, part: Part, warnings: &mut Warnings) -> Result<Reply, ApiError> {
    if is_apply(call) {
        return apply_intent(call, part, warnings).await;
    }
    let dialect = Dialect::of(call)?;
    let options = WriteOptions::parse(&call.query, "PatchOptions")?;
    if call.served.table.read(&call.key()).is_none() {
        return Err(not_found(&call.served.resource, &call.name));
    }
    let mode = options.validation;
    let propose = |old: &Value, warnings: &mut Warnings| {
        let mut patched = apply(call, dialect, old, mode)?;
        let words = match dialect {
            Dialect::Strategic => builtin::Dialect::Unstructured,
            Dialect::Merge | Dialect::Json => builtin::Dialect::Json,
        };
        decode::patched(
            call,
            &mut patched.document,
            patched.faults,
            (mode, words),
            warnings,
        )
        .map_err(|fault| invalid_patch(&patched.quoted, &fault))?;
        decode::check_location(call, &mut patched.document, Place::Object)?;
        Ok(patched.document)
    };
    let stored = change(call, part, &propose, &options, warnings).await?;
    represent::object(call, 200, &stored)
}

/// A document after a patch.
pub(super) struct Patched {
    /// The document.
    pub(super) document: Value,
    /// What strict decoding says of the patch itself.
    pub(super) faults: Vec<String>,
    /// What the refusal of an unreadable document quotes.
    pub(super) quoted: String,
}

/// Applies the patch of a request to a document.
pub(super) fn apply(
    call: &Call,
    dialect: Dialect,
    document: &Value,
    mode: FieldValidation,
) -> Result<Patched, ApiError> {
    let decoding = if mode == FieldValidation::Ignore {
        Decoding::Plain
    } else {
        Decoding::Checked
    };
    match dialect {
        Dialect::Merge => {
            let patch = patch::merge::decode(&call.body, decoding)?;
            let mut document = document.clone();
            patch::merge::apply(&mut document, &patch.value);
            let quoted = document.to_string();
            Ok(Patched {
                document,
                faults: patch.strict,
                quoted,
            })
        }
        Dialect::Json => {
            let patch = patch::json::decode(&call.body, decoding)?;
            let document = patch::json::apply(document, &patch)?;
            let quoted = document.to_string();
            Ok(Patched {
                document,
                faults: patch.strict,
                quoted,
            })
        }
        Dialect::Strategic => {
            let resource = &call.served.resource;
            let patch = patch::strategic::decode(&call.body, decoding)?;
            let kind = patch::kinds::of(&resource.group, &resource.kind);
            let document = patch::strategic::apply(document, &patch.value, kind)?;
            let quoted = kubernetes::print::plain(&patch.value);
            Ok(Patched {
                document,
                faults: patch.strict,
                quoted,
            })
        }
    }
}
