//! How many connections may be open, and which one is closed for a new one beyond that.
//!
//! Unknown callers are closed before known ones, those of a crowded address before others, those that have shown
//! nothing before those that have asked something, and among equals the one that has rested longest. So a caller that only waits
//! never keeps out a caller that asks. A quarter is for connections that have just come: only as many others as that can
//! push one out, and more of them push out each other. Never closes a connection itself: it cancels its token.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

use super::connection_state::{CallerClass, Connection, Peer, Phase};
use super::limits::Limits;
use crate::telemetry::{Closed, Metrics};

/// The open connections.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    limits: Limits,
    most: usize,
    metrics: Metrics,
    taken: Mutex<OpenConnections>,
}

#[derive(Debug, Default)]
struct OpenConnections {
    next: u64,
    open: BTreeMap<u64, Arc<Connection>>,
    peers: BTreeMap<Peer, usize>,
}

/// The slot of one connection, until it is dropped.
#[derive(Debug)]
pub(super) struct ConnectionSlot {
    number: u64,
    limit: Arc<ConnectionLimit>,
    conn: Arc<Connection>,
}

/// Which connection is kept; the least is closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Priority {
    class: CallerClass,
    /// Whether its address has no more connections than `Limits::modest`.
    modest: bool,
    phase: Phase,
    since: Instant,
}

