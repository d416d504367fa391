//! The recorder: writes what happened as events of `events.k8s.io/v1`, beside everything else.
//!
//! Never blocks who tells, never fails anything: what cannot be written is counted and logged. Equal events within a few minutes
//! become one with a series; another text is another event, as with client-go's recorder of core events: a series keeps the note
//! of its first event, and the present one would never be seen.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Client;
use kube::runtime::events::{Event, EventType, Recorder, Reporter};
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::apply_error::root;
use super::event_budget::{Admission, BudgetOf, EventBudget, EventCorrelator, InvolvedObject, Summary};
use api::reason::Reason;
use plan::{Grade, Note};
use store::{Name, ObjectKey};

/// Who reports: `reportingController` of every event.
const CONTROLLER: &str = "tidegate.io/controllers";
/// Events that may wait to be written; the budgets let few in.
const WAITING: usize = 4096;
/// How long one event may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause between two complaints that events cannot be written.
const COMPLAINT: Duration = Duration::from_mins(1);
/// How long after the last one an equal event counts up.
const REMEMBERED: Duration = Duration::from_mins(6);
/// The API's limits, in bytes.
const LONGEST_NOTE: usize = 1024;

/// An event to be written.
struct Telling {
    regarding: ObjectReference,
    event: Event,
}

enum Message {
    Tell(Box<Telling>),
    /// A summary has become due later.
    Wake,
}

/// Where to tell what happened.
#[derive(Clone, Debug)]
pub struct EventRecorder {
    correlator: Arc<Mutex<EventCorrelator>>,
    sender: mpsc::Sender<Message>,
}

impl EventRecorder {
    /// Starts to write events until `stop`.
    pub(in crate::controllers) fn start(
        client: Client,
        budget: EventBudget,
        stop: CancellationToken,
    ) -> Self {
        let correlator = Arc::new(Mutex::new(EventCorrelator::new(budget)));
        let (sender, receiver) = mpsc::channel(WAITING);
        let event_writer = EventWriter {
            client,
            recorders: BTreeMap::new(),
            correlator: Arc::clone(&correlator),
            failed: 0,
            complained: None,
        };
        tokio::spawn(async move { stop.run_until_cancelled(event_writer.run(receiver)).await });
        Self { correlator, sender }
    }

    /// Records a change of state; `object` is the written object, with its uid.
    pub(in crate::controllers) fn note(
        &self,
        subject: &InvolvedObject,
        object: &ObjectKey,
        uid: &Name,
        note: &Note,
    ) {
        let purse = match note {
            Note::Cluster { .. } | Note::Stuck { .. } => BudgetOf::Clusters(note.grade()),
            Note::Upgrade {
                cluster: Some(_),
                grade,
                ..
            } => BudgetOf::Clusters(*grade),
            Note::AddOn { .. } | Note::Upgrade { .. } => BudgetOf::Whole,
        };
        self.tell(subject, purse, note.grade(), note.reason(), || Telling {
            regarding: reference(object, uid),
            event: event(note.grade(), note.reason(), note.action(), &note.message()),
        });
    }

    /// Records that an instance was deleted, and why.
    pub(in crate::controllers) fn removed(
        &self,
        subject: &InvolvedObject,
        object: &ObjectKey,
        uid: &Name,
        why: &str,
    ) {
        let purse = BudgetOf::Clusters(Grade::Normal);
        self.tell(subject, purse, Grade::Normal, Reason::Removed, || Telling {
            regarding: reference(object, uid),
            event: event(Grade::Normal, Reason::Removed, "Uninstall", why),
        });
    }

    /// Records that a stored object became invalid, or valid again; uses the same budget as events of clusters.
    pub(in crate::controllers) fn judged(
        &self,
        subject: &InvolvedObject,
        object: &ObjectKey,
        uid: &Name,
        grade: Grade,
        reason: Reason,
        note: &str,
    ) {
        self.tell(subject, BudgetOf::Clusters(grade), grade, reason, || Telling {
            regarding: reference(object, uid),
            event: event(grade, reason, "Audit", note),
        });
    }

    /// Records that a webhook configuration (kind, name, uid if it exists) is not as expected, or is as expected again.
    pub(in crate::controllers) fn of_webhooks(
        &self,
        kind: &str,
        name: &str,
        uid: Option<String>,
        grade: Grade,
        note: &str,
    ) {
        let reason = match grade {
            Grade::Warning => Reason::WebhookAltered,
            Grade::Normal => Reason::WebhookRestored,
        };
        // They belong to no add-on, and take nothing from the budget of one.
        let subject = InvolvedObject {
            owner: ObjectKey::addon(&Name::from("")),
            uid: None,
        };
        self.tell(&subject, BudgetOf::Whole, grade, reason, || Telling {
            regarding: ObjectReference {
                api_version: Some("admissionregistration.k8s.io/v1".to_owned()),
                kind: Some(kind.to_owned()),
                name: Some(name.to_owned()),
                uid,
                ..ObjectReference::default()
            },
            event: event(grade, reason, "Watch", note),
        });
    }

