//! Who looks at the page, and what the hub lets that person see.
//!
//! Decides how long an answer of the hub is believed, how many are kept, and how many questions are asked at once. Keeps no
//! token: a person is found again by the hash of what was shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::try_join_all;
use k8s_openapi::api::authentication::v1::UserInfo;
use kube::Client;
use sha2::{Digest as _, Sha256};
use tokio::sync::Semaphore;
use tokio::time::Instant;

use super::reviews::{Unanswered, read_person, read_right};
use super::state::Token;
use super::visibility::{Answers, Grants, Question};

/// How long an answer is believed.
const BELIEVED: Duration = Duration::from_secs(30);
/// How many people are remembered; the one that expires first is evicted.
const MOST_PEOPLE: usize = 256;
/// How many answers about one person are remembered.
const MOST_ANSWERS: usize = 4096;
/// How many questions are before the hub at once.
const AT_ONCE: usize = 8;

/// The hash of a token.
type Mark = [u8; 32];

/// The user of the page: an authenticated user, or any visitor if the hub does not authenticate.
#[derive(Clone, Debug)]
pub(super) enum Person {
    /// Any visitor: the hub does not authenticate.
    Anonymous,
    /// A user, by a token that the hub accepts.
    Known(Mark, Arc<UserInfo>),
}

/// Sends reviews to the hub, and caches the results for a while.
pub(super) struct Access {
    client: Client,
    known: Mutex<BTreeMap<Mark, Memory>>,
    questions: Semaphore,
}

#[derive(Debug)]
struct Memory {
    until: Instant,
    owner: Owner,
    answers: Answers,
}

/// Whose a token is.
#[derive(Clone, Debug)]
enum Owner {
    Rejected,
    User(Arc<UserInfo>),
}

impl Owner {
    fn person(self, mark: Mark) -> Option<Person> {
        match self {
            Self::Rejected => None,
            Self::User(user) => Some(Person::Known(mark, user)),
        }
    }
}

impl Access {
    /// Uses a client that may create reviews.
    pub(super) fn new(client: Client) -> Self {
        Self {
            client,
            known: Mutex::default(),
            questions: Semaphore::new(AT_ONCE),
        }
    }

    /// Returns the user of the token; `None` if the hub does not accept it.
    pub(super) async fn person(&self, token: &Token) -> Result<Option<Person>, Unanswered> {
        let mark: Mark = Sha256::digest(token.text()).into();
        if let Some(owner) = self.remembered(&mark) {
            return Ok(owner.person(mark));
        }
        let _place = self.questions.acquire().await;
        let user = read_person(&self.client, token.text()).await?;
        let owner = user.map_or(Owner::Rejected, |user| Owner::User(Arc::new(user)));
        let memory = Memory {
            until: Instant::now() + BELIEVED,
            owner: owner.clone(),
            answers: Answers::new(),
        };
        self.remember(mark, memory);
        Ok(owner.person(mark))
    }

    /// Requests what is not cached yet, and adds what the hub grants.
    pub(super) async fn ask(
        &self,
        person: &Person,
        questions: Vec<Question>,
        grants: &mut Grants,
    ) -> Result<(), Unanswered> {
        let Person::Known(mark, user) = person else {
            grants.everything = true;
            return Ok(());
        };
        let each = questions.into_iter().map(|question| async {
            if let Some(allowed) = self.answer(mark, &question) {
                return Ok::<_, Unanswered>((question, allowed));
            }
            let _place = self.questions.acquire().await;
            let allowed = read_right(&self.client, user, &question).await?;
            self.note(mark, &question, allowed);
            Ok((question, allowed))
        });
        let answers = try_join_all(each).await?;
        let granted = answers.into_iter().filter(|(_, allowed)| *allowed);
        grants.granted.extend(granted.map(|(question, _)| question));
        Ok(())
    }

    /// Returns the cached result for a token: its user, or that the hub does not accept it.
    fn remembered(&self, mark: &Mark) -> Option<Owner> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let memory = known.get(mark).filter(|memory| memory.until > Instant::now());
        memory.map(|memory| memory.owner.clone())
    }

    fn remember(&self, mark: Mark, memory: Memory) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        known.retain(|_, memory| memory.until > now);
        if known.len() >= MOST_PEOPLE {
            let first = known.iter().min_by_key(|(_, memory)| memory.until);
            let first = first.map(|(mark, _)| *mark);
            first.and_then(|mark| known.remove(&mark));
        }
        known.insert(mark, memory);
    }

    fn answer(&self, mark: &Mark, question: &Question) -> Option<bool> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(mark)?.answers.get(question).copied()
    }

    fn note(&self, mark: &Mark, question: &Question, allowed: bool) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(memory) = known.get_mut(mark)
            && memory.answers.len() < MOST_ANSWERS
        {
            memory.answers.insert(question.clone(), allowed);
        }
    }
}
