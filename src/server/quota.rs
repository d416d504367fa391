//! Fair quotas by address: bytes in memory, requests in flight, entries of a queue.
//!
//! Decides how much one address may have. Alone it may have half of everything; while others have the rest it may have a quarter,
//! so that no address takes what another one needs, and an API server is not held back by a quota while no other caller asks. The
//! last quarter is for callers that have shown who they are, where callers can.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;

use super::connection_state::{CallerClass, Peer};

/// A bounded resource that callers share.
#[derive(Debug)]
pub(super) struct Quota {
    total: usize,
    /// The part that is reserved for known callers.
    reserve: usize,
    held: Mutex<Usage>,
    returned: Notify,
}

#[derive(Debug, Default)]
struct Usage {
    all: usize,
    peers: BTreeMap<Peer, usize>,
}

/// A part of it, until it is dropped; it may grow.
#[derive(Debug)]
pub(super) struct Allocation {
    quota: Arc<Quota>,
    peer: Peer,
    class: CallerClass,
    amount: usize,
}

/// Whether any caller can show who it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reserve {
    /// The last quarter is kept for those who have.
    Kept,
    /// Nothing is kept: everything is for every caller.
    None,
}

impl Quota {
    pub(super) fn new(total: usize, reserve: Reserve) -> Arc<Self> {
        Arc::new(Self {
            total,
            reserve: match reserve {
                Reserve::Kept => total / 4,
                Reserve::None => 0,
            },
            held: Mutex::default(),
            returned: Notify::new(),
        })
    }

    fn held(&self) -> MutexGuard<'_, Usage> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns an empty share, which grows as it is used.
    pub(super) fn open(self: &Arc<Self>, peer: Peer, class: CallerClass) -> Allocation {
        Allocation {
            quota: Arc::clone(self),
            peer,
            class,
            amount: 0,
        }
    }

    /// Returns a share of one, if the quota has capacity for it now.
    pub(super) fn one(self: &Arc<Self>, peer: Peer, class: CallerClass) -> Option<Allocation> {
        let mut share = self.open(peer, class);
        share.grow_now(1).then_some(share)
    }
}

impl Usage {
    fn of(&self, peer: Peer) -> usize {
        self.peers.get(&peer).copied().unwrap_or_default()
    }

    fn fits(&self, total: usize, reserve: usize, share: &Allocation, more: usize) -> bool {
        let after = self.all.saturating_add(more);
        let own = self.of(share.peer).saturating_add(more);
        match share.class {
            CallerClass::Known => after <= total,
            CallerClass::Unknown => {
                after <= total - reserve && (own <= (total / 4).max(1) || after <= total.div_ceil(2))
            }
        }
    }
}

impl Allocation {
    /// Takes more at once, or nothing.
    fn grow_now(&mut self, more: usize) -> bool {
        let quota = Arc::clone(&self.quota);
        let mut held = quota.held();
        if !held.fits(quota.total, quota.reserve, self, more) {
            return false;
        }
        held.all += more;
        *held.peers.entry(self.peer).or_default() += more;
        self.amount += more;
        true
    }

    /// Takes more, and waits for it as long as `patience` lasts; tells whether there was enough.
    pub(super) async fn grow(&mut self, more: usize, patience: Duration) -> bool {
        if self.grow_now(more) {
            return true;
        }
        let quota = Arc::clone(&self.quota);
        let enough = async {
            loop {
                // Listening begins before the look, so that no return is missed.
                let returned = quota.returned.notified();
                if self.grow_now(more) {
                    return;
                }
                returned.await;
            }
        };
        tokio::time::timeout(patience, enough).await.is_ok()
    }

    /// Returns bytes that keep this allocation until the last of them is dropped: work on them may continue without its caller.
    pub(super) fn attach(self, bytes: impl AsRef<[u8]> + Send + 'static) -> Bytes {
        Bytes::from_owner(Held {
            bytes,
            _allocation: self,
        })
    }
}

/// Bytes with an allocation.
struct Held<B> {
    bytes: B,
    _allocation: Allocation,
}

