//! The threads that decide reviews, apart from those that serve connections, probes, watches and the election.
//!
//! Decides who is decided next and how long that may take. Large reviews have threads of their own, so that they do not hold up
//! the small ones, of which there are many. Never decides what the answer is.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::runtime::Runtime;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::task::JoinHandle;
use tokio::time::{Instant, timeout_at};
use tracing::warn;

use super::connection_state::Connection;
use super::health::Health;
use super::limits::Limits;
use super::quota::{Quota, Reserve};
use crate::telemetry::Metrics;
use admission::Stop;
use admission::wire::Unjudged;

/// The threads, and the queues before them.
pub(super) struct WorkerPool {
    threads: Threads,
    small: Lane,
    large: Lane,
    limits: Limits,
    overdue: Arc<Overdue>,
}

struct Lane {
    permits: Arc<Semaphore>,
    queue: Arc<Quota>,
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
    fn new(permits: usize, waiting: usize, reserve: Reserve) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            queue: Quota::new(waiting, reserve),
        }
    }
}

impl WorkerPool {
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
            count: Mutex::new(0),
            threads: limits.concurrent + limits.concurrent_large,
            health,
            metrics,
        };
        Ok(Self {
            threads: Threads(Some(threads)),
            small: Lane::new(limits.concurrent, limits.waiting, reserve),
            large: Lane::new(limits.concurrent_large, limits.waiting, reserve),
            limits,
            overdue: Arc::new(overdue),
        })
    }

    /// Does some work for a review of so many bytes before `until`. Work that catches its panics has an outcome. A task of its
    /// own holds the work to its time: a caller that hangs up takes this future away, and the work goes on without it.
    pub(super) async fn run<T: Send + 'static>(
        &self,
        bytes: usize,
        until: Instant,
        conn: &Arc<Connection>,
        work: impl FnOnce(&Stop) -> T + Send + 'static,
    ) -> Result<T, Unjudged> {
        let large = bytes >= self.limits.large_bytes;
        let lane = if large { &self.large } else { &self.small };
        let permit = self.permit(lane, conn, until).await.ok_or(Unjudged::Crowded)?;
        let _deciding = conn.begin_decision();
        let deadline = Deadline {
            until,
            grace: self.limits.decision_grace,
            stop: Arc::new(Stop::new()),
            tracked: Arc::new(Tracked::new(&self.overdue)),
        };
        let threads = self.threads.0.as_ref().ok_or(Unjudged::Crowded)?;
        let job = {
            let (stop, tracked) = (Arc::clone(&deadline.stop), Arc::clone(&deadline.tracked));
            threads.spawn_blocking(move || {
                let _held = (tracked.until_the_end(), permit);
                work(&stop)
            })
        };
        let (caller, outcome) = oneshot::channel();
        tokio::spawn(deadline.holds(job, caller));
        outcome.await.unwrap_or(Err(Unjudged::TooSlow))
    }

    async fn permit(&self, lane: &Lane, conn: &Connection, until: Instant) -> Option<OwnedSemaphorePermit> {
        if let Ok(permit) = Arc::clone(&lane.permits).try_acquire_owned() {
            return Some(permit);
        }
        let _waiting = lane.queue.one(conn.peer(), conn.class())?;
        let permit = Arc::clone(&lane.permits).acquire_owned();
        timeout_at(until, permit).await.ok()?.ok()
    }
}

/// The time that one decision has.
struct Deadline {
    until: Instant,
    /// How long it may go on after it was stopped.
    grace: Duration,
    stop: Arc<Stop>,
    tracked: Arc<Tracked>,
}

impl Deadline {
    /// Sees a decision to its end, or gives it up; tells the caller, if there still is one.
    async fn holds<T>(self, mut job: JoinHandle<T>, mut caller: oneshot::Sender<Result<T, Unjudged>>) {
        let outcome = self.outcome(&mut job, &mut caller).await;
        let _hung_up = caller.send(outcome);
    }

    async fn outcome<T>(
        &self,
        job: &mut JoinHandle<T>,
        caller: &mut oneshot::Sender<Result<T, Unjudged>>,
    ) -> Result<T, Unjudged> {
        let in_time = tokio::select! {
            done = timeout_at(self.until, &mut *job) => done.ok(),
            () = caller.closed() => None,
        };
        if let Some(done) = in_time {
            return done.map_err(|_panicked| Unjudged::TooSlow);
        }
        self.stop.stop();
        // What is stopped because its caller has hung up was not too slow.
        if !caller.is_closed() {
            self.tracked.overdue.metrics.connections().stops();
        }
        let stopped = Instant::now().min(self.until);
        if let Ok(done) = timeout_at(stopped + self.grace, job).await {
            return done.map_err(|_panicked| Unjudged::TooSlow);
        }
        self.tracked.is_given_up();
        warn!("an evaluation continues after its timeout");
        Err(Unjudged::TooSlow)
    }
}

/// Decisions that go on after the gate has given them up.
struct Overdue {
    count: Mutex<usize>,
    threads: usize,
    health: Health,
    metrics: Metrics,
}

impl Overdue {
    /// Counts one more or one less, and tells how many there are and whether they leave any thread for others. Both under one
    /// lock: of two that come at once, the last to count must be the last to tell, or a sound process is ended.
    fn change(&self, counted: impl FnOnce(usize) -> usize) {
        let mut count = self.count.lock().unwrap_or_else(PoisonError::into_inner);
        *count = counted(*count);
        self.health.wedged(*count >= self.threads, Instant::now());
        self.metrics.connections().overdue(*count);
    }
}

/// Counts work that goes on after the gate has given it up, once, until it ends.
struct Tracked {
    given_up: AtomicBool,
    ended: AtomicBool,
    overdue: Arc<Overdue>,
}

impl Tracked {
    fn new(overdue: &Arc<Overdue>) -> Self {
        Self {
            given_up: AtomicBool::new(false),
            ended: AtomicBool::new(false),
            overdue: Arc::clone(overdue),
        }
    }

    fn is_given_up(&self) {
        self.overdue.change(|count| count + 1);
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

    /// `is_given_up` and `ends` may both come here at once: the swap lets one of them count it down.
    fn forget(&self) {
        if self.given_up.swap(false, Ordering::SeqCst) {
            self.overdue.change(|count| count.saturating_sub(1));
        }
    }
}

/// Work that is being done, until it ends in whatever way.
struct Running(Arc<Tracked>);

impl Drop for Running {
    fn drop(&mut self) {
        self.0.ends();
    }
}
