//! One watch per kind: a paginated list, then events, indefinitely.
//!
//! Never clears anything before a new list is complete, and never gives up: errors are retried with growing backoff. Never holds
//! a list: every object is reported when its page comes, and of the list only the keys are kept. A kind that a hub may withhold and
//! that it does not serve has no objects. A kind that must exist is never taken for empty because of an error: the planner waits
//! for it, and the metrics and the log tell of it. Lists again when the controllers doubt the last list.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::runtime::watcher;
use tokio::sync::{Mutex, Notify, mpsc};
use tracing::{debug, info, warn};

use super::api_watch::{PagedWatch, api_code};
use super::apply_error::root;
use super::definition::{Absent, Definition};
use super::raw::{Raw, resource};
use crate::controllers::auditor::WatchTap;
use crate::telemetry::{Metrics, Restart, Shown};
use store::{Event, Kind, ObjectKey};

/// How long to wait for a required kind before it is listed again, whatever its CRD shows:
/// everything waits for it.
const ASK_AGAIN: Duration = Duration::from_secs(5);

/// Where a watch sends what it receives, and receives requests to list again.
#[derive(Debug, Clone)]
pub(in crate::controllers) struct Ends {
    /// The loop.
    pub(in crate::controllers) events: mpsc::Sender<Event>,
    /// An audit, which receives everything first.
    pub(in crate::controllers) tap: Option<WatchTap>,
    /// Where it is counted what cannot be read.
    pub(in crate::controllers) metrics: Metrics,
    /// Requests a new list.
    pub(in crate::controllers) again: Arc<Notify>,
    /// Whose turn it is to pass a large object on: the trees of many would take many times the memory of their texts.
    pub(in crate::controllers) large: Arc<Mutex<()>>,
}

/// The receiver of events has ended.
struct Over;

/// What is known of a kind. What was once listed is not forgotten because of one answer: a hub that is starting denies kinds
/// that it is about to serve.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Served {
    Unknown,
    No,
    Yes,
}

impl Served {
    const fn after_an_absence(self) -> Self {
        match self {
            Self::Unknown | Self::No => Self::No,
            Self::Yes => Self::Yes,
        }
    }
}

/// Sends everything that happens to a kind, until the receiver of events has ended.
pub(in crate::controllers) async fn watch_kind(client: Client, kind: Kind, ends: Ends) {
    let watches = ends.metrics.staleness().clone();
    // Only relevant objects are listed; a hub has many others.
    let pages = PagedWatch::new(&client, resource(kind), kind.selector(), move || {
        watches.heard(kind.word());
    });
    let mut watch = Watch {
        kind,
        definition: Definition::new(pages.client(), kind.definition()),
        pages,
        ends,
        served: Served::Unknown,
        vanished: false,
        listed: BTreeSet::new(),
    };
    loop {
        let again = Arc::clone(&watch.ends.again);
        match watch.follow(&again).await {
            Ok(Some(absent)) => tokio::select! {
                () = watch.definition.is_worth_a_try(Some(absent)) => {}
                () = tokio::time::sleep(ASK_AGAIN), if kind.must_exist() => {}
                () = again.notified() => {}
            },
            Ok(None) => {}
            Err(Over) => return,
        }
        debug!(kind = kind.address().kind, "listing again");
    }
}

struct Watch {
    kind: Kind,
    pages: PagedWatch,
    definition: Definition,
    ends: Ends,
    served: Served,
    /// Whether the hub has served it, and does so no longer.
    vanished: bool,
    /// What the list in progress has shown.
    listed: BTreeSet<ObjectKey>,
}

