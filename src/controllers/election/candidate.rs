//! One candidate's view of the Lease: whether it leads, and what to do next.
//!
//! Decides by its own clock alone: a Lease is over when it has not changed for its whole duration since this candidate saw it
//! change. The clocks of other machines are never believed. Never reads or writes anything.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use tokio::time::Instant;

/// Where the candidates meet, and how fast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ElectionOptions {
    /// Namespace of the Lease.
    pub namespace: String,
    /// Name of the Lease.
    pub name: String,
    /// What this candidate calls itself; no two may share it.
    pub identity: String,
    /// How fast leadership changes hands.
    pub pace: Pace,
}

/// How fast leadership changes hands; the defaults are those of Kubernetes' own controllers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pace {
    /// How long a Lease holds without being renewed.
    pub lease: Duration,
    /// How long a leader leads without having renewed it; less than `lease`, so that two never lead at once.
    pub renew_within: Duration,
    /// How often the Lease is looked at.
    pub retry: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            renew_within: Duration::from_secs(10),
            retry: Duration::from_secs(2),
        }
    }
}

/// No Lease that stands still is believed for longer than this, whatever it announces.
/// OCM's own managers announce 137 s and renew every 26.
const LONGEST_LEASE: Duration = Duration::from_mins(2);

/// What a candidate does next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Move {
    /// There is no Lease: create it.
    Create(LeaseSpec),
    /// Take the Lease over, or renew the own one.
    Write(LeaseSpec),
    /// Another candidate leads.
    Follow,
}

/// One candidate.
#[derive(Debug)]
pub(super) struct Candidate {
    identity: String,
    pace: Pace,
    /// The revision of the Lease that was seen last, and since when.
    seen: Option<(String, Instant)>,
    /// When the last renewal that succeeded was sent.
    renewed: Option<Instant>,
}

impl Candidate {
    pub(super) fn new(identity: String, pace: Pace) -> Self {
        Self {
            identity,
            pace,
            seen: None,
            renewed: None,
        }
    }

    /// Returns until when this candidate leads, whatever happens to the Lease.
    pub(super) fn leads_until(&self) -> Option<Instant> {
        self.renewed.map(|at| at + self.pace.renew_within)
    }

