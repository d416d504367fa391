//! `/convert`: objects in the other version.
//!
//! Decides how large a review may be and how many are converted at once, in turns by address; what becomes of an object
//! `api::conversion` says. Asks no hub and needs no fact, so that it answers before anything else of this program is ready: a hub whose conversions wait for its own
//! controllers would never start.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::http::{Request, Response, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinError;
use tokio::time::timeout;

use super::connection_state::Peer;
use super::limits::Limits;
use super::request::{ArrivingBody, Unread};
use super::responses::{busy, is_json, json, plain};
use super::state::AppState;
use api::conversion::Extensions;

/// The largest review that is read, in bytes: a list of ten thousand add-ons comes as one.
const MOST_BYTES: usize = 64 << 20;
/// How many are converted at once; each holds its review and its answer.
const AT_ONCE: usize = 2;
/// How long a review that was read waits for its turn behind large ones: an API server waits thirty seconds for its answer, and
/// what is refused here fails what it reads.
const TURN: Duration = Duration::from_secs(5);

/// A semaphore with a queue per address: an address has as many works in the common queue as there are permits, and its others
/// behind those. However many requests one client sends, another one waits for a few of them.
#[derive(Debug)]
struct FairSemaphore {
    permits: Arc<Semaphore>,
    each: usize,
    queues: Mutex<BTreeMap<Peer, Weak<Semaphore>>>,
}

/// A permit, until it is dropped.
#[derive(Debug)]
struct FairPermit {
    _permit: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

impl FairSemaphore {
    fn new(permits: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            each: permits,
            queues: Mutex::default(),
        }
    }

    /// Returns a permit when the turn of this caller comes in time.
    async fn take(&self, peer: Peer, patience: Duration) -> Option<FairPermit> {
        let own = self.queue(peer);
        let turn = async {
            let own = own.acquire_owned().await.ok()?;
            let permit = Arc::clone(&self.permits).acquire_owned().await.ok()?;
            Some(FairPermit {
                _permit: permit,
                _own: own,
            })
        };
        timeout(patience, turn).await.ok()?
    }

    fn queue(&self, peer: Peer) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&peer).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Semaphore::new(self.each));
        queues.insert(peer, Arc::downgrade(&queue));
        queue
    }
}

/// The conversions that are in progress.
pub(super) struct Converting(FairSemaphore);

impl Default for Converting {
    fn default() -> Self {
        Self(FairSemaphore::new(AT_ONCE))
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
    State(state): State<Arc<AppState>>,
    extensions: Extensions,
    request: Request<Body>,
) -> Response<Body> {
    let Some(conn) = state.verified(&request) else {
        state.reject_path("convert");
        return plain(StatusCode::NOT_FOUND, "");
    };
    if !is_json(request.headers()) {
        let told = "the content type must be application/json";
        return plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, told);
    }
    let (peer, class) = (conn.peer(), conn.class());
    let Some(in_flight) = state.requests.one(peer, class) else {
        return busy();
    };
    let limits = Limits {
        body_bytes: MOST_BYTES,
        discarded_bytes: MOST_BYTES,
        body: state.limits.body.saturating_mul(4),
        ..state.limits
    };
    let mut memory = state.buffering.open(peer, class);
    let arriving = ArrivingBody::begins(&limits);
    let bytes = match arriving.read(request.into_body(), &mut memory, &conn).await {
        Ok(bytes) => bytes,
        Err(unread) => {
            let response = refused(&unread);
            drop((in_flight, memory));
            arriving.outlasts(unread, &state.closing).await;
            return response;
        }
    };
    // The answer is about as large as the review, and keeps its allocation until the caller has received it.
    let keys = Arc::clone(&state.rulebook.load().keys);
    let work = move || api::conversion::answer(&bytes, extensions, &keys).map(|answer| memory.attach(answer));
    match state.converting.work(peer, TURN, work).await {
        Some(Ok(Ok(answer))) => {
            conn.reviewed();
            json(StatusCode::OK, answer)
        }
        Some(Ok(Err(error))) => plain(StatusCode::BAD_REQUEST, &error.to_string()),
        Some(Err(_panicked)) => plain(StatusCode::INTERNAL_SERVER_ERROR, "the conversion failed"),
        None => busy(),
    }
}

fn refused(broken: &Unread) -> Response<Body> {
    match broken {
        Unread::TooLarge(_) => plain(StatusCode::PAYLOAD_TOO_LARGE, "the review is larger than 64 MiB"),
        Unread::TooSlow(_) => plain(
            StatusCode::REQUEST_TIMEOUT,
            "the request body was not received in time",
        ),
        Unread::EndedEarly => plain(StatusCode::BAD_REQUEST, "the request body is incomplete"),
        Unread::NoMemory(_) => busy(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};
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

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    #[tokio::test]
    async fn an_address_with_many_works_holds_up_another_for_a_few_of_them() {
        let turns = Arc::new(FairSemaphore::new(2));
        let done = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..200 {
            let (turns, done) = (Arc::clone(&turns), Arc::clone(&done));
            tasks.push(tokio::spawn(async move {
                let _turn = turns
                    .take(peer(9), Duration::from_mins(1))
                    .await
                    .expect("its turn");
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        while done.load(Ordering::Relaxed) < 4 {
            tokio::task::yield_now().await;
        }
        let before = done.load(Ordering::Relaxed);
        let honest = turns.take(peer(1), Duration::from_mins(1)).await;
        let waited = done.load(Ordering::Relaxed) - before;
        assert!(
            honest.is_some() && waited <= 8,
            "it waited for {waited} tasks of the other address"
        );
        drop(honest);
        for task in tasks {
            task.await.expect("all of them end");
        }
        assert_eq!(done.load(Ordering::Relaxed), 200);
        drop(turns.take(peer(1), Duration::ZERO).await);
        assert_eq!(
            turns.queues.lock().expect("unharmed").len(),
            1,
            "addresses without work are forgotten"
        );
    }
}