impl<B: AsRef<[u8]>> AsRef<[u8]> for Held<B> {
    fn as_ref(&self) -> &[u8] {
        self.bytes.as_ref()
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.amount == 0 {
            return;
        }
        let mut held = self.quota.held();
        held.all -= self.amount;
        if let Some(own) = held.peers.get_mut(&self.peer) {
            *own -= self.amount;
            if *own == 0 {
                held.peers.remove(&self.peer);
            }
        }
        drop(held);
        self.quota.returned.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::IpAddr;

    const NOW: Duration = Duration::ZERO;

    fn peer(last: u8) -> Peer {
        Peer::from(IpAddr::from([10, 0, 0, last]))
    }

    #[tokio::test]
    async fn a_lone_address_gets_half_and_leaves_the_rest() {
        let shares = Quota::new(100, Reserve::None);
        let mut lone = shares.open(peer(1), CallerClass::Unknown);
        assert!(lone.grow(50, NOW).await && !lone.grow(1, NOW).await);
        let mut other = shares.open(peer(2), CallerClass::Unknown);
        assert!(other.grow(25, NOW).await && !other.grow(1, NOW).await);
        let mut third = shares.open(peer(3), CallerClass::Unknown);
        assert!(third.grow(25, NOW).await, "there is always some for a newcomer");
        drop(lone);
        assert!(!third.grow(1, NOW).await, "half of it is taken");
        drop(other);
        assert!(third.grow(25, NOW).await, "what is returned can be had again");
    }

    #[tokio::test]
    async fn many_shares_of_an_address_count_together() {
        let shares = Quota::new(8, Reserve::None);
        let few: Vec<_> = (0..8)
            .map_while(|_| shares.one(peer(1), CallerClass::Unknown))
            .collect();
        assert_eq!(few.len(), 4);
        assert!(shares.one(peer(2), CallerClass::Unknown).is_some());
    }

    #[tokio::test]
    async fn unknown_callers_leave_a_quarter_to_known_ones() {
        let shares = Quota::new(100, Reserve::Kept);
        let mut crowd: Vec<_> = (0..5)
            .map(|n| shares.open(peer(n), CallerClass::Unknown))
            .collect();
        for share in &mut crowd {
            let _taken = share.grow(25, NOW).await;
        }
        assert_eq!(crowd.iter().map(|share| share.amount).sum::<usize>(), 75);
        let mut known = shares.open(peer(1), CallerClass::Known);
        assert!(
            known.grow(25, NOW).await,
            "an address that unknown callers share with it does not count"
        );
    }

    #[tokio::test]
    async fn bytes_keep_their_allocation_as_long_as_any_of_them_is_left() {
        let shares = Quota::new(100, Reserve::None);
        let mut allocation = shares.open(peer(1), CallerClass::Unknown);
        assert!(allocation.grow(50, NOW).await);
        let mut bytes = allocation.attach(vec![7; 50]);
        assert_eq!(&*bytes, [7; 50].as_slice());
        let (beginning, work) = (bytes.split_to(10), bytes.clone());
        drop((bytes, work));
        let again = || shares.one(peer(1), CallerClass::Unknown);
        assert!(again().is_none(), "a piece of them is left");
        drop(beginning);
        assert!(again().is_some());
    }

    #[tokio::test]
    async fn who_waits_gets_what_is_returned() {
        let shares = Quota::new(4, Reserve::None);
        let first = shares.one(peer(1), CallerClass::Unknown);
        let second = shares.one(peer(1), CallerClass::Unknown);
        let mut waits = shares.open(peer(1), CallerClass::Unknown);
        assert!(!waits.grow(1, Duration::from_millis(10)).await);
        let (got, ()) = tokio::join!(waits.grow(1, Duration::from_mins(1)), async { drop(first) });
        assert!(got);
        drop(second);
    }

    #[tokio::test]
    async fn the_smallest_quota_admits_one() {
        let shares = Quota::new(1, Reserve::None);
        let one = shares.one(peer(1), CallerClass::Unknown);
        assert!(one.is_some());
        assert!(shares.one(peer(2), CallerClass::Unknown).is_none());
    }
}