    /// Returns what to do, after the Lease was read.
    pub(super) fn consider(&mut self, lease: Option<&Lease>, now: Instant, time: Timestamp) -> Move {
        let Some(lease) = lease else {
            self.seen = None;
            return Move::Create(self.spec(None, time));
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().unwrap_or_default();
        if holder == self.identity || holder.is_empty() {
            return Move::Write(self.spec(Some(&spec), time));
        }
        // Another holder ends what this candidate believed of itself.
        self.renewed = None;
        let version = lease.metadata.resource_version.clone().unwrap_or_default();
        let since = match &self.seen {
            Some((known, since)) if *known == version => *since,
            Some(_) | None => now,
        };
        self.seen = Some((version, since));
        let announced = spec
            .lease_duration_seconds
            .and_then(|seconds| u64::try_from(seconds).ok());
        let lasts = announced.map_or(self.pace.lease, Duration::from_secs);
        // A holder that lives renews long before: what a dead one or a restored backup announces must not end all work for hours.
        let lasts = lasts.min(LONGEST_LEASE.max(self.pace.lease));
        if now < since + lasts {
            return Move::Follow;
        }
        Move::Write(self.spec(Some(&spec), time))
    }

    /// Notes that a write of the Lease, sent at `at`, has succeeded.
    pub(super) fn won(&mut self, at: Instant) {
        self.renewed = Some(at);
    }

    /// Notes that another candidate wrote the Lease first.
    pub(super) fn lost(&mut self) {
        self.renewed = None;
    }

    /// Returns the Lease as it is left behind: held by the successor, so that no other candidate comes in between, or free, so
    /// that the next candidate need not wait.
    pub(super) fn farewell(
        &mut self,
        lease: &Lease,
        successor: Option<String>,
        time: Timestamp,
    ) -> Option<LeaseSpec> {
        let held = lease.spec.as_ref()?;
        if held.holder_identity.as_deref() != Some(&self.identity) {
            return None;
        }
        self.renewed = None;
        if let Some(identity) = successor {
            return Some(Self::new(identity, self.pace).spec(Some(held), time));
        }
        Some(LeaseSpec {
            holder_identity: Some(String::new()),
            lease_duration_seconds: Some(1),
            renew_time: Some(MicroTime(time)),
            ..held.clone()
        })
    }

    fn spec(&self, old: Option<&LeaseSpec>, time: Timestamp) -> LeaseSpec {
        let same = old.filter(|old| old.holder_identity.as_deref() == Some(&self.identity));
        let terms = old.and_then(|old| old.lease_transitions).unwrap_or_default();
        let whole_seconds = self.pace.lease.as_secs().max(1);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: Some(i32::try_from(whole_seconds).unwrap_or(i32::MAX)),
            acquire_time: same
                .and_then(|same| same.acquire_time.clone())
                .or(Some(MicroTime(time))),
            renew_time: Some(MicroTime(time)),
            lease_transitions: Some(match (old, same) {
                (Some(_), None) => terms.saturating_add(1),
                (Some(_), Some(_)) | (None, _) => terms,
            }),
            ..LeaseSpec::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn time() -> Timestamp {
        "2030-01-01T00:00:00Z".parse().expect("a time")
    }

    fn lease(holder: &str, version: &str, seconds: i32, transitions: i32) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.resource_version = Some(version.to_owned());
        lease.spec = Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(seconds),
            lease_transitions: Some(transitions),
            ..LeaseSpec::default()
        });
        lease
    }

    fn candidate() -> Candidate {
        Candidate::new("me".to_owned(), Pace::default())
    }

    fn after(start: Instant, seconds: u64) -> Instant {
        start + Duration::from_secs(seconds)
    }

    #[test]
    fn an_absent_a_free_and_the_own_lease_are_written() {
        let (mut me, now) = (candidate(), Instant::now());
        let Move::Create(made) = me.consider(None, now, time()) else {
            panic!("an absent lease is created")
        };
        assert_eq!(
            (made.holder_identity.as_deref(), made.lease_transitions),
            (Some("me"), Some(0))
        );
        let Move::Write(taken) = me.consider(Some(&lease("", "1", 1, 4)), now, time()) else {
            panic!("a free lease is taken")
        };
        assert_eq!(
            (taken.lease_transitions, taken.lease_duration_seconds),
            (Some(5), Some(15))
        );
        let Move::Write(renewed) = me.consider(Some(&lease("me", "2", 15, 5)), now, time()) else {
            panic!("the own lease is renewed")
        };
        assert_eq!(
            renewed.lease_transitions,
            Some(5),
            "no other replica held it in between"
        );
    }

    #[test]
    fn a_foreign_lease_is_taken_when_it_has_not_changed_for_its_whole_duration() {
        let (mut me, start) = (candidate(), Instant::now());
        let mut consider = |version: &str, seconds| {
            me.consider(Some(&lease("you", version, 15, 0)), after(start, seconds), time())
        };
        assert_eq!(consider("1", 0), Move::Follow);
        assert_eq!(consider("1", 14), Move::Follow);
        // A renewal begins the time again, however late it came.
        assert_eq!(consider("2", 16), Move::Follow);
        assert_eq!(consider("2", 30), Move::Follow);
        assert!(matches!(consider("2", 31), Move::Write(_)));
    }

    #[test]
    fn a_leader_that_cannot_renew_stops_leading_before_others_may_take_over() {
        let (mut me, start) = (candidate(), Instant::now());
        assert_eq!(me.leads_until(), None);
        me.won(start);
        let until = me.leads_until().expect("it leads");
        assert!(
            until < after(start, 15),
            "the lease lasts longer than the leader leads"
        );
        assert_eq!(
            me.consider(Some(&lease("you", "9", 15, 1)), after(start, 3), time()),
            Move::Follow
        );
        assert_eq!(me.leads_until(), None, "another replica holds it");
        me.won(start);
        me.lost();
        assert_eq!(me.leads_until(), None);
    }

    #[test]
    fn a_leader_releases_its_own_lease_and_no_other() {
        let mut me = candidate();
        let left = me
            .farewell(&lease("me", "1", 15, 2), None, time())
            .expect("it was held");
        assert_eq!(
            (left.holder_identity.as_deref(), left.lease_transitions),
            (Some(""), Some(2))
        );
        assert_eq!(me.farewell(&lease("you", "1", 15, 2), None, time()), None);
    }

    #[test]
    fn a_leader_releases_its_lease_to_the_waiting_replica() {
        let mut me = candidate();
        let left = me
            .farewell(&lease("me", "1", 15, 2), Some("next".to_owned()), time())
            .expect("it was held");
        assert_eq!(
            (left.holder_identity.as_deref(), left.lease_transitions),
            (Some("next"), Some(3))
        );
        assert_eq!(
            left.renew_time,
            Some(MicroTime(time())),
            "it holds for its whole duration"
        );
        assert_eq!(left.lease_duration_seconds, Some(15));
        let mut next = Candidate::new("next".to_owned(), Pace::default());
        let mut found = lease("next", "2", 15, 3);
        found.spec = Some(left);
        let Move::Write(taken) = next.consider(Some(&found), Instant::now(), time()) else {
            panic!("the own lease is taken up at once")
        };
        assert_eq!(taken.lease_transitions, Some(3));
    }
}
