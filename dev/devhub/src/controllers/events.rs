//! The end of events.
//!
//! Decides that an event goes when it was not written for a while. One that is written again lives on.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt as _;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Event;
use kube::api::{DeleteParams, Preconditions};
use kube::core::PartialObjectMeta;
use kube::runtime::watcher::Event as Change;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use tokio::time::sleep;

/// The longest time between two looks at the clock.
const LONGEST_SLEEP: Duration = Duration::from_mins(1);
/// How soon an event that could not be removed is tried again.
const AGAIN: Duration = Duration::from_millis(200);

type Key = (String, String);

/// Events by the moment at which they end.
#[derive(Debug, Default)]
struct Ends {
    by_time: BTreeSet<(Timestamp, Key)>,
    by_key: BTreeMap<Key, (Timestamp, String)>,
}

impl Ends {
    fn set(&mut self, key: Key, at: Timestamp, version: String) {
        self.forget(&key);
        self.by_time.insert((at, key.clone()));
        self.by_key.insert(key, (at, version));
    }

    fn forget(&mut self, key: &Key) {
        if let Some((at, _)) = self.by_key.remove(key) {
            self.by_time.remove(&(at, key.clone()));
        }
    }

    /// Takes out the first event whose time has come.
    fn due(&mut self, now: Timestamp) -> Option<(Key, String)> {
        let (at, key) = self.by_time.first().cloned()?;
        if at > now {
            return None;
        }
        self.by_time.remove(&(at, key.clone()));
        let (_, version) = self.by_key.remove(&key)?;
        Some((key, version))
    }

    /// Returns how long nothing ends.
    fn pause(&self, now: Timestamp) -> Duration {
        let next = self.by_time.first().map(|(at, _)| at.duration_since(now));
        let wait = next.and_then(|wait| Duration::try_from(wait).ok());
        match (self.by_time.is_empty(), wait) {
            (true, _) => LONGEST_SLEEP,
            (false, wait) => wait.unwrap_or_default().min(LONGEST_SLEEP),
        }
    }
}

/// Deletes every event that was not written for `ttl`, in a loop.
pub(super) async fn run(client: Client, ttl: Duration) {
    let all: Api<PartialObjectMeta<Event>> = Api::all(client.clone());
    let mut changes = watcher(all, watcher::Config::default()).default_backoff().boxed();
    let mut ends = Ends::default();
    loop {
        tokio::select! {
            change = changes.next() => match change {
                Some(Ok(change)) => note(&mut ends, change, ttl),
                Some(Err(error)) => tracing::debug!(%error, "watching events failed"),
                None => return,
            },
            () = sleep(ends.pause(Timestamp::now())) => {}
        }
        while let Some((key, version)) = ends.due(Timestamp::now()) {
            if let Err(error) = remove(&client, &key, &version).await {
                tracing::debug!(%error, "cannot remove an event yet");
                ends.set(key, Timestamp::now() + AGAIN, version);
                break;
            }
        }
    }
}

fn note(ends: &mut Ends, change: Change<PartialObjectMeta<Event>>, ttl: Duration) {
    let key = |event: &PartialObjectMeta<Event>| (event.namespace().unwrap_or_default(), event.name_any());
    match change {
        Change::Init => *ends = Ends::default(),
        Change::InitApply(event) | Change::Apply(event) => {
            let at = written(&event).checked_add(ttl).unwrap_or(Timestamp::MAX);
            ends.set(key(&event), at, event.resource_version().unwrap_or_default());
        }
        Change::Delete(event) => ends.forget(&key(&event)),
        Change::InitDone => {}
    }
}

/// Returns when an event was last written, as its owners tell.
fn written(event: &PartialObjectMeta<Event>) -> Timestamp {
    let times = event
        .managed_fields()
        .iter()
        .filter_map(|entry| entry.time.as_ref());
    times
        .chain(&event.metadata.creation_timestamp)
        .map(|time| time.0)
        .max()
        .unwrap_or_else(Timestamp::now)
}

/// Removes an event unless it was written again.
async fn remove(client: &Client, (namespace, name): &Key, version: &str) -> Result<(), kube::Error> {
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    let unchanged = Preconditions {
        resource_version: Some(version.to_owned()),
        uid: None,
    };
    let params = DeleteParams::default().preconditions(unchanged);
    match api.delete(name, &params).await {
        Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
        outcome => outcome.map(|_| ()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).expect("a time")
    }

    #[test]
    fn the_earliest_ends_first_and_one_that_is_written_again_lives_on() {
        let mut ends = Ends::default();
        let key = |name: &str| ("ns".to_owned(), name.to_owned());
        ends.set(key("a"), second(10), "1".to_owned());
        ends.set(key("b"), second(20), "2".to_owned());
        assert_eq!(ends.due(second(9)), None);
        assert_eq!(ends.pause(second(9)), Duration::from_secs(1));
        ends.set(key("a"), second(30), "3".to_owned());
        assert_eq!(ends.due(second(25)), Some((key("b"), "2".to_owned())));
        assert_eq!(ends.due(second(25)), None);
        assert_eq!(ends.due(second(30)), Some((key("a"), "3".to_owned())));
        assert_eq!(ends.pause(second(30)), LONGEST_SLEEP);
    }
}
