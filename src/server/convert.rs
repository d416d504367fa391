//! `/convert`: objects in the other version.
//!
//! Decides how large a review may be and how many are converted at once, in turns by address; what becomes of an object
//! `conversion` says. Asks no hub and needs no fact, so that it answers before anything else of this program is ready: a hub whose conversions wait for its own
//! controllers would never start.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode};
use tokio::task::JoinError;

use super::body::{self, Broken};
use super::limits::Limits;
use super::peer::Peer;
use super::routes::{AppState, admitted, busy, is_json, json, plain};
use super::turns::Turns;
use api::conversion::Extensions;

/// The largest review that is read, in bytes: a list of ten thousand add-ons comes as one.
const MOST_BYTES: usize = 64 << 20;
/// How many are converted at once; each holds its review and its answer.
const AT_ONCE: usize = 2;
/// How long a review that was read waits for its turn behind large ones: an API server waits thirty seconds for its answer, and
/// what is refused here fails what it reads.
const TURN: Duration = Duration::from_secs(5);

/// The places for conversions.
pub(super) struct Converting(Turns);

impl Default for Converting {
    fn default() -> Self {
        Self(Turns::new(AT_ONCE))
    }
}

impl Converting {
    /// Does some work when its turn comes in time. A conversion cannot be stopped: its place is taken until it has ended, whether
    /// or not its caller still waits.
    async fn work<T: Send + 'static>(
        &self,
        peer: Peer,
        patience: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<Result<T, JoinError>> {
        let turn = self.0.take(peer, patience).await?;
        let job = tokio::task::spawn_blocking(move || {
            let _turn = turn;
            work()
        });
        Some(job.await)
    }
}

pub(super) async fn convert(
    State(desk): State<Arc<AppState>>,
    extensions: Extensions,
    request: Request<Body>,
) -> Response<Body> {
    let Some(life) = admitted(&desk, &request) else {
        desk.turns_away("convert");
        return plain(StatusCode::NOT_FOUND, "");
    };
    if !is_json(request.headers()) {
        let told = "the content type must be application/json";
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, told);
    }
    let (peer, standing) = (life.peer(), life.standing());
    let Some(_under_way) = desk.requests.one(peer, standing) else {
        return busy();
    };
    let limits = Limits {
        body_bytes: MOST_BYTES,
        discarded_bytes: MOST_BYTES,
        body: desk.limits.body.saturating_mul(4),
        ..desk.limits
    };
    let mut held = desk.buffering.open(peer, standing);
    let bytes = match body::read(request.into_body(), &limits, &mut held, &life).await {
        Ok(bytes) => bytes,
        Err(broken) => return refused(&broken),
    };
    // The answer is about as large as the review, and has its room until the caller has taken it.
    let keys = Arc::clone(&desk.rulebook.load().keys);
    let work = move || api::conversion::answer(&bytes, extensions, &keys).map(|answer| held.keeps(answer));
    match desk.converting.work(peer, TURN, work).await {
        Some(Ok(Ok(answer))) => {
            life.reviewed();
            json(StatusCode::OK, answer)
        }
        Some(Ok(Err(error))) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
        Some(Err(_panicked)) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the conversion failed"),
        None => busy(),
    }
}

fn refused(broken: &Broken) -> Response<Body> {
    match broken {
        Broken::TooLarge(_) => plain(StatusCode::PAYLOAD_TOO_LARGE, "the review is larger than 64 MiB"),
        Broken::TooSlow(_) => plain(StatusCode::REQUEST_TIMEOUT, "the body took too long"),
        Broken::EndedEarly => plain(StatusCode::BAD_REQUEST, "the body ended early"),
        Broken::NoRoom(_) => busy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn a_conversion_whose_caller_has_hung_up_keeps_its_place_until_it_has_ended() {
        let converting = Converting::default();
        let peer = Peer::from(std::net::IpAddr::from([127, 0, 0, 1]));
        let mut ends = Vec::new();
        for _ in 0..AT_ONCE {
            let (begins, begun) = oneshot::channel();
            let (end, ended) = mpsc::channel::<()>();
            let work = converting.work(peer, TURN, move || {
                begins.send(()).expect("it is waited for");
                ended.recv().ok();
            });
            tokio::select! {
                _ = work => panic!("it has not ended"),
                begun = begun => begun.expect("it has begun"),
            }
            ends.push(end);
        }
        let further = converting.work(peer, Duration::ZERO, || ()).await;
        assert!(further.is_none(), "as many as there may be are under way");
        drop(ends);
        let next = converting.work(peer, Duration::from_mins(1), || ()).await;
        assert!(next.is_some(), "they have ended");
    }
}