impl ConnectionLimit {
    pub(super) fn new(most: usize, limits: Limits, metrics: Metrics) -> Arc<Self> {
        Arc::new(Self {
            limits,
            most,
            metrics,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, OpenConnections> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a slot for a new connection; nothing when every other is needed for a decision at this moment.
    pub(super) fn take(self: &Arc<Self>, peer: Peer, now: Instant) -> Option<ConnectionSlot> {
        let mut taken = self.taken();
        while taken.open.len() >= self.most {
            let leaving = self.lowest_priority(&taken, now)?;
            taken.remove(leaving)?.leave.cancel();
            self.metrics.connections().closes(Closed::Evicted);
        }
        let number = taken.next;
        taken.next += 1;
        let conn = Arc::new(Connection::new(peer, now));
        taken.open.insert(number, Arc::clone(&conn));
        *taken.peers.entry(peer).or_default() += 1;
        drop(taken);
        self.metrics.connections().opened();
        Some(ConnectionSlot {
            number,
            limit: Arc::clone(self),
            conn,
        })
    }

    /// Closes one without a new one, when the system has run out of descriptors.
    pub(super) fn evict_one(&self, now: Instant) {
        let mut taken = self.taken();
        if let Some(conn) = self
            .lowest_priority(&taken, now)
            .and_then(|number| taken.remove(number))
        {
            conn.leave.cancel();
            self.metrics.connections().closes(Closed::Evicted);
        }
    }

    fn lowest_priority(&self, taken: &OpenConnections, now: Instant) -> Option<u64> {
        let priority = |conn: &Connection| {
            let (class, phase, since) = conn.phase(&self.limits, now);
            let count = taken.peers.get(&conn.peer()).copied().unwrap_or_default();
            Priority {
                class,
                modest: count <= self.limits.modest,
                phase,
                since,
            }
        };
        let mut open: Vec<_> = taken
            .open
            .iter()
            .map(|(number, conn)| (priority(conn), *number))
            .collect();
        let arriving = open
            .iter()
            .filter(|(priority, _)| priority.phase == Phase::New)
            .count();
        if arriving > self.most / 4 {
            for (priority, _) in &mut open {
                if priority.phase == Phase::New {
                    priority.phase = Phase::Flood;
                }
            }
        }
        let (_, number) = open
            .into_iter()
            .filter(|(priority, _)| priority.phase != Phase::Deciding)
            .min()?;
        Some(number)
    }
}

impl OpenConnections {
    fn remove(&mut self, number: u64) -> Option<Arc<Connection>> {
        let conn = self.open.remove(&number)?;
        if let Some(count) = self.peers.get_mut(&conn.peer()) {
            *count -= 1;
            if *count == 0 {
                self.peers.remove(&conn.peer());
            }
        }
        Some(conn)
    }
}

impl ConnectionSlot {
    /// Returns what is known of the connection that has this slot.
    pub(super) fn conn(&self) -> &Arc<Connection> {
        &self.conn
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        // A connection that was evicted has lost its slot already.
        let _gone = self.limit.taken().remove(self.number);
        self.limit.metrics.connections().ended();
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

    fn places(most: usize) -> (Arc<ConnectionLimit>, Instant) {
        let limits = Limits {
            modest: 2,
            ..Limits::default()
        };
        (
            ConnectionLimit::new(most, limits, Metrics::default()),
            Instant::now(),
        )
    }

    fn gone(slot: &ConnectionSlot) -> bool {
        slot.conn().leave.is_cancelled()
    }

    #[tokio::test]
    async fn the_connection_that_is_idle_longest_is_closed() {
        let (places, now) = places(2);
        let [first, second] = [0, 1].map(|n| {
            let slot = places.take(peer(n), now + Duration::from_secs(n.into()));
            slot.expect("there is a free slot")
        });
        let third = places
            .take(peer(3), now + Duration::from_secs(3))
            .expect("a slot");
        assert!(gone(&first) && !gone(&second) && !gone(&third));
    }

    #[tokio::test]
    async fn a_crowd_loses_its_own_places() {
        let (places, now) = places(4);
        let honest = places.take(peer(1), now).expect("a slot");
        let later = now + Duration::from_secs(1);
        let crowd = [0; 3].map(|_| places.take(peer(2), later).expect("a slot"));
        let newcomer = places.take(peer(3), later).expect("a slot");
        assert!(!gone(&honest), "the oldest, but of an address that has one");
        assert_eq!(crowd.iter().filter(|slot| gone(slot)).count(), 1);
        assert!(!gone(&newcomer));
    }

    #[tokio::test]
    async fn who_has_shown_something_outlasts_who_has_not() {
        let (places, now) = places(3);
        let [known, asked, quiet] = [1, 2, 3].map(|n| places.take(peer(n), now).expect("a slot"));
        known.conn().handshake_done(now);
        known.conn().mark_known();
        asked.conn().handshake_done(now);
        asked.conn().reviewed();
        let later = now + Duration::from_secs(1);
        quiet.conn().handshake_done(later);
        let _first = places.take(peer(4), later).expect("a slot");
        assert!(gone(&quiet));
        let kept = places.take(peer(5), later).expect("a slot");
        kept.conn().handshake_done(later);
        assert!(!gone(&asked), "the silent newcomer went before it");
        let busy = kept.conn().begin_decision();
        let _second = places.take(peer(6), later).expect("a slot");
        assert!(gone(&asked) && !gone(&known));
        drop(busy);
    }

    #[tokio::test]
    async fn who_has_just_come_is_outrun_by_a_flood_only() {
        let (places, now) = places(8);
        let rested: Vec<_> = (0..8)
            .map(|n| places.take(peer(n), now).expect("a slot"))
            .collect();
        for slot in &rested {
            slot.conn().handshake_done(now);
            slot.conn().reviewed();
        }
        let later = now + Duration::from_secs(9);
        let newcomers: Vec<_> = (10..12)
            .map(|n| places.take(peer(n), later).expect("a slot"))
            .collect();
        let next = places.take(peer(20), later).expect("a slot");
        assert!(newcomers.iter().all(|slot| !gone(slot)));
        assert_eq!(rested.iter().filter(|slot| gone(slot)).count(), 3);
        let _flood = places.take(peer(21), later).expect("a slot");
        assert!(
            gone(&newcomers[0]) && !gone(&next),
            "more than a quarter outrun each other"
        );
        assert_eq!(rested.iter().filter(|slot| gone(slot)).count(), 3);
    }

    #[tokio::test]
    async fn no_connection_is_closed_during_a_decision() {
        let (places, now) = places(1);
        let only = places.take(peer(1), now).expect("a slot");
        let deciding = only.conn().begin_decision();
        assert!(places.take(peer(2), now).is_none());
        drop(deciding);
        assert!(places.take(peer(2), now).is_some());
        drop(only);
        assert!(places.take(peer(3), now).is_some());
    }
}