    fn tell(
        &self,
        subject: &InvolvedObject,
        purse: BudgetOf,
        grade: Grade,
        reason: Reason,
        telling: impl FnOnce() -> Telling,
    ) {
        let message = match lock(&self.correlator).admit(subject, purse, grade, reason, Instant::now()) {
            Admission::Write => Message::Tell(Box::new(telling())),
            Admission::First => Message::Wake,
            Admission::Counted => return,
        };
        // A full channel means that the hub does not take events; it is awake, and complains about it.
        let _full = self.sender.try_send(message).is_err();
    }
}

fn lock(correlator: &Mutex<EventCorrelator>) -> MutexGuard<'_, EventCorrelator> {
    correlator.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What equal events have in common: about what, reason and note.
type Text = (String, String, Option<String>);

struct EventWriter {
    client: Client,
    /// One recorder for each text, because a recorder counts up whatever the text is; with when it was last asked.
    recorders: BTreeMap<Text, (Recorder, Instant)>,
    correlator: Arc<Mutex<EventCorrelator>>,
    failed: u64,
    complained: Option<Instant>,
}

impl EventWriter {
    async fn run(mut self, mut receiver: mpsc::Receiver<Message>) {
        loop {
            let due = lock(&self.correlator).due();
            let summary = async { tokio::time::sleep_until(due.unwrap_or_else(Instant::now)).await };
            tokio::select! {
                message = receiver.recv() => match message {
                    Some(Message::Tell(telling)) => self.publish(&telling).await,
                    Some(Message::Wake) => {}
                    None => return,
                },
                () = summary, if due.is_some() => self.summarize().await,
            }
        }
    }

    async fn summarize(&mut self) {
        let summaries = lock(&self.correlator).take_summaries(Instant::now());
        for Summary { of, grade, note } in summaries {
            let Some(uid) = of.uid else { continue };
            let telling = Telling {
                regarding: reference(&of.owner, &uid),
                event: event(grade, Reason::EventsSummarized, "Rollout", &note),
            };
            self.publish(&telling).await;
        }
    }

    async fn record(&mut self, telling: &Telling) -> Result<(), kube::Error> {
        let now = Instant::now();
        self.recorders.retain(|_, (_, asked)| now < *asked + REMEMBERED);
        let Telling { regarding, event } = telling;
        let uid = regarding.uid.clone().unwrap_or_default();
        let text = (uid, event.reason.clone(), event.note.clone());
        let remembered = self.recorders.remove(&text);
        let recorder = remembered.map_or_else(
            || Recorder::new(self.client.clone(), reporter()),
            |(recorder, _)| recorder,
        );
        recorder.publish(event, regarding).await?;
        // What could not be written is forgotten: it is not known whether the event is there.
        self.recorders.insert(text, (recorder, now));
        Ok(())
    }

    async fn publish(&mut self, telling: &Telling) {
        let mut outcome = tokio::time::timeout(PATIENCE, self.record(telling)).await;
        // Hubs delete events after a while; an event whose count cannot be increased is written again.
        if matches!(&outcome, Ok(Err(kube::Error::Api(status))) if status.code == 404) {
            outcome = tokio::time::timeout(PATIENCE, self.record(telling)).await;
        }
        let cause = match outcome {
            Ok(Ok(())) => return,
            Ok(Err(error)) => root(&error).to_string(),
            Err(_) => "the hub did not answer in time".to_owned(),
        };
        self.failed = self.failed.saturating_add(1);
        let now = Instant::now();
        if self.complained.is_none_or(|last| last + COMPLAINT <= now) {
            self.complained = Some(now);
            warn!(failed = self.failed, cause, "cannot write events");
        } else {
            debug!(failed = self.failed, cause, "cannot write events");
        }
    }
}

/// Every process is an instance of its own.
fn reporter() -> Reporter {
    Reporter {
        controller: CONTROLLER.to_owned(),
        instance: Some(format!("tidegate-{}", std::process::id())),
    }
}

/// The revision is left out: equal events about one object must look equal.
fn reference(object: &ObjectKey, uid: &Name) -> ObjectReference {
    ObjectReference {
        api_version: Some(object.kind.api_version()),
        kind: Some(object.kind.address().kind.to_owned()),
        namespace: Some(object.namespace.to_string()).filter(|namespace| !namespace.is_empty()),
        name: Some(object.name.to_string()),
        uid: Some(uid.to_string()),
        ..ObjectReference::default()
    }
}

