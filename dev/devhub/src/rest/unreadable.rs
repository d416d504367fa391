//! The answers to bodies that cannot be read, whatever their encoding.
//!
//! Decides how a refusal reads and how much of the body it shows.

use std::fmt::Write as _;

use super::call::Call;
use crate::error::ApiError;

/// Returns the answer to a body of a type that is not read.
pub(super) fn unsupported(accepted: &str) -> ApiError {
    let text = "the body of the request was in an unknown format - accepted media types include: ";
    ApiError::new(415, "UnsupportedMediaType", format!("{text}{accepted}"))
}

/// Returns the answer to a body of which not even the kind can be read.
pub(super) fn unrecognized(call: &Call, fault: &str) -> ApiError {
    let (kind, shown) = (&call.served.resource.kind, summary(&call.body));
    ApiError::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {fault} ({shown})"
    ))
}

/// Shows the beginning of a body, in hex if it does not look like JSON.
fn summary(body: &[u8]) -> String {
    const LIMIT: usize = 30;
    let head = body.get(..LIMIT).unwrap_or(body);
    let tail = if body.len() > LIMIT { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{tail}", String::from_utf8_lossy(head)),
        Some(_) => {
            let mut hex = String::with_capacity(head.len() * 2 + tail.len());
            for byte in head {
                // Writing into memory has no way to fail.
                write!(hex, "{byte:02x}").unwrap_or_default();
            }
            hex + tail
        }
    }
}
