//! Reading the body of a request.
//!
//! Decides how large it may be and how slow: a caller that dribbles bytes is cut off long before the time for a whole body
//! is up.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It is too large.
    TooLarge,
    /// It took too long, or came too slowly.
    TooSlow,
    /// It ended early.
    EndedEarly,
}

/// Reads a body within the limits.
pub(super) async fn read(body: Body, limits: &Limits) -> Result<Bytes, Broken> {
    let mut body = Limited::new(body, limits.body_bytes);
    let begun = Instant::now();
    let mut bytes = BytesMut::new();
    loop {
        let patience = limits.body.min(earned(bytes.len(), limits));
        let frame = match timeout_at(begun + patience, body.frame()).await {
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(error))) if error.is::<LengthLimitError>() => return Err(Broken::TooLarge),
            Ok(Some(Err(_))) => return Err(Broken::EndedEarly),
            Ok(None) => return Ok(bytes.freeze()),
            Err(_) => return Err(Broken::TooSlow),
        };
        if let Some(data) = frame.data_ref() {
            bytes.extend_from_slice(data);
        }
    }
}

/// Returns how long a body may have taken that has so many bytes so far.
fn earned(bytes: usize, limits: &Limits) -> Duration {
    let millis = bytes.saturating_mul(1000) / limits.body_rate.max(1);
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    limits.body_grace.saturating_add(Duration::from_millis(millis))
}
