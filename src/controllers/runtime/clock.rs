//! What time it is: the hub's time, moved on by a clock that cannot be set.
//!
//! Decides the `now` of plans. The wall clock of this machine says it only while it agrees with the `Date` that the hub answers
//! with; in between, the monotonic clock counts. When the wall clock jumps, the time is not known until the hub has been heard
//! again; when the hub's answers contradict each other, until they have agreed for a minute. Nothing is planned meanwhile, so
//! that no soak and no deadline ends by a jump. A hub has several servers, whose clocks may be half a minute apart. A doubt that
//! lasts is reported in the conditions of the add-ons, once in the log, and in metrics. Never sets a clock.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use kube::Client;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use crate::telemetry::Metrics;

/// So far two clocks may be apart.
const TOLERATED: SignedDuration = SignedDuration::from_secs(5);
/// So far the clocks of a hub's servers may be apart from each other.
const APART: SignedDuration = SignedDuration::from_secs(30);
/// How often the hub is heard while all clocks agree, and while they do not.
const SETTLED: Duration = Duration::from_secs(30);
const DOUBTFUL: Duration = Duration::from_secs(2);
/// How often the own clocks are compared.
const TICK: Duration = Duration::from_secs(1);
/// A hub that does not tell its time is believed to agree when nothing has jumped for so long; one that has contradicted itself
/// when it has not done so again for so long.
const STEADY: Duration = Duration::from_mins(1);
/// A doubt that has lasted so long does not end by itself: the add-ons tell it.
const LOST: Duration = Duration::from_secs(90);

/// What the clocks of this machine show at one moment.
#[derive(Debug, Clone, Copy)]
struct Reading {
    wall: Timestamp,
    /// Time since this program began, by a clock that cannot be set; it may stand still while the machine sleeps.
    elapsed: Duration,
}

/// Which clock it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Jump {
    /// The wall clock moved by another length than the monotonic one.
    Own(SignedDuration),
    /// The hub is not where it should be.
    Hub(SignedDuration),
    /// The hub is somewhere else with every answer.
    Servers(SignedDuration),
}

/// Whether it is known what time it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controllers) enum Trust {
    /// It is known.
    Known,
    /// It is not known, and will be in a moment.
    Doubted,
    /// It is not known, and has not been for long.
    Lost,
}

/// What the hub says.
#[derive(Debug, Clone, Copy)]
struct HubClock {
    /// The time that it was when the monotonic clock showed nothing, by the last answers.
    origin: Timestamp,
    /// Since when the answers agree; absent when they always have.
    since: Option<Duration>,
}

/// Reckons what time it is. Pure: readings come from outside.
#[derive(Debug)]
struct Reckoning {
    /// A moment of the monotonic clock, with the time that it was, and what the wall clock showed.
    at: Duration,
    time: Timestamp,
    wall: Timestamp,
    /// Since when the time is not known.
    doubt: Option<Duration>,
    /// Whether the hub was heard since the doubt began.
    heard: bool,
    /// What the hub has said so far.
    said: Option<HubClock>,
    /// Whether the doubt was told to be one about the hub's servers.
    told: bool,
}

fn signed(length: Duration) -> SignedDuration {
    SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX)
}

/// The time that it was when the monotonic clock showed nothing.
fn origin(hub: Timestamp, elapsed: Duration) -> Timestamp {
    hub.checked_sub(signed(elapsed)).unwrap_or(hub)
}

impl Reckoning {
    /// Begins with the wall clock where it agrees with the hub, or with the hub where it does not.
    fn new(reading: Reading, hub: Option<Timestamp>) -> Self {
        let off = hub.filter(|hub| reading.wall.duration_since(*hub).abs() > TOLERATED);
        Self {
            at: reading.elapsed,
            time: off.unwrap_or(reading.wall),
            wall: reading.wall,
            doubt: off.map(|_| reading.elapsed),
            heard: off.is_some(),
            said: hub.map(|hub| HubClock {
                origin: origin(hub, reading.elapsed),
                since: None,
            }),
            told: false,
        }
    }

