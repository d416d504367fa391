//! One kind of report on the hub: whether it is served, and which of our reports stand there.
//!
//! Decides when to look: at the start, and then as the definition of the kind tells (`runtime::definition`), as for every kind
//! that a hub may lack. Never writes.

use futures::StreamExt;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::{Config, Event};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::apply::FIELD_MANAGER;
use crate::controllers::runtime::api_watch::{api_code, observe};
use crate::controllers::runtime::apply_error::root;
use crate::controllers::runtime::definition::{Absent, Definition};
use audit::{CONTENT, MANAGED_BY, MANAGER, NAME, ReportKind};
use store::Name;

/// What the watch of one report kind returns.
#[derive(Debug)]
pub(super) enum News {
    /// It is not served.
    Absent(ReportKind),
    /// It is, and these reports of ours stand there, by namespace.
    ReportState(ReportKind, Vec<(Name, ObservedReport)>),
    /// A report of ours was written, by whomever.
    Written(ReportKind, Name, ObservedReport),
    /// One of our reports was deleted.
    Removed(ReportKind, Name),
}

/// What is seen of a report without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObservedReport {
    /// The hash of what it says, by its own account.
    pub(super) content: String,
    /// Its revision.
    pub(super) version: String,
    /// Whether another field manager has written to it.
    pub(super) touched: bool,
}

/// Follows a kind of report until the audit, which receives the news, has ended.
pub(super) async fn follow(client: Client, form: ReportKind, news: mpsc::UnboundedSender<News>) {
    let name = format!("{}.{}", form.resource(), form.api().0);
    let mut definition = Definition::new(&client, Some(name));
    loop {
        follow_reports(&client, form, &mut definition, &news).await;
        if news.send(News::Absent(form)).is_err() {
            return;
        }
        debug!(kind = form.kind(), "the hub does not serve this report kind");
        definition.is_worth_a_try(Some(Absent::NotServed)).await;
    }
}

/// Returns how a kind of report is addressed.
pub(super) fn resource(form: ReportKind) -> ApiResource {
    let (group, version) = form.api();
    ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: form.kind().to_owned(),
        plural: form.resource().to_owned(),
    }
}

/// Sends changes of our reports until the kind is no longer served.
async fn follow_reports(
    client: &Client,
    form: ReportKind,
    definition: &mut Definition,
    news: &mpsc::UnboundedSender<News>,
) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &resource(form));
    let config = Config::default().labels(&format!("{MANAGED_BY}={MANAGER}"));
    let mut stream = observe(api, config);
    let (mut listing, mut told) = (Vec::<(Name, ObservedReport)>::new(), String::new());
    while let Some(next) = stream.next().await {
        let shown = match next {
            Ok(event) => translate(form, event, &mut listing),
            Err(error) if api_code(&error) == Some(404) => return,
            Err(error) => {
                let words = root(&error).to_string();
                if words != told {
                    warn!(kind = form.kind(), error = words, "cannot watch reports");
                    told = words;
                }
                None
            }
        };
        if let Some(shown) = shown {
            if matches!(shown, News::ReportState(..)) {
                definition.is_served();
                info!(kind = form.kind(), "writing reports");
            }
            if news.send(shown).is_err() {
                return;
            }
        }
    }
}

fn translate(
    form: ReportKind,
    event: Event<PartialObjectMeta<DynamicObject>>,
    listing: &mut Vec<(Name, ObservedReport)>,
) -> Option<News> {
    let ours = |object: &PartialObjectMeta<DynamicObject>| {
        let place = Name::from(object.namespace().unwrap_or_default());
        (object.name_any() == NAME).then(|| (place, seen(object)))
    };
    match event {
        Event::Init => {
            listing.clear();
            None
        }
        Event::InitApply(object) => {
            listing.extend(ours(&object));
            None
        }
        Event::InitDone => Some(News::ReportState(form, std::mem::take(listing))),
        Event::Apply(object) => ours(&object).map(|(place, seen)| News::Written(form, place, seen)),
        Event::Delete(object) => ours(&object).map(|(place, _)| News::Removed(form, place)),
    }
}

