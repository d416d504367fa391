//! The places that connections take, and whose place a newcomer gets when there is none left.
//!
//! Decides who goes: strangers before callers that are known, those of a crowded address before others, those that have shown
//! nothing before those that have asked something, and among equals the one that has rested longest. So a caller that only waits
//! never keeps out a caller that asks. A quarter of the places is for callers that have just come: a newcomer is outrun only by
//! as many others as that, and more of them outrun each other. Never closes a connection itself: it is told to leave.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::limits::Limits;
use super::peer::{CallerStanding, Life, Peer, Phase};
use crate::telemetry::{Closed, Metrics};

/// Places for connections.
#[derive(Debug)]
pub(super) struct Places {
    limits: Limits,
    most: usize,
    metrics: Metrics,
    taken: Mutex<OpenPlaces>,
}

#[derive(Debug, Default)]
struct OpenPlaces {
    next: u64,
    open: BTreeMap<u64, Arc<Life>>,
    peers: BTreeMap<Peer, usize>,
}

/// One place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    places: Arc<Places>,
    life: Arc<Life>,
}

/// How much a place would be missed; the least is given up first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worth {
    standing: CallerStanding,
    /// Whether its address has no more connections than `Limits::modest`.
    modest: bool,
    phase: Phase,
    since: Instant,
}

impl Places {
    pub(super) fn new(most: usize, limits: Limits, metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            limits,
            most,
            metrics,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, OpenPlaces> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a place for a newcomer; nothing when every other is needed for a decision at this moment.
    pub(super) fn take(self: &Arc<Self>, peer: Peer, now: Instant) -> Option<Place> {
        let mut taken = self.taken();
        while taken.open.len() >= self.most {
            let leaving = self.least(&taken, now)?;
            taken.remove(leaving)?.leave.cancel();
            self.metrics.door().closes(Closed::MadeRoom);
        }
        let number = taken.next;
        taken.next += 1;
        let life = Arc::new(Life::new(peer, now));
        taken.open.insert(number, Arc::clone(&life));
        *taken.peers.entry(peer).or_default() += 1;
        drop(taken);
        self.metrics.door().opened();
        Some(Place {
            number,
            places: Arc::clone(self),
            life,
        })
    }

    /// Makes room without a newcomer, when the system has run out of descriptors.
    pub(super) fn give_up_one(&self, now: Instant) {
        let mut taken = self.taken();
        if let Some(life) = self.least(&taken, now).and_then(|number| taken.remove(number)) {
            life.leave.cancel();
            self.metrics.door().closes(Closed::MadeRoom);
        }
    }

    fn least(&self, taken: &OpenPlaces, now: Instant) -> Option<u64> {
        let worth = |life: &Life| {
            let (standing, phase, since) = life.phase(&self.limits, now);
            let count = taken.peers.get(&life.peer()).copied().unwrap_or_default();
            Worth {
                standing,
                modest: count <= self.limits.modest,
                phase,
                since,
            }
        };
        let mut open: Vec<_> = taken
            .open
            .iter()
            .map(|(number, life)| (worth(life), *number))
            .collect();
        let arriving = open
            .iter()
            .filter(|(worth, _)| worth.phase == Phase::Arriving)
            .count();
        if arriving > self.most / 4 {
            for (worth, _) in &mut open {
                if worth.phase == Phase::Arriving {
                    worth.phase = Phase::Flooding;
                }
            }
        }
        let (_, number) = open
            .into_iter()
            .filter(|(worth, _)| worth.phase != Phase::Deciding)
            .min()?;
        Some(number)
    }
}

impl OpenPlaces {
    fn remove(&mut self, number: u64) -> Option<Arc<Life>> {
        let life = self.open.remove(&number)?;
        if let Some(count) = self.peers.get_mut(&life.peer()) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&life.peer());
            }
        }
        Some(life)
    }
}