    fn now(&self, elapsed: Duration) -> Timestamp {
        let passed = signed(elapsed.saturating_sub(self.at));
        self.time.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// How far the wall clock is ahead.
    fn skew(&self, reading: Reading) -> SignedDuration {
        reading.wall.duration_since(self.now(reading.elapsed))
    }

    /// Compares the own clocks with each other.
    fn tick(&mut self, reading: Reading) -> Option<Jump> {
        let passed = signed(reading.elapsed.saturating_sub(self.at));
        let jump = reading.wall.duration_since(self.wall).saturating_sub(passed);
        let settles = self
            .doubt
            .is_some_and(|since| reading.elapsed.saturating_sub(since) >= STEADY);
        if jump.abs() <= TOLERATED {
            if settles && !self.heard {
                self.doubt = None;
            }
            return None;
        }
        self.anchor(self.now(reading.elapsed), reading);
        self.heard = false;
        // A clock that jumps again and again is one doubt, which lasts.
        self.doubt.get_or_insert(reading.elapsed);
        Some(Jump::Own(jump))
    }

    /// Compares what time it should be with what the hub says, and what the hub says with what it has said.
    fn hear(&mut self, hub: Timestamp, reading: Reading) -> Option<Jump> {
        let new = origin(hub, reading.elapsed);
        let before = self.said;
        let off_by = before.map_or(SignedDuration::ZERO, |said| new.duration_since(said.origin));
        let contradicts = off_by.abs() > APART;
        let said = match before {
            Some(said) if !contradicts => HubClock {
                // Clocks drift; that of another server is no drift.
                origin: if off_by.abs() <= TOLERATED {
                    new
                } else {
                    said.origin
                },
                ..said
            },
            Some(_) => HubClock {
                origin: new,
                since: Some(reading.elapsed),
            },
            None => HubClock {
                origin: new,
                since: None,
            },
        };
        self.said = Some(said);
        let is_steady = said
            .since
            .is_none_or(|since| reading.elapsed.saturating_sub(since) >= STEADY);
        if is_steady {
            if hub.duration_since(self.now(reading.elapsed)).abs() > APART {
                self.anchor(hub, reading);
            }
            // Whatever has jumped, the hub and the monotonic clock have agreed ever since.
            (self.doubt, self.told) = (None, false);
            return None;
        }
        self.heard = true;
        if self.doubt.is_none() {
            self.doubt = Some(reading.elapsed);
            return Some(Jump::Hub(off_by));
        }
        let again = contradicts && before.is_some_and(|said| said.since.is_some());
        (again && !std::mem::replace(&mut self.told, true)).then_some(Jump::Servers(off_by))
    }

    fn trust(&self, elapsed: Duration) -> Trust {
        match self.doubt {
            None => Trust::Known,
            Some(since) if elapsed.saturating_sub(since) < LOST => Trust::Doubted,
            Some(_) => Trust::Lost,
        }
    }

    fn anchor(&mut self, time: Timestamp, reading: Reading) {
        (self.at, self.time, self.wall) = (reading.elapsed, time, reading.wall);
    }
}

/// A clock that several may ask.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct Clock {
    reckoning: Arc<Mutex<Reckoning>>,
    begun: Instant,
    trust: watch::Sender<Trust>,
    metrics: Metrics,
}

impl Clock {
    /// Begins with what the hub says, if it says anything.
    pub(in crate::controllers) fn new(hub: Option<Timestamp>, metrics: Metrics) -> Self {
        let begun = Instant::now();
        let reading = Reading {
            wall: Timestamp::now(),
            elapsed: Duration::ZERO,
        };
        let reckoning = Reckoning::new(reading, hub);
        if reckoning.doubt.is_some() {
            warn!(ahead = ?reckoning.skew(reading), "the local clock differs from the clock of the API server; waiting");
        }
        let clock = Self {
            trust: watch::channel(reckoning.trust(Duration::ZERO)).0,
            reckoning: Arc::new(Mutex::new(reckoning)),
            begun,
            metrics,
        };
        clock.ask(|_, _| None);
        clock
    }

    /// Returns what time it is.
    pub(in crate::controllers) fn now(&self) -> Timestamp {
        self.ask(Reckoning::tick);
        let reckoning = self.reckoning.lock().unwrap_or_else(PoisonError::into_inner);
        reckoning.now(self.begun.elapsed())
    }

    /// Returns whether it is known what time it is.
    pub(in crate::controllers) fn trust(&self) -> Trust {
        self.ask(Reckoning::tick);
        *self.trust.borrow()
    }

