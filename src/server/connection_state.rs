//! What is known of one connection and of its client.
//!
//! Decides which addresses count as one caller, and holds what is known of one connection: what it is doing, since when, and what
//! it has earned. Never closes anything; `connection_limit` and `connection` do.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::limits::Limits;

/// An address that quotas are counted by: an IPv4 address, or the /64 of an IPv6 one, which a single host owns whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Peer(IpAddr);

impl Peer {
    /// Returns the address, or the network of an IPv6 one.
    pub(super) fn address(self) -> IpAddr {
        self.0
    }
}

impl From<IpAddr> for Peer {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V4(v4) => IpAddr::V4(v4),
            IpAddr::V6(v6) => IpAddr::V6(Ipv6Addr::from_bits(v6.to_bits() & !u128::from(u64::MAX))),
        })
    }
}

/// Whether a caller has shown who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CallerClass {
    /// Has shown neither a certificate nor the secret of the path.
    Unknown,
    /// Has shown a certificate or the secret of the path.
    Known,
}

/// How long a new connection may take to its first review before it counts as one that only waits.
const ARRIVES_WITHIN: Duration = Duration::from_secs(3);

/// What a connection is doing; what comes first is given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// It has not even finished its handshake, though it had the time.
    NoHandshake,
    /// It has never carried a review, and rests.
    NoReview,
    /// It sends a body, or takes an answer, more slowly than an honest caller has to.
    Slow,
    /// It has come a moment ago, and so have too many others: the first of them goes first.
    Flood,
    /// It has carried reviews, and rests.
    Idle,
    /// It has come a moment ago. Idle connections are closed for it, so that no caller is sent away between its
    /// handshake and its question.
    New,
    /// It sends a body or takes an answer.
    Active,
    /// A review of it is being decided: its place is not given away.
    Deciding,
}

/// Why a connection has to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Overdue {
    /// It rests for too long: it may finish what it began.
    Leave,
    /// It does not take its answers: it is cut.
    Cut,
}

/// What is known of one connection.
#[derive(Debug)]
pub(super) struct Connection {
    peer: Peer,
    opened: Instant,
    /// Cancelled when it has to give up its place.
    pub(super) leave: CancellationToken,
    state: Mutex<Activity>,
}

#[derive(Debug)]
struct Activity {
    class: CallerClass,
    shaken: bool,
    requests: usize,
    deciding: usize,
    reviews: u64,
    /// Since when it does what it does.
    since: Instant,
    /// The answers that have not been written yet.
    unwritten: BTreeMap<u64, Unwritten>,
    next: u64,
    /// How many bytes may still come that no request explains.
    credit: usize,
    /// How many bytes of bodies have come.
    body_bytes: usize,
    earned: Instant,
}

#[derive(Debug)]
struct Unwritten {
    made: Instant,
    /// When it has to be written.
    until: Instant,
}

/// Bytes that a connection may send before its first request: twice the window, whose bytes come before they are read.
const FREE_BYTES: usize = 512 << 10;
/// The most that it may send between two.
const MOST_BYTES: usize = 2 * FREE_BYTES;
/// Bytes of frames and headers that one request explains.
const REQUEST_BYTES: usize = 32 << 10;
/// Bytes a second that a resting connection may send: sixty pings.
const RESTING_BYTES: usize = 1 << 10;

impl Activity {
    fn earn(&mut self, bytes: usize) {
        self.credit = self.credit.saturating_add(bytes).min(MOST_BYTES);
    }
}

impl Connection {
    pub(super) fn new(peer: Peer, now: Instant) -> Self {
        Self {
            peer,
            opened: now,
            leave: CancellationToken::new(),
            state: Mutex::new(Activity {
                class: CallerClass::Unknown,
                shaken: false,
                requests: 0,
                deciding: 0,
                reviews: 0,
                since: now,
                unwritten: BTreeMap::new(),
                next: 0,
                credit: FREE_BYTES,
                body_bytes: 0,
                earned: now,
            }),
        }
    }

