//! Reading a request: its deadline and its body.
//!
//! An API server stores an object when its webhook does not answer in time and its failure policy is `Ignore`. Its clock starts before
//! the head of the request is sent, so the time counts from the arrival of the head, and not from the end of the body.
//!
//! A client that dribbles bytes loses its memory and its place among the requests long before the time for a whole body is up, and its
//! response comes in the second half of that time. Memory is taken for the bytes that have come; what is only announced takes none. Of a body that is too large, or for which there is no memory, the beginning is kept, which has the
//! uid of the review; the rest is read and dropped, because a response that is sent before the end of a request may be lost.

use std::hash::{BuildHasher as _, RandomState};
use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use kubernetes::duration::GoDuration;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use super::connection_state::Connection;
use super::limits::Limits;
use super::quota::Allocation;

/// An API server gives a webhook no more than thirty seconds.
const LONGEST: Duration = Duration::from_secs(30);
/// The part of the timeout that is left to the API server, which encodes the review before it sends it, and to the network.
const MARGIN: u32 = 5;

/// When the head of a request arrived.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeadArrived(pub(super) Instant);

/// Returns the time by which the caller must have its answer: a fifth of its timeout before the end of that.
pub(super) fn answer_by(request: &Request<Body>, limits: &Limits) -> Instant {
    let arrived = request.extensions().get::<HeadArrived>();
    let arrived = arrived.map_or_else(Instant::now, |arrived| arrived.0);
    let timeout = request.uri().query().and_then(timeout);
    let timeout = timeout.unwrap_or(limits.caller_timeout).min(LONGEST);
    arrived + timeout - timeout / MARGIN
}

/// Reads the parameter with which an API server announces how long it waits, such as `timeout=10s`.
fn timeout(query: &str) -> Option<Duration> {
    let mut given = query.split('&').filter_map(|one| one.strip_prefix("timeout="));
    GoDuration::parse(given.next()?).ok()?.length()
}

/// Into how many parts the time is divided in which slow senders are answered.
const PARTS: u32 = 256;

/// How much of a body is kept that is not kept whole.
const BEGINNING: usize = 64 << 10;

/// Why a body could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is too large; this is how it begins.
    TooLarge(Bytes),
    /// It took too long, or came too slowly; this is how it begins.
    TooSlow(Bytes),
    /// It ended early.
    EndedEarly,
    /// It does not fit; this is how it begins.
    NoMemory(Bytes),
}

/// A body that is arriving.
pub(super) struct ArrivingBody<'l> {
    limits: &'l Limits,
    begun: Instant,
}

impl<'l> ArrivingBody<'l> {
    /// Returns the body of a request whose head has arrived.
    pub(super) fn begins(limits: &'l Limits) -> Self {
        Self {
            limits,
            begun: Instant::now(),
        }
    }

    /// Reads it within the limits, and takes memory for it.
    pub(super) async fn read(
        &self,
        mut body: Body,
        memory: &mut Allocation,
        conn: &Connection,
    ) -> Result<Bytes, Unread> {
        let limits = self.limits;
        // Bodies on one connection share its window: one that waits behind others is not slow.
        let others = conn.body_bytes();
        let came = || conn.body_bytes().wrapping_sub(others);
        let mut bytes = BytesMut::new();
        let mut received: usize = 0;
        let mut fits = true;
        loop {
            let patience = limits.body.min(earned(came(), limits));
            let frame = match timeout_at(self.begun + patience, body.frame()).await {
                Err(_) if patience < limits.body.min(earned(came(), limits)) => continue,
                Ok(Some(Ok(frame))) => frame,
                Ok(Some(Err(_))) => return Err(Unread::EndedEarly),
                Ok(None) if received > limits.body_bytes => return Err(Unread::TooLarge(bytes.freeze())),
                Ok(None) if !fits => return Err(Unread::NoMemory(bytes.freeze())),
                Ok(None) => return Ok(bytes.freeze()),
                Err(_) => return Err(Unread::TooSlow(bytes.freeze())),
            };
            let Some(data) = frame.data_ref() else {
                continue;
            };
            conn.credit_body(data.len());
            received = received.saturating_add(data.len());
            if received > limits.discarded_bytes.max(limits.body_bytes) {
                return Err(Unread::TooLarge(bytes.freeze()));
            }
            let is_kept = fits && received <= limits.body_bytes;
            if is_kept && memory.grow(data.len(), limits.patience).await {
                bytes.extend_from_slice(data);
                continue;
            }
            fits &= !is_kept;
            bytes.truncate(BEGINNING);
            let rest = BEGINNING.saturating_sub(bytes.len()).min(data.len());
            bytes.extend_from_slice(data.get(..rest).unwrap_or_default());
        }
    }

    /// Waits, after what the body holds was given back, until its response may be sent. A slow sender is answered in the second half
    /// of the time for a body: one that is sent away early connects again, and a handshake costs more than waiting. When exactly is
    /// random, so that many senders do not all come again at the same moment. A server that ends waits for none of them.
    pub(super) async fn outlasts(self, unread: Unread, closing: &CancellationToken) {
        let is_slow = matches!(unread, Unread::TooSlow(_));
        drop(unread);
        if is_slow {
            let half = self.limits.body / 2;
            let part = u32::try_from(RandomState::new().hash_one(0) % u64::from(PARTS)).unwrap_or_default();
            tokio::select! {
                () = sleep_until(self.begun + half + half / PARTS * part) => {}
                () = closing.cancelled() => {}
            }
        }
    }
}

/// Returns how long a body may have taken when so many bytes have come on its connection since it began.
fn earned(bytes: usize, limits: &Limits) -> Duration {
    let millis = bytes.saturating_mul(1000) / limits.body_rate.max(1);
    let millis = u64::try_from(millis).unwrap_or(u64::MAX);
    limits.body_grace.saturating_add(Duration::from_millis(millis))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_timeout_of_the_caller_counts_from_the_head_and_leaves_a_margin() {
        let limits = Limits::default();
        let arrived = Instant::now();
        for (path, seconds) in [
            ("/validate?timeout=10s", 8.0),
            ("/validate/secret?a=b&timeout=2s", 1.6),
            ("/validate?timeout=1m", 24.0),
            ("/validate?timeout=0s", 0.0),
            ("/validate?timeout=-1s", 8.0),
            ("/validate?timeout=banana", 8.0),
            ("/validate?xtimeout=1s", 8.0),
            ("/validate", 8.0),
        ] {
            let mut request = Request::get(path).body(Body::empty()).expect("a request");
            request.extensions_mut().insert(HeadArrived(arrived));
            let time = answer_by(&request, &limits) - arrived;
            assert_eq!(time, Duration::from_secs_f64(seconds), "{path}");
        }
    }
}