fn event(grade: Grade, reason: Reason, action: &str, note: &str) -> Event {
    Event {
        type_: match grade {
            Grade::Normal => EventType::Normal,
            Grade::Warning => EventType::Warning,
        },
        reason: reason.to_string(),
        note: Some(kubernetes::field::shortened(note, LONGEST_NOTE)),
        action: action.to_owned(),
        secondary: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use k8s_openapi::api::events::v1::Event as Stored;
    use kube::Api;
    use kube::api::{DeleteParams, ListParams};
    use plan::{Outcome, Phase};
    use store::Kind;

    fn failure(message: &str) -> Note {
        Note::Cluster {
            addon: "hello".into(),
            cluster: "default".into(),
            phase: Phase::Upgrade,
            outcome: Outcome::Failed(message.to_owned()),
        }
    }

    fn subject() -> InvolvedObject {
        InvolvedObject {
            owner: ObjectKey::addon(&"hello".into()),
            uid: None,
        }
    }

    async fn stored(client: &Client, is_enough: impl Fn(&[Stored]) -> bool) -> Vec<Stored> {
        let events: Api<Stored> = Api::all(client.clone());
        for _ in 0..400 {
            let listed = events.list(&ListParams::default()).await.expect("a list").items;
            if is_enough(&listed) {
                return listed;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        events.list(&ListParams::default()).await.expect("a list").items
    }

    #[tokio::test]
    async fn equal_events_are_one_with_a_series_and_long_ones_are_cut() {
        let hub = devhub::DevHub::builder().start().await.expect("the hub starts");
        let stop = CancellationToken::new();
        let recorder = EventRecorder::start(hub.client(), EventBudget::default(), stop.clone());
        let object = ObjectKey::new(Kind::Instance, "default", "hello");
        for _ in 0..3 {
            recorder.note(
                &subject(),
                &object,
                &"uid".into(),
                &failure(&"é".repeat(LONGEST_NOTE)),
            );
        }
        let count = |event: &Stored| event.series.as_ref().map(|series| series.count);
        let events = stored(&hub.client(), |events| {
            events.iter().any(|one| count(one) == Some(3))
        })
        .await;
        assert_eq!(events.iter().map(count).collect::<Vec<_>>(), [Some(3)]);
        let note = events
            .first()
            .and_then(|event| event.note.clone())
            .unwrap_or_default();
        assert!(
            note.len() <= LONGEST_NOTE && note.len() > LONGEST_NOTE - 8,
            "{note}"
        );
        stop.cancel();
        hub.shutdown().await;
    }

    /// A series keeps the note of its first event: it would show its reader a version that is no longer requested.
    #[tokio::test]
    async fn another_text_is_another_event_so_that_the_present_one_is_seen() {
        let hub = devhub::DevHub::builder().start().await.expect("the hub starts");
        let stop = CancellationToken::new();
        let recorder = EventRecorder::start(hub.client(), EventBudget::default(), stop.clone());
        let object = ObjectKey::new(Kind::Instance, "default", "hello");
        let tell = |note: &str| recorder.note(&subject(), &object, &"uid".into(), &failure(note));
        for note in ["v7", "v8", "v9", "v9"] {
            tell(note);
        }
        let told = |event: &Stored| {
            let count = event.series.as_ref().map_or(1, |series| series.count);
            format!("{} x{count}", event.note.as_deref().unwrap_or_default())
        };
        let all = |events: &[Stored]| events.iter().map(told).collect::<Vec<_>>();
        let events = stored(&hub.client(), |events| all(events).contains(&"v9 x2".to_owned())).await;
        assert_eq!(all(&events), ["v7 x1", "v8 x1", "v9 x2"]);
        // One that the hub has forgotten begins again.
        let api: Api<Stored> = Api::namespaced(hub.client(), "default");
        for event in &events {
            let name = event.metadata.name.clone().unwrap_or_default();
            api.delete(&name, &DeleteParams::default())
                .await
                .expect("it is there");
        }
        tell("v9");
        let events = stored(&hub.client(), |events| !events.is_empty()).await;
        assert_eq!(all(&events), ["v9 x1"]);
        stop.cancel();
        hub.shutdown().await;
    }

    #[tokio::test]
    async fn telling_never_waits_for_a_hub_that_is_unavailable() {
        let hub = devhub::DevHub::builder().start().await.expect("the hub starts");
        let client = hub.client();
        hub.shutdown().await;
        let budget = EventBudget {
            burst: u32::MAX,
            ..EventBudget::default()
        };
        let recorder = EventRecorder::start(client, budget, CancellationToken::new());
        let object = ObjectKey::new(Kind::Instance, "default", "hello");
        let told = async {
            for _ in 0..3 * WAITING {
                recorder.note(&subject(), &object, &"uid".into(), &failure("no"));
            }
        };
        assert!(tokio::time::timeout(PATIENCE, told).await.is_ok());
    }
}
