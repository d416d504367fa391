//! Rate limits of reads of the hub on behalf of others: all callers together, one caller, one user.
//!
//! Decides who may cause one more read. An unknown client that sends any request, as any user, uses at most the share of its
//! address: the rest is left for the API server.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

/// A rate, and how much may be used at once.
#[derive(Clone, Copy, Debug)]
struct Pace {
    every: Duration,
    burst: u32,
}

/// All together: a hundred questions a second.
const ALL: Pace = Pace {
    every: Duration::from_millis(10),
    burst: 200,
};
/// One caller, who may be an API server with all its users.
const PEER: Pace = Pace {
    every: Duration::from_millis(14),
    burst: 150,
};
/// One user behind it.
const USER: Pace = Pace {
    every: Duration::from_millis(20),
    burst: 100,
};
/// Maximum number of callers, and of users, with a limit of their own; further ones share one.
const MOST: usize = 1024;

/// On whose behalf the hub is asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OnBehalf {
    /// The address of the caller.
    pub(super) peer: Option<IpAddr>,
    /// A digest of the user that the caller tells of.
    pub(super) user: [u8; 32],
}

/// What may still be asked.
#[derive(Debug, Default)]
pub(super) struct RateLimit {
    all: Bucket,
    peers: Buckets<Option<IpAddr>>,
    users: Buckets<[u8; 32]>,
}

impl RateLimit {
    /// Takes one question, if all callers together, this caller and this user each have one left.
    pub(super) fn take(&mut self, who: &OnBehalf, now: Instant) -> bool {
        let peer = self.peers.of(who.peer, now);
        let user = self.users.of(who.user, now);
        let left = [(self.all, ALL), (*peer, PEER), (*user, USER)];
        if !left.iter().all(|(bucket, pace)| bucket.has_capacity(*pace, now)) {
            return false;
        }
        for (bucket, pace) in [(&mut self.all, ALL), (peer, PEER), (user, USER)] {
            bucket.take(pace, now);
        }
        true
    }
}

/// When what was taken will have been given back.
#[derive(Clone, Copy, Debug, Default)]
struct Bucket(Option<Instant>);

impl Bucket {
    fn owed(self, now: Instant) -> Duration {
        self.0
            .map_or(Duration::ZERO, |until| until.saturating_duration_since(now))
    }

    fn has_capacity(self, pace: Pace, now: Instant) -> bool {
        self.owed(now) + pace.every <= pace.every * pace.burst
    }

    fn take(&mut self, pace: Pace, now: Instant) {
        self.0 = Some(now + self.owed(now) + pace.every);
    }
}

/// Buckets by whom they are for.
#[derive(Debug)]
struct Buckets<K> {
    own: BTreeMap<K, Bucket>,
    /// The shared limit of all others.
    others: Bucket,
}

impl<K> Default for Buckets<K> {
    fn default() -> Self {
        Self {
            own: BTreeMap::new(),
            others: Bucket::default(),
        }
    }
}

impl<K: Ord + Copy> Buckets<K> {
    fn of(&mut self, key: K, now: Instant) -> &mut Bucket {
        if !self.own.contains_key(&key) && self.own.len() >= MOST {
            self.own.retain(|_, bucket| !bucket.owed(now).is_zero());
            if self.own.len() >= MOST {
                return &mut self.others;
            }
        }
        self.own.entry(key).or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn who(peer: u8, user: u8) -> OnBehalf {
        OnBehalf {
            peer: Some(IpAddr::from([10, 0, 0, peer])),
            user: [user; 32],
        }
    }

    #[test]
    fn an_unknown_caller_with_many_names_leaves_capacity_for_others() {
        let (mut allowance, now) = (RateLimit::default(), Instant::now());
        let taken = (0..=255_u8).cycle().take(10_000);
        let taken = taken.filter(|user| allowance.take(&who(1, *user), now)).count();
        assert_eq!(taken, PEER.burst as usize, "no more than one caller may have");
        let honest = (0..1000).filter(|_| allowance.take(&who(2, 7), now)).count();
        assert_eq!(honest, (ALL.burst - PEER.burst) as usize, "what is left is left");
    }

    #[test]
    fn what_was_taken_comes_back_with_time() {
        let (mut allowance, begun) = (RateLimit::default(), Instant::now());
        let burst = (0..1000).filter(|_| allowance.take(&who(1, 1), begun)).count();
        assert_eq!(burst, USER.burst as usize);
        assert!(!allowance.take(&who(1, 1), begun));
        let later = begun + Duration::from_secs(1);
        let more = (0..1000).filter(|_| allowance.take(&who(1, 1), later)).count();
        assert_eq!(more, 50);
    }

    #[test]
    fn no_caller_is_remembered_indefinitely() {
        let (mut allowance, now) = (RateLimit::default(), Instant::now());
        for number in 0..5_000_u64 {
            let mut user = [0; 32];
            user[..8].copy_from_slice(&number.to_le_bytes());
            let later = now + Duration::from_millis(number * 20);
            assert!(allowance.take(&OnBehalf { peer: None, user }, later), "{number}");
        }
        assert!(allowance.users.own.len() <= MOST);
    }
}
