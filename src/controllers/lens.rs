//! A store that follows a hub, for commands that only read: the watches of the controllers, without their writes.
//!
//! Decides how often it looks: ten times a second at most, and never for more than a tenth of the time, however long a look
//! takes. A hub on which nothing happens costs nothing.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;
use tokio::sync::{Notify, mpsc, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::config_watch::look_out;
use super::runtime::watch::{Ends, watch_kind};
use crate::telemetry::Metrics;
use store::{Event, Kind, Settings, Store, Touched};

/// How many events may wait: each holds a whole object.
const WAITING: usize = 64;
/// Events taken in at once.
const BATCH: usize = 1024;
/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
/// So many times as long as a look the next one waits.
const REST: u32 = 9;
/// How long the first look waits for configurations that were only just referred to.
const FIRST_LOOK: Duration = Duration::from_millis(300);

/// What a look has shown, and when time alone would change it.
pub type Look<T> = (T, Option<Timestamp>);

/// Follows a hub.
#[derive(Debug)]
pub struct Lens<T> {
    seen: watch::Receiver<Option<Arc<T>>>,
    _tasks: JoinSet<()>,
}

impl<T: Send + Sync + 'static> Lens<T> {
    /// Starts to follow a hub; `look` is called for a picture of the state whenever it has changed,
    /// and told what it touches.
    pub fn start(
        client: Client,
        settings: Settings,
        look: impl FnMut(&Store, &Touched, Timestamp) -> Look<T> + Send + 'static,
    ) -> Self {
        let mut tasks = JoinSet::new();
        let (sender, events) = mpsc::channel(WAITING);
        let large = Arc::default();
        for kind in Kind::ALL {
            let ends = Ends {
                events: sender.clone(),
                tap: None,
                metrics: Metrics::default(),
                again: Arc::new(Notify::new()),
                large: Arc::clone(&large),
            };
            tasks.spawn(watch_kind(client.clone(), kind, ends));
        }
        let (lookout, watch_lists) = mpsc::unbounded_channel();
        tasks.spawn(look_out(client, watch_lists, sender));
        let (told, seen) = watch::channel(None);
        let follower = Follower {
            store: Store::bounded(settings),
            listed: BTreeSet::new(),
            touched: Touched::new(),
            due: None,
            look,
            told,
            lookout,
        };
        tasks.spawn(follower.run(events));
        Self { seen, _tasks: tasks }
    }

    /// Waits for a picture that was not returned before; nothing comes any more once the watches have ended.
    pub async fn next(&mut self) -> Option<Arc<T>> {
        loop {
            self.seen.changed().await.ok()?;
            let seen = self.seen.borrow_and_update().clone();
            if seen.is_some() {
                return seen;
            }
        }
    }
}

struct Follower<T, F> {
    store: Store,
    listed: BTreeSet<Kind>,
    /// What has changed since the last look.
    touched: Touched,
    /// When the next look is due.
    due: Option<Instant>,
    look: F,
    told: watch::Sender<Option<Arc<T>>>,
    lookout: mpsc::UnboundedSender<store::ConfigWatchList>,
}

impl<T, F: FnMut(&Store, &Touched, Timestamp) -> Look<T>> Follower<T, F> {
    async fn run(mut self, mut events: mpsc::Receiver<Event>) {
        let mut earliest = Instant::now();
        let mut wake: Option<Instant> = None;
        loop {
            let next = [self.due, wake].into_iter().flatten().min();
            let next = next.map(|at| at.max(earliest));
            tokio::select! {
                event = events.recv() => {
                    let Some(event) = event else { return };
                    self.take_in(event, &mut events);
                }
                () = sleep_until(next.unwrap_or_else(Instant::now)), if next.is_some() => {
                    let began = Instant::now();
                    let now = Timestamp::now();
                    let (seen, again) = (self.look)(&self.store, &std::mem::take(&mut self.touched), now);
                    let took = began.elapsed();
                    earliest = Instant::now() + SHORTEST.max(took * REST);
                    self.due = None;
                    let left = again.map(|again| again.duration_since(now));
                    let left = left.and_then(|left| Duration::try_from(left).ok());
                    wake = left.map(|left| Instant::now() + left.max(SHORTEST));
                    if self.told.send(Some(Arc::new(seen))).is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn take_in(&mut self, first: Event, events: &mut mpsc::Receiver<Event>) {
        let was_synced = self.is_synced();
        self.take_one(first);
        for _ in 0..BATCH {
            let Ok(event) = events.try_recv() else { break };
            self.take_one(event);
        }
        if let Some(list) = self.store.take_watch_list() {
            // The receiver has ended only while the program is stopping.
            let _sent = self.lookout.send(list).is_ok();
        }
        let patience = if was_synced { Duration::ZERO } else { FIRST_LOOK };
        let is_synced = self.is_synced();
        self.due = self.due.or_else(|| is_synced.then(|| Instant::now() + patience));
    }

    fn take_one(&mut self, event: Event) {
        if let Event::Listed { kind, .. } | Event::ListEnded { kind, .. } | Event::Withheld { kind } = &event
        {
            self.listed.insert(*kind);
        }
        self.touched.extend(self.store.apply(event));
    }

    fn is_synced(&self) -> bool {
        Kind::ALL.into_iter().all(|kind| self.listed.contains(&kind))
    }
}
