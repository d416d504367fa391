//! Where decisions are made: on threads of their own, apart from those that serve connections, probes, watches and the election.
//!
//! Decides who is decided next and how long that may take. Large reviews have threads of their own, so that they do not hold up the
//! small ones, of which there are many. Never decides what the answer is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::health::Health;
use super::limits::Limits;
use super::peer::Life;
use super::shares::{Reserve, Shares};
use crate::telemetry::Metrics;
use admission::Stop;
use admission::wire::Unjudged;

/// The threads, and the queues before them.
pub(super) struct Bench {
    threads: Threads,
    small: Lane,
    large: Lane,
    limits: Limits,
    overdue: Arc<Overdue>,
    metrics: Metrics,
}

struct Lane {
    places: Arc<Semaphore>,
    queue: Arc<Shares>,
}

/// Ends without waiting: a thread that does not end must not keep the process from ending.
struct Threads(Option<Runtime>);

impl Drop for Threads {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Lane {
    fn new(places: usize, waiting: usize, reserve: Reserve) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            queue: Shares::new(waiting, reserve),
        }
    }
}

impl Bench {
    pub(super) fn new(
        limits: Limits,
        reserve: Reserve,
        health: Health,
        metrics: Metrics,
    ) -> std::io::Result<Self> {
        let threads = tokio::runtime::Builder::new_current_thread()
            .max_blocking_threads(limits.concurrent + limits.concurrent_large)
            .thread_name("decide")
            .build()?;
        let overdue = Overdue {
            count: AtomicUsize::new(0),
            threads: limits.concurrent + limits.concurrent_large,
            health,
            metrics: metrics.clone(),
        };
        Ok(Self {
            threads: Threads(Some(threads)),
            small: Lane::new(limits.concurrent, limits.waiting, reserve),
            large: Lane::new(limits.concurrent_large, limits.waiting, reserve),
            limits,
            overdue: Arc::new(overdue),
            metrics,
        })
    }

    /// Does some work for a review of so many bytes before `until`. Work that catches its panics has an outcome.
    pub(super) async fn work<T: Send + 'static>(
        &self,
        (bytes, until): (usize, Instant),
        life: &Arc<Life>,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T, Unjudged> {
        let large = bytes >= self.limits.large_bytes;
        let lane = if large { &self.large } else { &self.small };
        let place = self.place(lane, life, until).await.ok_or(Unjudged::Crowded)?;
        let _deciding = life.decides();
        let stop = Arc::new(Stop::new());
        let watched = Arc::new(Watched::new(&self.overdue));
        let threads = self.threads.0.as_ref().ok_or(Unjudged::Crowded)?;
        let mut job = {
            let (stop, watched) = (Arc::clone(&stop), Arc::clone(&watched));
            threads.spawn_blocking(move || {
                let _held = (watched.until_the_end(), place);
                work(&stop)
            })
        };
        if let Ok(done) = timeout_at(until, &mut job).await {
            return done.map_err(|_panicked| Unjudged::TooSlow);
        }
        stop.stop();
        self.metrics.door().stops();
        if let Ok(done) = timeout_at(until + self.limits.decision_grace, &mut job).await {
            return done.map_err(|_panicked| Unjudged::TooSlow);
        }
        watched.is_given_up();
        warn!("a decision goes on although it was stopped");
        Err(Unjudged::TooSlow)
    }

    async fn place(&self, lane: &Lane, life: &Life, until: Instant) -> Option<OwnedSemaphorePermit> {
        if let Ok(place) = Arc::clone(&lane.places).try_acquire_owned() {
            return Some(place);
        }
        let _waiting = lane.queue.one(life.peer(), life.standing())?;
        let place = Arc::clone(&lane.places).acquire_owned();
        timeout_at(until, place).await.ok()?.ok()
    }
}

/// Decisions that nobody waits for any more.
struct Overdue {
    count: AtomicUsize,
    threads: usize,
    health: Health,
    metrics: Metrics,
}

impl Overdue {
    /// Tells how many there are, and whether they leave any thread for others.
    fn tell(&self) {
        let count = self.count.load(Ordering::SeqCst);
        self.metrics.door().overdue(count);
        self.health.wedged(count >= self.threads, Instant::now());
    }
}

/// Counts work that goes on although nobody waits for it any more, once, until it ends.
struct Watched {
    given_up: AtomicBool,
    ended: AtomicBool,
    overdue: Arc<Overdue>,
}

impl Watched {
    fn new(overdue: &Arc<Overdue>) -> Self {
        Self {
            given_up: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            overdue: Arc::clone(overdue),
        }
    }

    fn is_given_up(&self) {
        self.overdue.count.fetch_add(1, Ordering::SeqCst);
        self.overdue.tell();
        self.given_up.store(true, Ordering::SeqCst);
        if self.ended.load(Ordering::SeqCst) {
            self.forget();
        }
    }

    fn until_the_end(self: Arc<Self>) -> Running {
        Running(self)
    }

    fn ends(&self) {
        self.ended.store(true, Ordering::SeqCst);
        if self.given_up.load(Ordering::SeqCst) {
            self.forget();
        }
    }

    /// Whoever of both comes second forgets it, and nobody twice.
    fn forget(&self) {
        if self.given_up.swap(false, Ordering::SeqCst) {
            self.overdue.count.fetch_sub(1, Ordering::SeqCst);
            self.overdue.tell();
        }
    }
}

/// Work that is being done, until it ends in whatever way.
struct Running(Arc<Watched>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ends();
    }
}
