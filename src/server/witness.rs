//! Asking the hub itself whether objects exist, within the time that an answer to the API server leaves.
//!
//! Decides how many are asked for and how long. Never decides what follows: no answer in time is no answer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use tokio::time::{Instant, timeout_at};

use crate::admission::{ObjectKey, Told};

/// The most objects that are asked for on behalf of one request.
const MOST_ASKED: usize = 10;

type Ask = dyn Fn(ObjectKey) -> BoxFuture<'static, Option<Told>> + Send + Sync;

/// Whoever can tell whether an object exists, and what a namespace says.
#[derive(Clone)]
pub struct Witness(Arc<Ask>);

impl std::fmt::Debug for Witness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Witness")
    }
}

impl Witness {
    /// Makes a witness of a question to the hub; nothing is the answer of a hub that does not say.
    pub fn new(ask: impl Fn(ObjectKey) -> BoxFuture<'static, Option<Told>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(ask))
    }

    /// Returns what the hub says of these objects in time.
    pub(super) async fn answers(
        &self,
        objects: &BTreeSet<ObjectKey>,
        within: Duration,
    ) -> BTreeMap<ObjectKey, Told> {
        let until = Instant::now() + within;
        let asked = objects.iter().take(MOST_ASKED).cloned().map(|object| {
            let answer = (self.0)(object.clone());
            async move { (object, answer.await) }
        });
        let mut asked: FuturesUnordered<_> = asked.collect();
        let mut answers = BTreeMap::new();
        while let Ok(Some((object, answer))) = timeout_at(until, asked.next()).await {
            answers.extend(answer.map(|told| (object, told)));
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::Kind;
    use futures::FutureExt as _;

    #[tokio::test]
    async fn what_is_said_in_time_counts_and_nobody_is_waited_for() {
        let witness = Witness::new(|object: ObjectKey| {
            async move {
                match &*object.name {
                    "there" => Some(Told::Exists),
                    "gone" => Some(Told::Absent),
                    "silent" => None,
                    _ => std::future::pending().await,
                }
            }
            .boxed()
        });
        let names = ["gone", "never", "silent", "there"];
        let objects = names.map(|name| ObjectKey::new(Kind::Cluster, "", name));
        let begun = Instant::now();
        let within = Duration::from_millis(150);
        let answers = witness.answers(&objects.into_iter().collect(), within).await;
        let said: Vec<String> = answers
            .iter()
            .map(|(object, told)| format!("{} {told:?}", object.name))
            .collect();
        assert_eq!(said, ["gone Absent", "there Exists"]);
        assert!(begun.elapsed() >= within);
    }

    #[tokio::test]
    async fn a_request_asks_for_few() {
        let witness = Witness::new(|_| async { Some(Told::Exists) }.boxed());
        let objects = (0..100).map(|n| ObjectKey::new(Kind::Cluster, "", n.to_string()));
        let answers = witness.answers(&objects.collect(), Duration::from_secs(1)).await;
        assert_eq!(answers.len(), MOST_ASKED);
    }
}
