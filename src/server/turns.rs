//! Turns by address: work that only so many callers may have done at once, in an order in which no address holds up the others.
//!
//! Decides that an address has as many works in the common queue as there are places, and its others behind those: however many a
//! stranger sends, another caller waits for a few of them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::peer::Peer;

/// The places, and the queue of each address before them.
#[derive(Debug)]
pub(super) struct Turns {
    places: Arc<Semaphore>,
    each: usize,
    queues: Mutex<BTreeMap<Peer, Weak<Semaphore>>>,
}

/// A place, until it is dropped.
#[derive(Debug)]
pub(super) struct Turn {
    _place: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

impl Turns {
    pub(super) fn new(places: usize) -> Self {
        Self {
            places: Arc::new(Semaphore::new(places)),
            each: places,
            queues: Mutex::default(),
        }
    }

    /// Returns a place when the turn of this caller comes in time.
    pub(super) async fn take(&self, peer: Peer, patience: Duration) -> Option<Turn> {
        let own = self.queue(peer);
        let turn = async {
            let own = own.acquire_owned().await.ok()?;
            let place = Arc::clone(&self.places).acquire_owned().await.ok()?;
            Some(Turn {
                _place: place,
                _own: own,
            })
        };
        timeout(patience, turn).await.ok()?
    }

    fn queue(&self, peer: Peer) -> Arc<Semaphore> {
        let mut queues = self.queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = queues.get(&peer).and_then(Weak::upgrade) {
            return queue;
        }
        queues.retain(|_, queue| queue.strong_count() > 0);
        let queue = Arc::new(Semaphore::new(self.each));
        queues.insert(peer, Arc::downgrade(&queue));
        queue
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    #[tokio::test]
    async fn an_address_with_many_works_holds_up_another_for_a_few_of_them() {
        let turns = Arc::new(Turns::new(2));
        let done = Arc::new(AtomicUsize::new(0));
        let mut strangers = Vec::new();
        for _ in 0..200 {
            let (turns, done) = (Arc::clone(&turns), Arc::clone(&done));
            strangers.push(tokio::spawn(async move {
                let _turn = turns
                    .take(peer(9), Duration::from_mins(1))
                    .await
                    .expect("its turn");
                tokio::task::yield_now().await;
                done.fetch_add(1, Ordering::Relaxed);
            }));
        }
        while done.load(Ordering::Relaxed) < 4 {
            tokio::task::yield_now().await;
        }
        let before = done.load(Ordering::Relaxed);
        let honest = turns.take(peer(1), Duration::from_mins(1)).await;
        let waited = done.load(Ordering::Relaxed) - before;
        assert!(
            honest.is_some() && waited <= 8,
            "it waited for {waited} works of the stranger"
        );
        drop(honest);
        for stranger in strangers {
            stranger.await.expect("all of them end");
        }
        assert_eq!(done.load(Ordering::Relaxed), 200);
        drop(turns.take(peer(1), Duration::ZERO).await);
        assert_eq!(
            turns.queues.lock().expect("unharmed").len(),
            1,
            "addresses without work are forgotten"
        );
    }
}
