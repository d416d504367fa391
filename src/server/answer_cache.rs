//! What the hub has just said, so that the same is not asked again and again.
//!
//! Decides how long an answer counts: a yes a few seconds, a no one second, because the next apply may have changed it.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use admission::{LiveFact, ObjectKey, UserRight};

/// The most answers that are kept.
const MOST: usize = 1024;
const YES: Duration = Duration::from_secs(5);
const NO: Duration = Duration::from_secs(1);

/// What the hub is asked.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Question {
    /// What it has of an object.
    Object(ObjectKey),
    /// Whether a user, of whom this is a digest, may bind a role.
    Right([u8; 32], UserRight),
}

/// What the hub says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// Of an object.
    Object(LiveFact),
    /// Of a right.
    Right(bool),
}

impl Word {
    fn counts_for(&self) -> Duration {
        match self {
            Self::Object(LiveFact::Exists) | Self::Right(true) => YES,
            Self::Object(LiveFact::Absent | LiveFact::Namespace(_) | LiveFact::Role(_))
            | Self::Right(false) => NO,
            // What is filled in stays: it comes from the hub as it is now. One `apply` asks twice, for its dry run and in earnest.
            Self::Object(LiveFact::Given(_)) => Duration::ZERO,
        }
    }
}

/// Answers and until when each counts.
#[derive(Debug, Default)]
pub(super) struct AnswerCache(BTreeMap<Question, (Word, Instant)>);

impl AnswerCache {
    /// Returns an answer that still counts.
    pub(super) fn recall(&self, question: &Question, now: Instant) -> Option<Word> {
        let (word, until) = self.0.get(question)?;
        (now < *until).then(|| word.clone())
    }

    /// Keeps an answer.
    pub(super) fn keep(&mut self, question: Question, word: Word, now: Instant) {
        if word.counts_for().is_zero() {
            return;
        }
        if self.0.len() >= MOST {
            self.0.retain(|_, (_, until)| now < *until);
        }
        if self.0.len() < MOST {
            let until = now + word.counts_for();
            self.0.insert(question, (word, until));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Kind;

    fn about(name: &str) -> Question {
        Question::Object(ObjectKey::new(Kind::Cluster, "", name))
    }

    #[test]
    fn a_no_is_forgotten_sooner_than_a_yes() {
        let (mut answers, now) = (AnswerCache::default(), Instant::now());
        answers.keep(about("there"), Word::Object(LiveFact::Exists), now);
        answers.keep(about("gone"), Word::Object(LiveFact::Absent), now);
        let at = |millis| now + Duration::from_millis(millis);
        assert!(answers.recall(&about("gone"), at(999)).is_some());
        assert!(answers.recall(&about("gone"), at(1000)).is_none());
        assert!(answers.recall(&about("there"), at(4999)).is_some());
        assert!(answers.recall(&about("there"), at(5000)).is_none());
    }

    #[test]
    fn what_is_filled_in_is_asked_again_every_time() {
        let (mut answers, now) = (AnswerCache::default(), Instant::now());
        answers.keep(about("new"), Word::Object(LiveFact::Given(None)), now);
        assert!(answers.0.is_empty());
    }

    #[test]
    fn a_flood_of_questions_takes_no_more_memory() {
        let (mut answers, now) = (AnswerCache::default(), Instant::now());
        for number in 0..5_000 {
            answers.keep(about(&number.to_string()), Word::Object(LiveFact::Exists), now);
        }
        assert_eq!(answers.0.len(), MOST);
        answers.keep(about("late"), Word::Object(LiveFact::Exists), now + YES);
        assert_eq!(answers.0.len(), 1, "expired entries are removed");
    }
}
