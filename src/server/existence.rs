//! Reads from the hub whether objects exist, and what the requesting user may do, within the time that an answer to the API
//! server leaves.
//!
//! Decides how much is asked, on whose behalf, and how long. Never decides what follows: no answer in time is no answer, and
//! neither is a question too many.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, timeout_at};

use super::answer_cache::{AnswerCache, Question, Word};
use super::rate_limit::{OnBehalf, RateLimit};
use admission::{Facts, LiveFact, ObjectKey, UserRight, Verdict};

/// The most that is asked on behalf of one request.
const MOST_ASKED: usize = 10;
/// The longest user that the hub is asked about, in bytes.
const LONGEST_USER: usize = 16 << 10;

type Ask = dyn Fn(ObjectKey) -> BoxFuture<'static, Option<LiveFact>> + Send + Sync;
type Vouch = dyn Fn(Arc<str>, UserRight) -> BoxFuture<'static, Option<bool>> + Send + Sync;

/// Reads from the hub whether an object exists, and what a user may do with it.
#[derive(Clone)]
pub struct ExistenceReader {
    ask: Arc<Ask>,
    vouch: Option<Arc<Vouch>>,
    memory: Arc<Mutex<Memory>>,
}

#[derive(Debug, Default)]
struct Memory {
    allowance: RateLimit,
    /// The same for defaults, of which one `apply` may need hundreds: they take nothing from what refusals hang on.
    defaults: RateLimit,
    answers: AnswerCache,
}

/// Where a request comes from.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Asker<'a> {
    /// The address of the caller.
    pub(super) peer: Option<IpAddr>,
    /// The user, as the API server tells it.
    pub(super) user: Option<&'a str>,
}

/// What the hub has said in time.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Answers {
    objects: BTreeMap<ObjectKey, LiveFact>,
    rights: BTreeMap<UserRight, bool>,
}

impl Answers {
    /// Returns whether nothing was said.
    pub(super) fn is_empty(&self) -> bool {
        self.objects.is_empty() && self.rights.is_empty()
    }

    /// Returns the facts with what was said.
    pub(super) fn among(self, facts: &Facts) -> Facts {
        facts.clone().told(self.objects).entitled(self.rights)
    }

    fn take(&mut self, question: Question, word: Word) {
        match (question, word) {
            (Question::Object(object), Word::Object(told)) => {
                self.objects.insert(object, told);
            }
            (Question::Right(_, right), Word::Right(may)) => {
                self.rights.insert(right, may);
            }
            (Question::Object(_), Word::Right(_)) | (Question::Right(..), Word::Object(_)) => {}
        }
    }
}

impl std::fmt::Debug for ExistenceReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ExistenceReader")
    }
}

impl ExistenceReader {
    /// Makes a witness of a question to the hub; nothing is the answer of a hub that does not say.
    pub fn new(
        ask: impl Fn(ObjectKey) -> BoxFuture<'static, Option<LiveFact>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            ask: Arc::new(ask),
            vouch: None,
            memory: Arc::default(),
        }
    }

    /// Returns this witness with a way to ask what a user (`userInfo` of a review, as JSON) may do.
    #[must_use]
    pub fn vouching(
        self,
        vouch: impl Fn(Arc<str>, UserRight) -> BoxFuture<'static, Option<bool>> + Send + Sync + 'static,
    ) -> Self {
        Self {
            vouch: Some(Arc::new(vouch)),
            ..self
        }
    }

    /// Returns what the hub says in time of what a verdict rests on. Rights come first: what hangs on them is refused.
    pub(super) async fn answers(&self, verdict: &Verdict, asker: Asker<'_>, within: Duration) -> Answers {
        let until = Instant::now() + within;
        let mut answers = Answers::default();
        let mut asked = FuturesUnordered::new();
        for question in self.questions(verdict.asks(), verdict.asks_whether(), asker) {
            if let Some(word) = self.recall(&question) {
                answers.take(question, word);
            } else if self.may_ask(&question, asker) {
                let answer = self.put(&question, asker);
                asked.push(async move { (question, answer.await) });
            }
        }
        while let Ok(Some((question, word))) = timeout_at(until, asked.next()).await {
            if let Some(word) = word {
                self.remember(&question, &word);
                answers.take(question, word);
            }
        }
        answers
    }

    fn questions(
        &self,
        objects: &BTreeSet<ObjectKey>,
        rights: &BTreeSet<UserRight>,
        asker: Asker<'_>,
    ) -> Vec<Question> {
        let known = asker.user.filter(|user| user.len() <= LONGEST_USER);
        let user = known.filter(|_| self.vouch.is_some()).map(digest);
        let rights = user.into_iter().flat_map(|user| {
            rights
                .iter()
                .map(move |right| Question::Right(user, right.clone()))
        });
        let (defaults, others): (Vec<&ObjectKey>, Vec<&ObjectKey>) =
            objects.iter().partition(|object| object.is_about_a_default());
        let objects = defaults.into_iter().chain(others).cloned();
        rights
            .chain(objects.map(Question::Object))
            .take(MOST_ASKED)
            .collect()
    }

    fn put(&self, question: &Question, asker: Asker<'_>) -> BoxFuture<'static, Option<Word>> {
        match (question, &self.vouch) {
            (Question::Object(object), _) => {
                let told = (self.ask)(object.clone());
                Box::pin(async move { told.await.map(Word::Object) })
            }
            (Question::Right(_, right), Some(vouch)) => {
                let may = vouch(Arc::from(asker.user.unwrap_or_default()), right.clone());
                Box::pin(async move { may.await.map(Word::Right) })
            }
            (Question::Right(..), None) => Box::pin(std::future::ready(None)),
        }
    }

    fn recall(&self, question: &Question) -> Option<Word> {
        let memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory.answers.recall(question, Instant::now())
    }

    fn remember(&self, question: &Question, word: &Word) {
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        memory
            .answers
            .keep(question.clone(), word.clone(), Instant::now());
    }

    fn may_ask(&self, question: &Question, asker: Asker<'_>) -> bool {
        let who = OnBehalf {
            peer: asker.peer,
            user: digest(asker.user.unwrap_or_default()),
        };
        let mut memory = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        let allowance = match question {
            Question::Object(object) if object.is_about_a_default() => &mut memory.defaults,
            Question::Object(_) | Question::Right(..) => &mut memory.allowance,
        };
        allowance.take(&who, Instant::now())
    }
}

fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::FutureExt as _;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use store::Kind;

    fn asking(names: impl IntoIterator<Item = String>) -> Verdict {
        let objects = names
            .into_iter()
            .map(|name| ObjectKey::new(Kind::Cluster, "", name));
        Verdict::pass().asking(objects.collect())
    }

    #[tokio::test]
    async fn answers_in_time_count_and_no_answer_is_waited_for() {
        let witness = ExistenceReader::new(|object: ObjectKey| {
            async move {
                match &*object.name {
                    "there" => Some(LiveFact::Exists),
                    "gone" => Some(LiveFact::Absent),
                    "silent" => None,
                    _ => std::future::pending().await,
                }
            }
            .boxed()
        });
        let verdict = asking(["gone", "never", "silent", "there"].map(ToOwned::to_owned));
        let begun = Instant::now();
        let within = Duration::from_millis(150);
        let answers = witness.answers(&verdict, Asker::default(), within).await;
        let said: Vec<String> = answers
            .objects
            .iter()
            .map(|(object, told)| format!("{} {told:?}", object.name))
            .collect();
        assert_eq!(said, ["gone Absent", "there Exists"]);
        assert!(begun.elapsed() >= within);
    }

    #[tokio::test]
    async fn a_request_reads_few_objects_and_an_unknown_caller_no_more_than_its_share() {
        let asked = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&asked);
        let witness = ExistenceReader::new(move |_| {
            counted.fetch_add(1, Ordering::Relaxed);
            async { Some(LiveFact::Exists) }.boxed()
        });
        let unknown = Asker {
            peer: Some(IpAddr::from([10, 0, 0, 9])),
            user: None,
        };
        let within = Duration::from_secs(1);
        let first = witness
            .answers(&asking((0..100).map(|n| n.to_string())), unknown, within)
            .await;
        assert_eq!(first.objects.len(), MOST_ASKED);
        for round in 0..600 {
            let names = (0..10).map(|n| format!("{round}-{n}"));
            // As many as were posted in five seconds: 6,280 reads without a bound.
            drop(witness.answers(&asking(names), unknown, within).await);
        }
        let taken = asked.load(Ordering::Relaxed);
        assert!((100..400).contains(&taken), "{taken} questions to the hub");
        let honest = Asker {
            peer: Some(IpAddr::from([10, 0, 0, 1])),
            user: Some("{\"username\":\"alice\"}"),
        };
        let answers = witness.answers(&asking(["new".to_owned()]), honest, within).await;
        assert_eq!(answers.objects.len(), 1, "the API server keeps its confirmations");
        let again = asked.load(Ordering::Relaxed);
        drop(witness.answers(&asking(["new".to_owned()]), honest, within).await);
        assert_eq!(
            asked.load(Ordering::Relaxed),
            again,
            "the second webhook need not ask"
        );
    }
}