    fn state(&self) -> MutexGuard<'_, Activity> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn peer(&self) -> Peer {
        self.peer
    }

    pub(super) fn class(&self) -> CallerClass {
        self.state().class
    }

    /// Notes that the caller has shown who it is.
    pub(super) fn mark_known(&self) {
        self.state().class = CallerClass::Known;
    }

    /// Notes that the handshake is done.
    pub(super) fn handshake_done(&self, now: Instant) {
        let mut state = self.state();
        state.shaken = true;
        state.since = now;
    }

    /// Notes that a request has come; it is over when what is returned is dropped.
    pub(super) fn request(self: &Arc<Self>, now: Instant) -> OpenRequest {
        let mut state = self.state();
        state.requests += 1;
        state.since = now;
        state.earn(REQUEST_BYTES);
        drop(state);
        OpenRequest(Arc::clone(self))
    }

    /// Notes that a review is being decided, not only waiting for it, until what is returned is dropped.
    pub(super) fn begin_decision(self: &Arc<Self>) -> OpenDecision {
        self.state().deciding += 1;
        OpenDecision(Arc::clone(self))
    }

    /// Notes that a review has been answered.
    pub(super) fn reviewed(&self) {
        self.state().reviews += 1;
    }

    /// Notes that an answer has been made, which is to be written within some time; returns its number.
    pub(super) fn begin_response(&self, within: Duration, now: Instant) -> u64 {
        let mut state = self.state();
        let number = state.next;
        state.next += 1;
        state.since = now;
        let until = now + within;
        state.unwritten.insert(number, Unwritten { made: now, until });
        number
    }

    /// Notes that an answer has been handed on to the socket, or given up.
    pub(super) fn response_written(&self, number: u64) {
        self.state().unwritten.remove(&number);
    }

    /// Takes bytes of what a connection may send unasked, plus what its bodies explain; tells whether there were enough.
    pub(super) fn spend(&self, bytes: usize, now: Instant) -> bool {
        let mut state = self.state();
        let rested = now.saturating_duration_since(state.earned).as_secs();
        if rested > 0 {
            state.earned = now;
            let earned = usize::try_from(rested)
                .unwrap_or(usize::MAX)
                .saturating_mul(RESTING_BYTES);
            state.earn(earned);
        }
        let left = state.credit.checked_sub(bytes);
        state.credit = left.unwrap_or_default();
        left.is_some()
    }

    /// Notes bytes of a body: they, and as many of the frames around them, are explained.
    pub(super) fn credit_body(&self, bytes: usize) {
        let mut state = self.state();
        state.body_bytes = state.body_bytes.wrapping_add(bytes);
        state.earn(bytes.saturating_mul(2));
    }

    /// Returns how many bytes of bodies have come so far.
    pub(super) fn body_bytes(&self) -> usize {
        self.state().body_bytes
    }

    /// Returns what the connection is doing, and since when.
    pub(super) fn phase(&self, limits: &Limits, now: Instant) -> (CallerClass, Phase, Instant) {
        let state = self.state();
        let lasts = now.saturating_duration_since(state.since);
        let oldest = state.unwritten.values().next().map(|answer| answer.made);
        let phase = if state.deciding > 0 {
            Phase::Deciding
        } else if state.requests > 0 || oldest.is_some() {
            let waits = oldest.map_or(lasts, |made| now.saturating_duration_since(made));
            if waits > limits.body_grace {
                Phase::Slow
            } else {
                Phase::Active
            }
        } else if state.reviews == 0 && now.saturating_duration_since(self.opened) < ARRIVES_WITHIN {
            return (state.class, Phase::New, self.opened);
        } else if !state.shaken {
            Phase::NoHandshake
        } else if state.reviews == 0 {
            Phase::NoReview
        } else {
            Phase::Idle
        };
        (state.class, phase, state.since)
    }

    /// Returns whether it has to end.
    pub(super) fn overdue(&self, limits: &Limits, now: Instant) -> Option<Overdue> {
        let state = self.state();
        let age = |since: Instant| now.saturating_duration_since(since);
        if state.unwritten.values().any(|answer| now > answer.until) {
            return Some(Overdue::Cut);
        }
        if state.requests > 0 || !state.unwritten.is_empty() {
            return None;
        }
        let is_unproven = state.reviews == 0 && age(self.opened) > limits.unproven;
        (is_unproven || age(state.since) > limits.idle).then_some(Overdue::Leave)
    }
}

/// A request that has come and has not been answered yet.
#[derive(Debug)]
pub(super) struct OpenRequest(Arc<Connection>);

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.requests = state.requests.saturating_sub(1);
    }
}

/// A review that is being decided.
#[derive(Debug)]
pub(super) struct OpenDecision(Arc<Connection>);

