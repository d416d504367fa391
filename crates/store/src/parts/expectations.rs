//! Expectations of own writes: which objects the store has yet to see again after this program wrote them.
//!
//! Decides whether a cache is too old to plan from. Never waits: the caller asks, and gives up after its own deadline.

use std::collections::BTreeMap;

use crate::kind::{ObjectKey, Owner};
use model::Name;

/// What the watch must show before the object may be planned for again.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Expected {
    /// This revision or a later one.
    Version(Name),
    /// The object with this uid is deleted, or is being deleted.
    Gone(Name),
    /// The object with this uid is deleted. It was being deleted before the write that ended it.
    Removed(Name),
}

/// What the watch shows of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Observed<'a> {
    /// `metadata.uid`
    pub uid: &'a str,
    /// `metadata.resourceVersion`
    pub version: &'a str,
    /// Whether it is being deleted.
    pub deleting: bool,
}

/// The open expectations, by owner.
#[derive(Debug, Default)]
pub(crate) struct Expectations {
    open: BTreeMap<Owner, BTreeMap<ObjectKey, Expected>>,
}

impl Expectations {
    /// Records what a write for `owner` makes us wait for.
    pub(crate) fn expect(&mut self, owner: &Owner, key: ObjectKey, expected: Expected) {
        self.open.entry(owner.clone()).or_default().insert(key, expected);
    }

    /// Drops what an earlier write to the object makes `owner` wait for.
    pub(crate) fn supersede(&mut self, owner: &Owner, key: &ObjectKey) {
        if let Some(objects) = self.open.get_mut(owner) {
            objects.remove(key);
            if objects.is_empty() {
                self.open.remove(owner);
            }
        }
    }

    /// Settles what `sight` (`None`: the object is not there) answers; returns those that waited for it.
    pub(crate) fn settle(&mut self, key: &ObjectKey, observed: Option<Observed<'_>>) -> Vec<Owner> {
        let mut settled = Vec::new();
        self.open.retain(|owner, objects| {
            if objects
                .get(key)
                .is_some_and(|expected| is_met(expected, observed))
            {
                objects.remove(key);
                settled.push(owner.clone());
            }
            !objects.is_empty()
        });
        settled
    }

    /// Returns how many objects that are waited for.
    pub(crate) fn open(&self, owner: &Owner) -> usize {
        self.open.get(owner).map_or(0, BTreeMap::len)
    }

    /// Returns the objects that are waited for.
    pub(crate) fn objects(&self, owner: &Owner) -> Vec<ObjectKey> {
        let open = self.open.get(owner);
        open.into_iter().flat_map(BTreeMap::keys).cloned().collect()
    }

    /// Gives up waiting for the objects; writes stay guarded by their resource versions.
    pub(crate) fn forget(&mut self, owner: &Owner) {
        self.open.remove(owner);
    }
}

/// Returns whether what is seen satisfies what was expected.
pub(crate) fn is_met(expected: &Expected, observed: Option<Observed<'_>>) -> bool {
    match (expected, observed) {
        (Expected::Version(_) | Expected::Gone(_) | Expected::Removed(_), None) => true,
        (Expected::Version(version), Some(seen)) => reaches(seen.version, version),
        (Expected::Gone(uid), Some(seen)) => seen.uid != &**uid || seen.deleting,
        (Expected::Removed(uid), Some(seen)) => seen.uid != &**uid,
    }
}

/// Resource versions of one kind are comparable numbers; where they are not, only equality counts.
fn reaches(seen: &str, expected: &str) -> bool {
    match (seen.parse::<u64>(), expected.parse::<u64>()) {
        (Ok(seen), Ok(expected)) => seen >= expected,
        (Ok(_) | Err(_), Ok(_) | Err(_)) => seen == expected,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Kind;

    fn owner(name: &str) -> Owner {
        Owner::addon(&name.into())
    }

    fn key() -> ObjectKey {
        ObjectKey::new(Kind::Work, "cluster1", "addon-a-deploy-0")
    }

    fn observed(version: &str) -> Observed<'_> {
        Observed {
            uid: "u1",
            version,
            deleting: false,
        }
    }

    #[test]
    fn waits_until_the_own_write_is_seen() {
        let mut open = Expectations::default();
        open.expect(&owner("a"), key(), Expected::Version("10".into()));
        assert!(open.settle(&key(), Some(observed("9"))).is_empty());
        assert_eq!(open.open(&owner("a")), 1);
        assert_eq!(open.settle(&key(), Some(observed("10"))), [owner("a")]);
        assert_eq!(open.open(&owner("a")), 0);
    }

    #[test]
    fn a_later_revision_or_a_missing_object_settles_too() {
        assert!(is_met(&Expected::Version("9".into()), Some(observed("10"))));
        assert!(is_met(&Expected::Version("9".into()), None));
        assert!(!is_met(&Expected::Version("abc".into()), Some(observed("10"))));
    }

    #[test]
    fn a_deletion_is_settled_by_absence_another_uid_or_a_deletion_mark() {
        let gone = Expected::Gone("u1".into());
        assert!(!is_met(&gone, Some(observed("1"))));
        assert!(is_met(&gone, None));
        assert!(is_met(
            &gone,
            Some(Observed {
                uid: "u2",
                version: "1",
                deleting: false
            })
        ));
        assert!(is_met(
            &gone,
            Some(Observed {
                uid: "u1",
                version: "1",
                deleting: true
            })
        ));
    }
}