impl Watch {
    /// Lists and watches until there is a reason to start over: because the controllers doubt the list, or because the hub does not
    /// show the kind, and why.
    async fn follow(&mut self, again: &Notify) -> Result<Option<Absent>, Over> {
        self.pages.restart();
        loop {
            let next = tokio::select! {
                next = self.pages.next() => next.ok_or(Over)?,
                () = again.notified() => {
                    self.restarts(Restart::Doubted);
                    return Ok(None);
                }
            };
            match next {
                Ok(event) => self.translate(event).await?,
                Err(error) => match why_withheld(self.kind, &error) {
                    // The stream's own pauses between lists do not grow: each attempt begins with an event.
                    Some(absent) => {
                        self.withheld(&error).await?;
                        return Ok(Some(absent));
                    }
                    None if self.is_missing(&error) => {
                        self.miss();
                        return Ok(Some(Absent::NotServed));
                    }
                    None => {
                        self.restarts(why(&error));
                        if api_code(&error) == Some(404) {
                            self.vanish();
                            self.hide().await?;
                            return Ok(Some(Absent::NotServed));
                        }
                        self.suffer(&error);
                    }
                },
            }
        }
    }

    async fn withheld(&mut self, error: &watcher::Error) -> Result<(), Over> {
        let kind_name = self.kind.address().kind;
        self.restarts(Restart::Withheld);
        let known = self.served;
        self.served = known.after_an_absence();
        match known {
            Served::Yes => {
                self.suffer(error);
                return self.hide().await;
            }
            Served::No => debug!(kind = kind_name, "kind is still not served"),
            Served::Unknown => {
                info!(kind = kind_name, answer = %root(error), "cannot list this optional kind; waiting until it is available");
                return self.tell(Event::Withheld { kind: self.kind }).await;
            }
        }
        Ok(())
    }

    /// What is in doubt about a kind that the hub has taken away cannot be found out; only one that must exist is waited for.
    async fn hide(&mut self) -> Result<(), Over> {
        if self.kind.must_exist() {
            return Ok(());
        }
        self.tell(Event::Hidden { kind: self.kind }).await
    }

    /// A kind that must exist, that the hub does not serve, and that it has never served:
    /// Open Cluster Management is not there yet.
    fn is_missing(&self, error: &watcher::Error) -> bool {
        let is_new = self.served != Served::Yes;
        is_new && self.kind.must_exist() && Absent::of(error) == Some(Absent::NotServed)
    }

    fn miss(&mut self) {
        let address = self.kind.address();
        self.ends.metrics.reads(address.resource, false);
        self.ends
            .metrics
            .staleness()
            .lacks(self.kind.word(), Some(address.resource));
        if std::mem::replace(&mut self.served, Served::No) == Served::Unknown {
            info!(
                kind = address.kind,
                "the hub does not serve a required kind; waiting for it"
            );
        }
    }

    /// A kind that must exist was served, and is no longer: what is known of it stays, because an administrator who removed the
    /// definition may not have meant the objects, and the hub can no longer list them.
    fn vanish(&mut self) {
        let address = self.kind.address();
        self.ends.metrics.reads(address.resource, false);
        let staleness = self.ends.metrics.staleness();
        staleness.lacks(self.kind.word(), Some(address.resource));
        if !std::mem::replace(&mut self.vanished, true) {
            warn!(
                kind = address.kind,
                "a required kind is no longer served; the last known objects remain in use"
            );
        }
    }

    fn restarts(&self, reason: Restart) {
        let metrics = &self.ends.metrics;
        metrics.watches().restarts(self.kind.address().resource, reason);
    }

    fn shows(&self, event: Shown) {
        let metrics = &self.ends.metrics;
        metrics.watches().shows(self.kind.address().resource, event);
    }

    fn suffer(&self, error: &watcher::Error) {
        let kind_name = self.kind.address().kind;
        self.ends.metrics.reads(self.kind.address().resource, false);
        if self.served == Served::Yes {
            warn!(kind = kind_name, error = %root(error), "watch interrupted");
        } else {
            warn!(kind = kind_name, error = %root(error), "cannot list a required kind; reconciliation is paused");
        }
    }

    async fn translate(&mut self, event: watcher::Event<Raw>) -> Result<(), Over> {
        let kind = self.kind;
        let event = match event {
            watcher::Event::Apply(raw) => {
                self.shows(Shown::Applied);
                return self.applied(&raw).await;
            }
            watcher::Event::Delete(raw) => {
                self.shows(Shown::Deleted);
                let object = raw.object();
                Event::Deleted { kind, object }
            }
            watcher::Event::Init => {
                self.listed.clear();
                return Ok(());
            }
            watcher::Event::InitApply(raw) => {
                self.shows(Shown::Listed);
                self.listed.insert(raw.key(kind));
                return self.applied(&raw).await;
            }
            watcher::Event::InitDone => Event::ListEnded {
                kind,
                keys: std::mem::take(&mut self.listed),
            },
        };
        self.pass_on(event).await
    }

