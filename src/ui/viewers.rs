//! The open pages: how many may follow the hub at once, and whether any is open.
//!
//! One user has at most a quarter of them, where the hub says who the user is. The hub is watched from the first request of a page on,
//! until none has come for a while: without an open page the hub has no watch.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

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

/// How long the hub is followed after the last question.
const LINGERS: Duration = Duration::from_mins(2);

/// Who looks. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Interest(Arc<State>);

#[derive(Debug, Default)]
struct State {
    asked: Notify,
    last: Mutex<Option<Instant>>,
}

impl Interest {
    /// Notes a question: a page is open now.
    pub(super) fn note(&self) {
        *self.0.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.0.asked.notify_one();
    }

    /// Waits until a page is open.
    pub async fn begins(&self) {
        while !self.holds(Instant::now()) {
            self.0.asked.notified().await;
        }
    }

    /// Returns whether a page has sent a request recently.
    pub fn holds(&self, now: Instant) -> bool {
        let last = *self.0.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.is_some_and(|last| now.saturating_duration_since(last) < LINGERS)
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

    #[test]
    fn it_ends_a_while_after_the_last_question() {
        let interest = Interest::default();
        assert!(!interest.holds(Instant::now()));
        interest.note();
        assert!(interest.holds(Instant::now()));
        assert!(!interest.holds(Instant::now() + LINGERS));
    }
}
