//! The places of the page's connections, and whose place a further connection gets.
//!
//! Decides who leaves: connections that have shown no token before others, those of the address that has the most of them first, and
//! among equals the oldest. A connection that follows the hub keeps its place; `followers` bounds how many there are.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

/// One connection.
#[derive(Debug)]
pub(super) struct Connection {
    from: IpAddr,
    /// Whether an authenticated user has received a response.
    is_known: AtomicBool,
    /// Whether the last answer goes on.
    streams: AtomicBool,
    /// Cancelled when it has to give up its place.
    pub(super) leave: CancellationToken,
}

impl Connection {
    /// Notes a response to an authenticated user.
    pub(super) fn answered(&self, is_stream: bool) {
        self.is_known.store(true, Ordering::Relaxed);
        self.streams.store(is_stream, Ordering::Relaxed);
    }
}

/// All places.
#[derive(Debug)]
pub(super) struct Places {
    most: usize,
    /// By number: the oldest comes first.
    taken: Mutex<BTreeMap<u64, Arc<Connection>>>,
}

/// One place, until it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    number: u64,
    places: Arc<Places>,
    pub(super) connection: Arc<Connection>,
}

impl Places {
    pub(super) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            taken: Mutex::default(),
        })
    }

    fn taken(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a place for a new connection; nothing when every other one follows the hub.
    pub(super) fn take(self: &Arc<Self>, from: IpAddr) -> Option<Place> {
        let mut taken = self.taken();
        while taken.len() >= self.most {
            let leaving = least(&taken)?;
            taken.remove(&leaving)?.leave.cancel();
        }
        let number = taken.last_key_value().map_or(0, |(last, _)| last + 1);
        let connection = Arc::new(Connection {
            from,
            is_known: AtomicBool::new(false),
            streams: AtomicBool::new(false),
            leave: CancellationToken::new(),
        });
        taken.insert(number, Arc::clone(&connection));
        Some(Place {
            number,
            places: Arc::clone(self),
            connection,
        })
    }
}

/// Returns the number of the connection that gives up its place.
fn least(taken: &BTreeMap<u64, Arc<Connection>>) -> Option<u64> {
    let mut crowds: BTreeMap<IpAddr, usize> = BTreeMap::new();
    for connection in taken.values() {
        *crowds.entry(connection.from).or_default() += 1;
    }
    let (number, _) = taken
        .iter()
        .filter(|(_, connection)| !connection.streams.load(Ordering::Relaxed))
        .min_by_key(|(number, connection)| {
            let is_known = connection.is_known.load(Ordering::Relaxed);
            (is_known, Reverse(crowds.get(&connection.from).copied()), **number)
        })?;
    Some(*number)
}

impl Drop for Place {
    fn drop(&mut self) {
        // Its number may be another's by now.
        let mut taken = self.places.taken();
        if taken
            .get(&self.number)
            .is_some_and(|one| Arc::ptr_eq(one, &self.connection))
        {
            taken.remove(&self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([127, 0, 0, last])
    }

    #[test]
    fn connections_without_a_token_are_closed_and_those_of_a_crowd_first() {
        let places = Places::new(4);
        let take = |last| places.take(address(last)).expect("a place");
        let gone = |place: &Place| place.connection.leave.is_cancelled();
        let [stream, known, single] = [1, 1, 2].map(take);
        stream.connection.answered(true);
        known.connection.answered(false);
        let first = take(1);
        let second = take(1);
        assert!(
            gone(&first) && !gone(&single) && !gone(&known),
            "the address that has the most"
        );
        let third = take(3);
        assert!(gone(&second));
        let [_fourth, _fifth] = [4, 5].map(take);
        assert!(
            gone(&single) && gone(&third) && !gone(&known),
            "who has shown no token"
        );
        drop(third);
        let later: Vec<_> = [6, 7].map(take).into();
        for place in &later {
            place.connection.answered(true);
        }
        let _last = take(8);
        assert!(gone(&known) && !gone(&stream), "no stream");
    }

    #[test]
    fn streams_alone_leave_no_place() {
        let places = Places::new(2);
        let taken = [1, 2].map(|last| places.take(address(last)).expect("a place"));
        for place in &taken {
            place.connection.answered(true);
        }
        assert!(places.take(address(3)).is_none());
        drop(taken);
        assert!(places.take(address(3)).is_some());
    }
}
