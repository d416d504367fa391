//! What a page of this process makes of the store of the controllers while a user looks.
//!
//! Decides how often it is made again: ten times a second at most, and for no more than a tenth of the time. The loop goes on between
//! the steps of one look, and nothing is done while no user looks.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::mpsc;
use tokio::time::Instant;

use store::{Fence, Owner, Store, Touched};

/// The shortest time between two looks.
const SHORTEST: Duration = Duration::from_millis(100);
/// So many times as long as a look the next one waits.
const REST: u32 = 9;
/// Pause after a picture that panicked.
const AFTER_PANIC: Duration = Duration::from_secs(10);

/// What shows the store to a user.
pub trait Viewer: Send {
    /// Returns whether OCM's add-on manager counts as active in what is shown; nothing once no user looks any more.
    fn fence(&self) -> Option<Fence>;
    /// Begins a look; `touched` is what has changed since the last one.
    fn begin(&mut self, store: &Store, touched: &Touched, now: Timestamp);
    /// Makes a part of what is shown; returns whether anything is left to make.
    fn step(&mut self, store: &Store, now: Timestamp) -> bool;
    /// Shows what was made; returns when time alone changes it.
    fn show(&mut self) -> Option<Timestamp>;
}

/// Those who look at the store.
pub(in crate::controllers) struct Viewers {
    coming: mpsc::UnboundedReceiver<Box<dyn Viewer>>,
    seats: Vec<Seat>,
}

struct Seat {
    viewer: Box<dyn Viewer>,
    /// What has changed since the last look began.
    touched: Touched,
    /// When the next look is due.
    due: Option<Instant>,
    /// When it may begin.
    earliest: Instant,
    /// How long the look in progress has taken up to now.
    looking: Option<Duration>,
}

impl Viewers {
    pub(in crate::controllers) const fn new(coming: mpsc::UnboundedReceiver<Box<dyn Viewer>>) -> Self {
        Self {
            coming,
            seats: Vec::new(),
        }
    }

    /// Waits for the next one who looks; may be dropped and begun again.
    pub(super) async fn come(&mut self) -> Option<Box<dyn Viewer>> {
        self.coming.recv().await
    }

    /// Lets one more look.
    pub(super) fn seat(&mut self, viewer: Box<dyn Viewer>) {
        let now = Instant::now();
        self.seats.push(Seat {
            viewer,
            touched: Touched::new(),
            due: Some(now),
            earliest: now,
            looking: None,
        });
    }

    /// Takes note that something has changed for an owner.
    pub(super) fn touch(&mut self, owner: &Owner) {
        for seat in &mut self.seats {
            seat.touched.insert(owner.clone());
            let now = Instant::now();
            seat.due = Some(seat.due.map_or(now, |due| due.min(now)));
        }
    }

    /// Returns when to look again.
    pub(super) fn next(&self) -> Option<Instant> {
        self.seats.iter().filter_map(Seat::next).min()
    }

    /// Makes one step of each look that is due. A store from which nothing is written may show the add-ons of OCM's manager as that
    /// manager's.
    pub(super) fn look(&mut self, store: &mut Store, time: Timestamp, writes: bool) {
        self.seats.retain(|seat| seat.viewer.fence().is_some());
        let now = Instant::now();
        for seat in &mut self.seats {
            if seat.next().is_none_or(|next| next > now) {
                continue;
            }
            let shown = seat.viewer.fence().filter(|_| !writes);
            let mut step = |store: &Store| {
                let step = AssertUnwindSafe(|| seat.step(store, time));
                if catch_unwind(step).is_err() {
                    tracing::error!("the web page cannot show a rollout: an internal error");
                    seat.earliest = now + AFTER_PANIC;
                }
            };
            match shown {
                Some(fence) => store.seen_behind(fence, step),
                None => step(store),
            }
        }
    }
}

impl Seat {
    fn next(&self) -> Option<Instant> {
        if self.looking.is_some() {
            return Some(self.earliest);
        }
        self.due.map(|due| due.max(self.earliest))
    }