fn seen(object: &PartialObjectMeta<DynamicObject>) -> ObservedReport {
    let writers = object.managed_fields().iter();
    let mut others = writers.filter(|entry| entry.manager.as_deref() != Some(FIELD_MANAGER));
    ObservedReport {
        content: object.annotations().get(CONTENT).cloned().unwrap_or_default(),
        version: object.resource_version().unwrap_or_default(),
        touched: others.next().is_some(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::sync::{Arc, Mutex};
    use std::time::Duration;

    use http::{Request, Response};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use kube::client::Body;
    use serde_json::{Value, json};

    use super::*;

    type Chunk = Result<Frame<bytes::Bytes>, std::io::Error>;

    /// A hub with the definition of a kind of report, which it does not serve at times.
    struct Hub {
        is_served: AtomicBool,
        watchers: Mutex<Vec<mpsc::UnboundedSender<Chunk>>>,
    }

    impl Hub {
        fn answer(&self, path: &str, watches: bool) -> (u16, Option<Value>) {
            let of_definitions = path.ends_with("customresourcedefinitions");
            if !of_definitions && !self.is_served.load(Ordering::SeqCst) {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404,
                    "reason": "NotFound", "message": "no"});
                return (404, Some(status));
            }
            let definition = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
                "metadata": {"name": "x", "resourceVersion": "5"}});
            let items = if of_definitions {
                vec![definition]
            } else {
                Vec::new()
            };
            let list = json!({"kind": "List", "apiVersion": "v1", "metadata": {"resourceVersion": "5"}, "items": items});
            (200, (!watches).then_some(list))
        }

        fn client(self: &Arc<Self>) -> Client {
            let hub = Arc::clone(self);
            let service = tower::service_fn(move |request: Request<Body>| {
                let uri = request.uri();
                let watches = uri.query().is_some_and(|query| query.contains("watch=true"));
                let (code, value) = hub.answer(uri.path(), watches);
                let (sender, receiver) = mpsc::unbounded_channel::<Chunk>();
                if let Some(value) = value {
                    let line = bytes::Bytes::from(format!("{value}\n"));
                    drop(sender.send(Ok(Frame::data(line))));
                } else if uri.path().ends_with("customresourcedefinitions") {
                    // Sends nothing for the rest of the test.
                    std::mem::forget(sender);
                } else {
                    hub.watchers.lock().expect("unpoisoned").push(sender);
                }
                let chunks = futures::stream::unfold(receiver, |mut receiver| async move {
                    receiver.recv().await.map(|chunk| (chunk, receiver))
                });
                let answer = Response::builder().status(code);
                let answer = answer.body(StreamBody::new(chunks)).expect("an answer");
                async move { Ok::<_, std::io::Error>(answer) }
            });
            Client::new(service, "default")
        }

        /// The kind is not served any more, and watches of it end.
        fn take_away(&self) {
            self.is_served.store(false, Ordering::SeqCst);
            self.watchers.lock().expect("unpoisoned").clear();
        }
    }

    /// Returns whether such news comes in time.
    async fn comes(
        news: &mut mpsc::UnboundedReceiver<News>,
        is_it: fn(&News) -> bool,
        patience: Duration,
    ) -> bool {
        let comes = async {
            while let Some(one) = news.recv().await {
                if is_it(&one) {
                    return true;
                }
            }
            false
        };
        tokio::time::timeout(patience, comes).await.unwrap_or(false)
    }

    #[tokio::test(start_paused = true)]
    async fn reports_are_followed_again_however_often_and_long_their_kind_was_not_served() {
        let hub = Arc::new(Hub {
            is_served: AtomicBool::new(true),
            watchers: Mutex::default(),
        });
        let (sender, mut news) = mpsc::unbounded_channel();
        tokio::spawn(follow(hub.client(), ReportKind::Policy, sender));
        let is_followed = |one: &News| matches!(one, News::ReportState(..));
        let soon = Duration::from_secs(30);
        assert!(comes(&mut news, is_followed, soon).await);
        let long = Duration::from_mins(1);
        for (away, patience) in [
            (Duration::ZERO, soon),
            (Duration::ZERO, soon),
            (long, Duration::from_mins(11)),
            (Duration::ZERO, soon),
        ] {
            hub.take_away();
            assert!(comes(&mut news, |one| matches!(one, News::Absent(_)), soon).await);
            tokio::time::sleep(away).await;
            hub.is_served.store(true, Ordering::SeqCst);
            assert!(comes(&mut news, is_followed, patience).await, "away for {away:?}");
        }
    }
}