    /// Returns the receiver of whether the clock is consistent.
    pub(in crate::controllers) fn told(&self) -> watch::Receiver<Trust> {
        self.trust.subscribe()
    }

    fn hear(&self, hub: Timestamp) {
        self.ask(|reckoning, reading| reckoning.hear(hub, reading));
    }

    fn ask(&self, question: impl FnOnce(&mut Reckoning, Reading) -> Option<Jump>) {
        let mut reckoning = self.reckoning.lock().unwrap_or_else(PoisonError::into_inner);
        let reading = Reading {
            wall: Timestamp::now(),
            elapsed: self.begun.elapsed(),
        };
        let jump = question(&mut reckoning, reading);
        let (skew, trust) = (reckoning.skew(reading), reckoning.trust(reading.elapsed));
        drop(reckoning);
        match jump {
            Some(Jump::Own(by)) => warn!(
                ?by,
                "the local clock jumped; reconciliation is paused until the API server responds"
            ),
            Some(Jump::Hub(by)) => warn!(
                ?by,
                "the API server's clock is inconsistent; reconciliation is paused until it is consistent for a minute"
            ),
            Some(Jump::Servers(by)) => warn!(
                ?by,
                "the clocks of the API servers differ; reconciliation is paused until they agree"
            ),
            None => {}
        }
        if jump.is_some() {
            self.metrics.clock_jumped();
        }
        self.metrics.clock(skew.as_secs_f64(), trust == Trust::Known);
        // Who waits for a change asks again when it comes: telling what was known already would wake it indefinitely.
        let mut before = trust;
        self.trust.send_if_modified(|told| {
            before = std::mem::replace(told, trust);
            before != trust
        });
        if before != Trust::Known && trust == Trust::Known {
            info!(
                ahead_seconds = skew.as_secs(),
                "the local clock agrees with the clock of the API server again; reconciliation continues"
            );
        }
    }
}

/// Listens to the hub until the end.
pub(in crate::controllers) async fn keep_time(client: Client, clock: Clock, stop: CancellationToken) {
    let mut heard = Instant::now();
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(TICK) => {}
        }
        let pause = if clock.trust() == Trust::Known {
            SETTLED
        } else {
            DOUBTFUL
        };
        if heard.elapsed() < pause {
            continue;
        }
        heard = Instant::now();
        let date = tokio::select! {
            () = stop.cancelled() => return,
            date = read_date(&client) => date,
        };
        // An answer that took long tells the time of a moment that is not known.
        if let Ok(Some(date)) = date
            && heard.elapsed() < DOUBTFUL
        {
            clock.hear(date);
        }
    }
}