    fn step(&mut self, store: &Store, time: Timestamp) {
        let began = Instant::now();
        let before = self.looking.unwrap_or_default();
        if self.looking.is_none() {
            self.due = None;
            self.looking = Some(before);
            let touched = std::mem::take(&mut self.touched);
            self.viewer.begin(store, &touched, time);
        }
        let is_over = !self.viewer.step(store, time);
        let took = before + began.elapsed();
        self.looking = Some(took);
        if !is_over {
            return;
        }
        self.looking = None;
        let now = Instant::now();
        self.earliest = now + SHORTEST.max(took * REST);
        let wake = self.viewer.show().map(|at| at.duration_since(time));
        let wake = wake.and_then(|left| Duration::try_from(left).ok());
        let wake = wake.map(|left| now + left);
        self.due = [self.due, wake].into_iter().flatten().min();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use store::Settings;

    /// What a viewer was told and did, one word each.
    type Said = Arc<Mutex<Vec<String>>>;

    struct Fake {
        said: Said,
        fence: Arc<Mutex<Option<Fence>>>,
        steps: usize,
        left: usize,
        panics: bool,
        wakes: Option<Timestamp>,
    }

    impl Fake {
        fn say(&self, word: String) {
            self.said.lock().expect("a lock").push(word);
        }
    }

    impl Viewer for Fake {
        fn fence(&self) -> Option<Fence> {
            *self.fence.lock().expect("a lock")
        }

        fn begin(&mut self, _: &Store, touched: &Touched, _: Timestamp) {
            self.left = self.steps;
            self.say(format!("begin {}", touched.len()));
        }

        fn step(&mut self, store: &Store, _: Timestamp) -> bool {
            assert!(!self.panics, "a picture panics");
            self.left = self.left.saturating_sub(1);
            self.say(format!("step {:?}", store.settings().fence));
            self.left > 0
        }

        fn show(&mut self) -> Option<Timestamp> {
            self.say("show".to_owned());
            self.wakes
        }
    }

    struct Setup {
        viewers: Viewers,
        store: Store,
        said: Said,
        fence: Arc<Mutex<Option<Fence>>>,
    }

    impl Setup {
        fn with(steps: usize, panics: bool, wakes: Option<Timestamp>) -> Self {
            let (said, fence) = (Said::default(), Arc::new(Mutex::new(Some(Fence::Closed))));
            let mut viewers = Viewers::new(mpsc::unbounded_channel().1);
            viewers.seat(Box::new(Fake {
                said: Arc::clone(&said),
                fence: Arc::clone(&fence),
                steps,
                left: 0,
                panics,
                wakes,
            }));
            let store = Store::new(Settings::default());
            Self {
                viewers,
                store,
                said,
                fence,
            }
        }

        /// Returns what a look makes the viewer say.
        fn look(&mut self, writes: bool) -> String {
            self.viewers.look(&mut self.store, Timestamp::UNIX_EPOCH, writes);
            std::mem::take(&mut *self.said.lock().expect("a lock")).join(", ")
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_look_has_steps_and_the_next_one_waits_for_a_change() {
        let mut setup = Setup::with(2, false, None);
        assert_eq!(setup.look(true), "begin 0, step Open");
        assert_eq!(setup.look(true), "step Open, show");
        assert_eq!(setup.viewers.next(), None, "nothing has changed");
        setup.viewers.touch(&Owner::addon(&"hello".into()));
        assert_eq!(setup.look(true), "", "it was shown a moment ago");
        assert_eq!(setup.viewers.next(), Some(Instant::now() + SHORTEST));
        tokio::time::advance(SHORTEST).await;
        assert_eq!(setup.look(true), "begin 1, step Open");
    }

    #[tokio::test(start_paused = true)]
    async fn a_change_is_shown_before_time_alone_changes_anything() {
        let hour = Duration::from_hours(1);
        let end = Timestamp::UNIX_EPOCH + hour;
        let mut setup = Setup::with(1, false, Some(end));
        setup.look(true);
        assert_eq!(setup.viewers.next(), Some(Instant::now() + hour));
        tokio::time::advance(SHORTEST).await;
        setup.viewers.touch(&Owner::addon(&"hello".into()));
        assert_eq!(setup.look(true), "begin 1, step Open, show");
    }

    #[tokio::test(start_paused = true)]
    async fn one_who_only_observes_is_shown_whether_the_other_manager_is_active() {
        let mut setup = Setup::with(1, false, None);
        assert_eq!(setup.look(false), "begin 0, step Closed, show");
        assert_eq!(setup.store.settings().fence, Fence::Open, "only in what is shown");
    }

    #[tokio::test(start_paused = true)]
    async fn nothing_is_made_for_one_who_has_left() {
        let mut setup = Setup::with(1, false, None);
        *setup.fence.lock().expect("a lock") = None;
        assert_eq!(setup.look(true), "");
        assert_eq!(setup.viewers.next(), None);
        assert!(setup.viewers.seats.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_picture_that_panics_ends_nothing_else() {
        let mut setup = Setup::with(1, true, None);
        assert_eq!(setup.look(true), "begin 0");
        assert_eq!(setup.viewers.next(), Some(Instant::now() + AFTER_PANIC));
    }
}