    /// Passes an object on. A large one waits for its turn, and until the loop has taken it in.
    async fn applied(&mut self, raw: &Raw) -> Result<(), Over> {
        if !raw.is_large() {
            return self.pass_on(raw.event(self.kind)).await;
        }
        let turn = Arc::clone(&self.ends.large);
        let _turn = turn.lock().await;
        self.pass_on(raw.event(self.kind)).await?;
        let events = self.ends.events.clone();
        while events.capacity() < events.max_capacity() && !events.is_closed() {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        Ok(())
    }

    async fn pass_on(&mut self, event: Event) -> Result<(), Over> {
        let kind = self.kind;
        let is_back = std::mem::take(&mut self.vanished);
        if std::mem::replace(&mut self.served, Served::Yes) == Served::No || is_back {
            self.ends.metrics.staleness().lacks(kind.word(), None);
        }
        self.definition.is_served();
        self.ends.metrics.reads(kind.address().resource, true);
        self.tell(event).await
    }

    async fn tell(&mut self, event: Event) -> Result<(), Over> {
        self.ends.tap.iter().for_each(|tap| tap.see(&event));
        match self.ends.events.send(event).await {
            Ok(()) => Ok(()),
            Err(_unheard) => Err(Over),
        }
    }
}

/// Why a watch that failed begins again.
fn why(error: &watcher::Error) -> Restart {
    let is_list = matches!(error, watcher::Error::InitialListFailed(_));
    if !is_list && api_code(error) == Some(410) {
        Restart::Expired
    } else {
        Restart::Interrupted
    }
}

/// A kind that a hub may lack has no objects where it is not served; one that only policies or the registration of agents need
/// may be forbidden as well: the others need not wait for it.
fn why_withheld(kind: Kind, error: &watcher::Error) -> Option<Absent> {
    Absent::of(error).filter(|absent| match absent {
        Absent::NotServed => !kind.must_exist(),
        Absent::Forbidden => kind.may_be_withheld(),
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use http::{Request, Response, StatusCode};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    type Chunk = Result<Frame<bytes::Bytes>, std::io::Error>;

    /// What a hub without the definition of `AddOnRollout` was asked, and how a definition comes to it.
    #[derive(Default)]
    struct Hub {
        asked: Mutex<BTreeMap<&'static str, usize>>,
        is_forbidden: bool,
        is_defined: std::sync::atomic::AtomicBool,
        watchers: Mutex<Vec<mpsc::UnboundedSender<Chunk>>>,
    }

    fn said(value: &Value) -> Frame<bytes::Bytes> {
        Frame::data(bytes::Bytes::from(format!("{value}\n")))
    }

    impl Hub {
        fn answer(&self, path: &str, watches: bool) -> (StatusCode, Option<Value>) {
            let of_definitions = path.ends_with("customresourcedefinitions");
            let what = match (of_definitions, watches) {
                (true, _) => "definitions",
                (false, false) => "list",
                (false, true) => "watch",
            };
            let mut asked = self.asked.lock().expect("unpoisoned");
            *asked.entry(what).or_default() += 1;
            let refused = |code: u16| {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code,
                    "reason": "", "message": "no"});
                (StatusCode::from_u16(code).expect("a code"), Some(status))
            };
            let is_defined = self.is_defined.load(std::sync::atomic::Ordering::SeqCst);
            match what {
                "definitions" if self.is_forbidden => refused(403),
                "list" if !is_defined => refused(404),
                _ if watches => (StatusCode::OK, None),
                _ => (
                    StatusCode::OK,
                    Some(json!({"kind": "List", "apiVersion": "v1",
                    "metadata": {"resourceVersion": "5"}, "items": []})),
                ),
            }
        }

        fn client(self: &Arc<Self>) -> Client {
            let hub = Arc::clone(self);
            let service = tower::service_fn(move |request: Request<Body>| {
                let watches = request
                    .uri()
                    .query()
                    .is_some_and(|query| query.contains("watch=true"));
                let (status, value) = hub.answer(request.uri().path(), watches);
                let (sender, receiver) = mpsc::unbounded_channel();
                match value {
                    Some(value) => drop(sender.send(Ok(said(&value)))),
                    None if request.uri().path().ends_with("customresourcedefinitions") => {
                        hub.watchers.lock().expect("unpoisoned").push(sender);
                    }
                    // A watch of a served kind stays open for the rest of the test.
                    None => std::mem::forget(sender),
                }
                let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
                    receiver.recv().await.map(|chunk| (chunk, receiver))
                });
                let body = StreamBody::new(chunks);
                let answer = Response::builder().status(status).body(body).expect("an answer");
                async move { Ok::<_, std::io::Error>(answer) }
            });
            Client::new(service, "default")
        }

