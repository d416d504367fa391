//! How many pages follow the hub at once, and how many of them are one person's.
//!
//! Decides that no person takes what others need: a quarter is the most, where the hub says who a person is.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// How many pages follow at once.
const ALL: usize = 32;
/// How many of them may be one person's.
const OF_ONE: usize = ALL / 4;

/// The pages that follow, by the name of the person; those of any visitor have none.
#[derive(Clone, Debug, Default)]
pub(super) struct Followers(Arc<Mutex<BTreeMap<Option<String>, usize>>>);

/// A page that follows, until it is dropped.
#[derive(Debug)]
pub(super) struct Follower {
    all: Followers,
    person: Option<String>,
}

impl Followers {
    /// Returns a place for a page of a person, if there is one.
    pub(super) fn take(&self, person: Option<String>) -> Option<Follower> {
        let mut followers = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = followers.get(&person).copied().unwrap_or_default();
        let most = if person.is_some() { OF_ONE } else { ALL };
        if own >= most || followers.values().sum::<usize>() >= ALL {
            return None;
        }
        followers.insert(person.clone(), own + 1);
        Some(Follower {
            all: self.clone(),
            person,
        })
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let mut followers = self.all.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = followers.get_mut(&self.person) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                followers.remove(&self.person);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_person_takes_a_quarter_and_leaves_the_rest_to_others() {
        let followers = Followers::default();
        let mut weak: Vec<_> = (0..60)
            .filter_map(|_| followers.take(Some("weak".to_owned())))
            .collect();
        assert_eq!(weak.len(), 8);
        let honest = followers.take(Some("honest".to_owned()));
        assert!(honest.is_some());
        drop(weak.pop());
        assert!(
            followers.take(Some("weak".to_owned())).is_some(),
            "its place is free again"
        );
        drop((weak, honest));
        let visitors: Vec<_> = (0..60).filter_map(|_| followers.take(None)).collect();
        assert_eq!(visitors.len(), 32, "where the hub does not say who they are");
    }
}