/// Returns the time that the hub answers with.
pub(in crate::controllers) async fn read_date(client: &Client) -> kube::Result<Option<Timestamp>> {
    let request = http::Request::get("/version")
        .body(Vec::new())
        .map_err(kube::Error::HttpError)?;
    let answer = client.send(request.map(kube::client::Body::from)).await?;
    let date = answer.headers().get(http::header::DATE);
    Ok(date.and_then(|date| parse_date(date.to_str().ok()?)))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT`.
fn parse_date(text: &str) -> Option<Timestamp> {
    jiff::fmt::rfc2822::parse(text)
        .ok()
        .map(|zoned| zoned.timestamp())
}

#[cfg(test)]
mod tests {
    use proptest::{prop_assert_eq, proptest};

    use super::*;

    impl Clock {
        /// Returns a clock that has been in doubt for long.
        pub(in crate::controllers) fn lost() -> Self {
            let clock = Self::new(None, Metrics::default());
            let begun = Instant::now()
                .checked_sub(LOST)
                .expect("this machine has run for longer");
            clock.reckoning.lock().expect("no thread panics").doubt = Some(Duration::ZERO);
            clock.reckoning.lock().expect("no thread panics").heard = true;
            Self { begun, ..clock }
        }

        /// Ends the doubt.
        pub(in crate::controllers) fn find(&self) {
            self.reckoning.lock().expect("no thread panics").doubt = None;
        }
    }

    fn time(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_900_000_000 + seconds).expect("a time")
    }

    /// The wall clock shows so many seconds when so many have passed.
    fn reading(wall: i64, elapsed: u64) -> Reading {
        Reading {
            wall: time(wall),
            elapsed: Duration::from_secs(elapsed),
        }
    }

    fn now(reckoning: &Reckoning, elapsed: u64) -> i64 {
        reckoning.now(Duration::from_secs(elapsed)).as_second() - time(0).as_second()
    }

    /// The controllers ask at every turn, and take another turn when they are notified.
    #[test]
    fn reading_notifies_no_one_of_known_facts() {
        let clock = Clock::new(None, Metrics::default());
        clock.ask(|_, _| None);
        let mut told = clock.told();
        told.mark_unchanged();
        clock.ask(|_, _| None);
        assert_eq!(told.has_changed().ok(), Some(false));
        let lost = Clock::lost();
        let mut told = lost.told();
        told.mark_unchanged();
        lost.ask(|_, _| None);
        assert_eq!(told.has_changed().ok(), Some(true), "a change is reported");
    }

    #[test]
    fn a_clock_that_agrees_counts_as_it_always_did() {
        let mut clock = Reckoning::new(reading(3, 0), Some(time(0)));
        assert!(clock.doubt.is_none());
        assert_eq!(
            (clock.tick(reading(63, 60)), clock.hear(time(60), reading(63, 60))),
            (None, None)
        );
        assert_eq!((now(&clock, 60), clock.doubt), (63, None));
    }

    #[test]
    fn a_clock_that_is_ten_minutes_ahead_is_never_asked() {
        let mut clock = Reckoning::new(reading(600, 0), Some(time(0)));
        assert!(clock.doubt.is_some(), "nothing moves");
        assert_eq!(now(&clock, 0), 0);
        assert_eq!(clock.tick(reading(601, 1)), None);
        assert!(clock.doubt.is_some(), "the hub was heard once");
        assert_eq!(clock.hear(time(2), reading(602, 2)), None);
        assert!(clock.doubt.is_none(), "the hub has moved on as it should");
        assert_eq!(now(&clock, 300), 300);
    }

    #[test]
    fn a_jump_of_the_wall_clock_moves_nothing_and_waits_for_the_hub() {
        for by in [600, -600, 6, -6] {
            let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
            let jump = clock.tick(reading(10 + by, 10));
            assert_eq!(jump, Some(Jump::Own(SignedDuration::from_secs(by))));
            assert_eq!(now(&clock, 10), 10);
            assert!(clock.doubt.is_some());
            assert_eq!(
                clock.tick(reading(11 + by, 11)),
                None,
                "one jump is reported once"
            );
            assert_eq!(clock.hear(time(12), reading(12 + by, 12)), None);
            assert_eq!((now(&clock, 12), clock.doubt), (12, None));
        }
        let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
        assert_eq!(clock.tick(reading(15, 10)), None, "a little is no jump");
    }

    /// What a hub answers every two seconds from a moment on, by the number of the answer; returns what was told, and when.
    fn listen(
        clock: &mut Reckoning,
        seconds: std::ops::Range<u64>,
        ahead: impl Fn(u64) -> i64,
    ) -> Vec<(u64, Jump)> {
        let mut told = Vec::new();
        for second in seconds.step_by(2) {
            let at = i64::try_from(second).expect("a small number");
            let reading = reading(at, second);
            let jump = clock.hear(time(at + ahead(second / 2)), reading);
            told.extend(jump.map(|jump| (second, jump)));
        }
        told
    }

    #[test]
    fn a_machine_that_slept_learns_the_time_from_the_hub() {
        let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
        // An hour of sleep, in which the monotonic clock stood still.
        assert!(clock.tick(reading(3_610, 10)).is_some());
        for second in (11..71).step_by(2) {
            let at = i64::try_from(second).expect("a small number");
            assert_eq!(
                clock.hear(time(3_600 + at), reading(3_600 + at, second)),
                None,
                "told once"
            );
            assert!(clock.doubt.is_some(), "{second}");
        }
        assert_eq!(clock.hear(time(3_671), reading(3_671, 71)), None);
        assert_eq!((now(&clock, 71), clock.doubt), (3_671, None));
    }

    #[test]
    fn a_hub_whose_clock_jumps_is_not_followed_before_it_is_steady() {
        for by in [600, -600, 31, -31] {
            let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
            let told = listen(&mut clock, 30..90, |_| by);
            assert_eq!(
                told,
                [(30, Jump::Hub(SignedDuration::from_secs(by)))],
                "told once"
            );
            assert!(clock.doubt.is_some());
            assert_eq!(now(&clock, 88), 88, "nothing ends meanwhile");
            assert_eq!(listen(&mut clock, 90..92, |_| by), []);
            assert_eq!((now(&clock, 90), clock.doubt), (90 + by, None));
        }
    }

    #[test]
    fn servers_that_are_a_little_apart_hold_nothing() {
        for apart in [6_i64, 30, -30] {
            let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
            let told = listen(&mut clock, 2..3_600, |answer| {
                if answer.is_multiple_of(2) { 0 } else { apart }
            });
            assert_eq!((told, clock.doubt), (Vec::new(), None), "{apart}");
            assert_eq!(now(&clock, 3_600), 3_600);
        }
    }

    #[test]
    fn servers_that_are_far_apart_hold_everything_and_are_reported_once() {
        let by_turns = |answer: u64| if answer.is_multiple_of(2) { 0_i64 } else { 600 };
        // Three of four answers come from one of them, and now and then half a minute of answers from one.
        let unevenly = |answer: u64| if answer.is_multiple_of(4) { 600_i64 } else { 0 };
        let in_rows = |answer: u64| {
            if (answer / 15).is_multiple_of(2) {
                600_i64
            } else {
                0
            }
        };
        for ahead in [&by_turns as &dyn Fn(u64) -> i64, &unevenly, &in_rows] {
            let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
            let told = listen(&mut clock, 2..3_600, ahead);
            let [(_, Jump::Hub(_)), (_, Jump::Servers(_))] = told.as_slice() else {
                panic!("{told:?}");
            };
            assert_eq!(clock.trust(Duration::from_hours(1)), Trust::Lost);
            assert_eq!(now(&clock, 3_600), 3_600, "no time has jumped");
            // The servers are fixed.
            assert_eq!(listen(&mut clock, 3_600..3_664, |_| 0), []);
            assert_eq!(
                (clock.trust(Duration::from_secs(3_664)), now(&clock, 3_664)),
                (Trust::Known, 3_664)
            );
        }
    }

    #[test]
    fn a_doubt_is_lost_time_only_when_it_lasts() {
        let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
        assert_eq!(clock.trust(Duration::ZERO), Trust::Known);
        listen(&mut clock, 30..32, |_| 600);
        assert_eq!(clock.trust(Duration::from_secs(119)), Trust::Doubted);
        assert_eq!(clock.trust(Duration::from_mins(2)), Trust::Lost);
    }

    #[test]
    fn a_hub_that_tells_no_time_does_not_hold_indefinitely() {
        let mut clock = Reckoning::new(reading(0, 0), None);
        assert!(clock.doubt.is_none());
        assert!(clock.tick(reading(700, 10)).is_some());
        assert_eq!(clock.tick(reading(750, 60)), None);
        assert!(clock.doubt.is_some());
        assert_eq!(clock.tick(reading(760, 70)), None);
        assert_eq!((now(&clock, 70), clock.doubt), (70, None));
    }

    proptest! {
        /// No soak and no deadline ends by a jump: while the hub's clock is right, time goes on second by second, whatever the
        /// clock of this machine shows and however often it is set.
        #[test]
        fn time_goes_on_second_by_second_while_the_wall_clock_is_set(
            jumps in proptest::collection::vec((0_u64..600, -100_000_i64..100_000), 0..12),
        ) {
            let mut clock = Reckoning::new(reading(0, 0), Some(time(0)));
            let mut heard = 0;
            for second in 1..1_200 {
                let at = i64::try_from(second).expect("a small number");
                let set = jumps.iter().filter(|(when, _)| *when < second);
                let reading = reading(at + set.map(|(_, by)| by).sum::<i64>(), second);
                clock.tick(reading);
                let pause = if clock.doubt.is_none() { SETTLED } else { DOUBTFUL };
                if second - heard >= pause.as_secs() {
                    clock.hear(time(at), reading);
                    heard = second;
                }
                prop_assert_eq!(now(&clock, second), at);
            }
            prop_assert_eq!(clock.trust(Duration::from_mins(20)), Trust::Known);
        }
    }

    #[test]
    fn the_date_of_an_answer_is_read() {
        let read = parse_date("Sun, 06 Nov 1994 08:49:37 GMT").map(|at| at.to_string());
        assert_eq!(read.as_deref(), Some("1994-11-06T08:49:37Z"));
        assert_eq!(parse_date("soon"), None);
    }
}
