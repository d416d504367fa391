//! Until when a review must be answered.
//!
//! An API server stores an object when its webhook does not answer in time and its failure policy is `Ignore`. Its clock starts
//! before the head of the request is sent, so the time counts from the arrival of the head, and not from the end of the body.

use std::time::Duration;

use axum::body::Body;
use axum::http::Request;
use kubernetes::duration::GoDuration;
use tokio::time::Instant;

use super::limits::Limits;

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