        fn define(&self) {
            self.is_defined.store(true, std::sync::atomic::Ordering::SeqCst);
            let object = json!({"type": "ADDED", "object": {"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                "metadata": {"name": "addonrollouts.tidegate.io", "resourceVersion": "6"}}});
            for watcher in self.watchers.lock().expect("unpoisoned").iter() {
                watcher.send(Ok(said(&object))).expect("it listens");
            }
        }

        fn asked(&self) -> usize {
            self.asked.lock().expect("unpoisoned").values().sum()
        }
    }

    fn begin(hub: &Arc<Hub>) -> mpsc::Receiver<Event> {
        begin_with(hub, Arc::default())
    }

    fn begin_with(hub: &Arc<Hub>, again: Arc<Notify>) -> mpsc::Receiver<Event> {
        let (sender, events) = mpsc::channel(16);
        let ends = Ends {
            events: sender,
            tap: None,
            metrics: Metrics::default(),
            again,
            large: Arc::default(),
        };
        tokio::spawn(watch_kind(hub.client(), Kind::Rollout, ends));
        events
    }

    const TWO_MINUTES: std::time::Duration = std::time::Duration::from_mins(2);

    #[tokio::test(start_paused = true)]
    async fn a_hub_without_a_definition_is_not_asked_again_and_again_until_the_definition_comes() {
        let hub = Arc::new(Hub::default());
        let mut events = begin(&hub);
        assert_eq!(events.recv().await, Some(Event::Withheld { kind: Kind::Rollout }));
        tokio::time::sleep(TWO_MINUTES).await;
        assert!(hub.asked() <= 4, "{:?}", hub.asked);
        let before = tokio::time::Instant::now();
        hub.define();
        assert!(matches!(
            events.recv().await,
            Some(Event::ListEnded {
                kind: Kind::Rollout,
                ..
            })
        ));
        assert!(
            before.elapsed() < std::time::Duration::from_secs(2),
            "{:?}",
            before.elapsed()
        );
    }

    #[tokio::test(start_paused = true)]
    async fn where_definitions_may_not_be_watched_pauses_grow() {
        let hub = Arc::new(Hub {
            is_forbidden: true,
            ..Hub::default()
        });
        let mut events = begin(&hub);
        assert_eq!(events.recv().await, Some(Event::Withheld { kind: Kind::Rollout }));
        tokio::time::sleep(TWO_MINUTES).await;
        assert!(hub.asked() <= 16, "{:?}", hub.asked);
        hub.define();
        assert!(matches!(
            events.recv().await,
            Some(Event::ListEnded {
                kind: Kind::Rollout,
                ..
            })
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn that_a_kind_is_taken_away_is_reported_and_no_object_is_forgotten_for_it() {
        let (hub, again) = (Arc::new(Hub::default()), Arc::new(Notify::new()));
        hub.define();
        let mut events = begin_with(&hub, Arc::clone(&again));
        let listed = events.recv().await;
        assert!(matches!(listed, Some(Event::ListEnded { .. })), "{listed:?}");
        hub.is_defined.store(false, std::sync::atomic::Ordering::SeqCst);
        again.notify_one();
        let told = tokio::time::timeout(TWO_MINUTES, events.recv()).await;
        assert_eq!(told, Ok(Some(Event::Hidden { kind: Kind::Rollout })));
    }
}