impl Place {
    /// Returns what is known of the connection that has this place.
    pub(super) fn life(&self) -> &Arc<Life> {
        &self.life
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // A connection that was told to leave has lost its place already.
        let _gone = self.places.taken().remove(self.number);
        self.places.metrics.door().ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::time::Duration;

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    fn places(most: usize) -> (Arc<Places>, Instant) {
        let limits = Limits {
            modest: 2,
            ..Limits::default()
        };
        (Places::new(most, limits, Metrics::default()), Instant::now())
    }

    fn gone(place: &Place) -> bool {
        place.life().leave.is_cancelled()
    }

    #[tokio::test]
    async fn whoever_rests_longest_makes_room() {
        let (places, now) = places(2);
        let [first, second] = [0, 1].map(|n| {
            let place = places.take(peer(n), now + Duration::from_secs(n.into()));
            place.expect("there is room")
        });
        let third = places
            .take(peer(3), now + Duration::from_secs(3))
            .expect("a place");
        assert!(gone(&first) && !gone(&second) && !gone(&third));
    }

    #[tokio::test]
    async fn a_crowd_loses_its_own_places() {
        let (places, now) = places(4);
        let honest = places.take(peer(1), now).expect("a place");
        let later = now + Duration::from_secs(1);
        let crowd = [0; 3].map(|_| places.take(peer(2), later).expect("a place"));
        let newcomer = places.take(peer(3), later).expect("a place");
        assert!(!gone(&honest), "the oldest, but of an address that has one");
        assert_eq!(crowd.iter().filter(|place| gone(place)).count(), 1);
        assert!(!gone(&newcomer));
    }

    #[tokio::test]
    async fn who_has_shown_something_outlasts_who_has_not() {
        let (places, now) = places(3);
        let [known, asked, quiet] = [1, 2, 3].map(|n| places.take(peer(n), now).expect("a place"));
        known.life().shaken(now);
        known.life().is_known();
        asked.life().shaken(now);
        asked.life().reviewed();
        let later = now + Duration::from_secs(1);
        quiet.life().shaken(later);
        let _first = places.take(peer(4), later).expect("a place");
        assert!(gone(&quiet));
        let kept = places.take(peer(5), later).expect("a place");
        kept.life().shaken(later);
        assert!(!gone(&asked), "the silent newcomer went before it");
        let busy = kept.life().decides();
        let _second = places.take(peer(6), later).expect("a place");
        assert!(gone(&asked) && !gone(&known));
        drop(busy);
    }

    #[tokio::test]
    async fn who_has_just_come_is_outrun_by_a_flood_only() {
        let (places, now) = places(8);
        let rested: Vec<_> = (0..8)
            .map(|n| places.take(peer(n), now).expect("a place"))
            .collect();
        for place in &rested {
            place.life().shaken(now);
            place.life().reviewed();
        }
        let later = now + Duration::from_secs(9);
        let newcomers: Vec<_> = (10..12)
            .map(|n| places.take(peer(n), later).expect("a place"))
            .collect();
        let next = places.take(peer(20), later).expect("a place");
        assert!(newcomers.iter().all(|place| !gone(place)));
        assert_eq!(rested.iter().filter(|place| gone(place)).count(), 3);
        let _flood = places.take(peer(21), later).expect("a place");
        assert!(
            gone(&newcomers[0]) && !gone(&next),
            "more than a quarter outrun each other"
        );
        assert_eq!(rested.iter().filter(|place| gone(place)).count(), 3);
    }

    #[tokio::test]
    async fn nobody_is_cut_in_a_decision() {
        let (places, now) = places(1);
        let only = places.take(peer(1), now).expect("a place");
        let deciding = only.life().decides();
        assert!(places.take(peer(2), now).is_none());
        drop(deciding);
        assert!(places.take(peer(2), now).is_some());
        drop(only);
        assert!(places.take(peer(3), now).is_some());
    }
}
