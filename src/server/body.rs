//! Reading the body of a request.
//!
//! Decides how large it may be and how slow: a caller that dribbles bytes is cut off long before the time for a whole body
//! is up. Room is taken for the bytes that have come; what is only announced takes none. Of a body that is too large, or for which
//! there is no room, the beginning is kept, which tells whose question it is; the rest passes by unseen, because an answer that comes
//! before the end of a question may be lost on its way.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use tokio::time::{Instant, timeout_at};

use super::limits::Limits;
use super::peer::Life;
use super::shares::Share;

/// How much of a body is kept that is not kept whole.
const BEGINNING: usize = 64 << 10;

/// Why a body could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Broken {
    /// It is too large; this is how it begins.
    TooLarge(Bytes),
    /// It took too long, or came too slowly; this is how it begins.
    TooSlow(Bytes),
    /// It ended early.
    EndedEarly,
    /// There is no room for it; this is how it begins.
    NoRoom(Bytes),
}

/// Reads a body within the limits, and holds room for it in `share`.
pub(super) async fn read(
    mut body: Body,
    limits: &Limits,
    share: &mut Share,
    life: &Life,
) -> Result<Bytes, Broken> {
    let begun = Instant::now();
    // Bodies on one connection share its window: one that waits behind others is not slow.
    let others = life.body_bytes();
    let came = || life.body_bytes().wrapping_sub(others);
    let mut bytes = BytesMut::new();
    let mut received: usize = 0;
    let mut has_room = true;
    loop {
        let patience = limits.body.min(earned(came(), limits));
        let frame = match timeout_at(begun + patience, body.frame()).await {
            Err(_) if patience < limits.body.min(earned(came(), limits)) => continue,
            Ok(Some(Ok(frame))) => frame,
            Ok(Some(Err(_))) => return Err(Broken::EndedEarly),
            Ok(None) if received > limits.body_bytes => return Err(Broken::TooLarge(bytes.freeze())),
            Ok(None) if !has_room => return Err(Broken::NoRoom(bytes.freeze())),
            Ok(None) => return Ok(bytes.freeze()),
            Err(_) => return Err(Broken::TooSlow(bytes.freeze())),
        };
        let Some(data) = frame.data_ref() else {
            continue;
        };
        life.explained(data.len());
        received = received.saturating_add(data.len());
        if received > limits.discarded_bytes.max(limits.body_bytes) {
            return Err(Broken::TooLarge(bytes.freeze()));
        }
        let is_kept = has_room && received <= limits.body_bytes;
        if is_kept && share.grow(data.len(), limits.patience).await {
            bytes.extend_from_slice(data);
            continue;
        }
        has_room &= !is_kept;
        bytes.truncate(BEGINNING);
        let room = BEGINNING.saturating_sub(bytes.len()).min(data.len());
        bytes.extend_from_slice(data.get(..room).unwrap_or_default());
    }
}

/// Returns how long a body may have taken when so many bytes have come on its connection since it began.
fn earned(bytes: usize, limits: &Limits) -> Duration {
    let millis = bytes.saturating_mul(1000) / limits.body_rate.max(1);
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    limits.body_grace.saturating_add(Duration::from_millis(millis))
}