impl Drop for OpenDecision {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.deciding = state.deciding.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conn() -> (Arc<Connection>, Instant) {
        let now = Instant::now();
        let peer = Peer::from(IpAddr::from([127, 0, 0, 1]));
        (Arc::new(Connection::new(peer, now)), now)
    }

    #[test]
    fn a_host_cannot_be_many_by_having_many_addresses() {
        let peer = |text: &str| Peer::from(text.parse::<IpAddr>().expect("an address"));
        assert_eq!(peer("2001:db8::1"), peer("2001:db8::2:3"));
        assert_ne!(peer("2001:db8:0:1::1"), peer("2001:db8:0:2::1"));
        assert_eq!(peer("::ffff:10.0.0.1"), peer("10.0.0.1"));
        assert_ne!(peer("10.0.0.1"), peer("10.0.0.2"));
    }

    #[test]
    fn a_connection_goes_through_its_phases() {
        let limits = Limits::default();
        let (conn, now) = conn();
        let phase = |at| conn.phase(&limits, at).1;
        assert_eq!(phase(now), Phase::New);
        assert_eq!(phase(now + ARRIVES_WITHIN), Phase::NoHandshake);
        conn.handshake_done(now);
        assert_eq!(phase(now), Phase::New);
        assert_eq!(phase(now + ARRIVES_WITHIN), Phase::NoReview);
        let asking = conn.request(now);
        assert_eq!(phase(now), Phase::Active);
        assert_eq!(phase(now + limits.body_grace * 2), Phase::Slow);
        let deciding = conn.begin_decision();
        assert_eq!(phase(now + limits.body_grace * 2), Phase::Deciding);
        drop(deciding);
        conn.reviewed();
        let number = conn.begin_response(limits.write, now);
        drop(asking);
        assert_eq!(phase(now), Phase::Active);
        conn.response_written(number);
        assert_eq!(phase(now), Phase::Idle);
    }

    #[test]
    fn pings_are_no_reason_to_stay() {
        let limits = Limits::default();
        let (conn, now) = conn();
        conn.handshake_done(now);
        assert_eq!(conn.overdue(&limits, now + limits.unproven), None);
        let late = now + limits.unproven + Duration::from_millis(1);
        assert_eq!(conn.overdue(&limits, late), Some(Overdue::Leave));
        conn.reviewed();
        assert_eq!(conn.overdue(&limits, late), None);
        let later = now + limits.idle + Duration::from_millis(1);
        assert_eq!(conn.overdue(&limits, later), Some(Overdue::Leave));
    }

    #[test]
    fn an_answer_that_is_not_taken_ends_the_connection() {
        let limits = Limits::default();
        let (conn, now) = conn();
        let number = conn.begin_response(limits.answer(1000), now);
        let late = now + limits.write + Duration::from_millis(1);
        assert_eq!(conn.overdue(&limits, late), Some(Overdue::Cut));
        conn.response_written(number);
        assert_eq!(conn.overdue(&limits, late), None);
    }

    /// An answer of `/convert` may have tens of megabytes.
    #[test]
    fn a_large_answer_may_take_longer_and_one_behind_it_does_not() {
        let limits = Limits::default();
        let (conn, now) = conn();
        let _large = conn.begin_response(limits.answer(10 << 20), now);
        let (later, end) = (limits.write * 2, limits.write + Duration::from_secs(10));
        assert_eq!(conn.overdue(&limits, now + later), None);
        assert_eq!(conn.overdue(&limits, now + end), None);
        let late = now + end + Duration::from_millis(1);
        assert_eq!(conn.overdue(&limits, late), Some(Overdue::Cut));
        let _small = conn.begin_response(limits.answer(1000), now);
        assert_eq!(conn.overdue(&limits, now + later), Some(Overdue::Cut));
        assert_eq!(limits.answer(usize::MAX), limits.write * 4, "there is an end");
    }

    #[test]
    fn bytes_that_no_request_explains_run_out() {
        let (conn, now) = conn();
        assert!(conn.spend(FREE_BYTES, now));
        assert!(!conn.spend(1, now));
        let _asking = conn.request(now);
        assert!(conn.spend(REQUEST_BYTES, now) && !conn.spend(1, now));
        conn.credit_body(100);
        assert!(conn.spend(200, now) && !conn.spend(1, now));
        // A ping every thirty seconds, as Go's clients send it, for a day.
        let mut at = now;
        for _ in 0..2880 {
            at += Duration::from_secs(30);
            assert!(conn.spend(17, at));
        }
    }
}
