//! One kind of report on the hub: whether it is served, and which of our reports stand there.
//!
//! Decides when to look: at the start, and when the definition of the kind comes or changes, which its own watch tells. A hub
//! without the kind is never polled. Never writes.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::BoxStream;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicObject, PartialObjectMeta};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;
use tracing::{debug, info, warn};

use super::apply::FIELD_MANAGER;
use crate::controllers::runtime::error_root::root;
use audit::{CONTENT, MANAGED_BY, MANAGER, NAME, ReportKind};
use snapshot::Name;

/// A definition is served a moment after it is there; how long to try.
const TRIES: [Duration; 6] = [
    Duration::from_millis(100),
    Duration::from_millis(300),
    Duration::from_secs(1),
    Duration::from_secs(2),
    Duration::from_secs(4),
    Duration::from_secs(8),
];
/// How long nobody asks again where definitions may not be watched.
const LONG: Duration = Duration::from_mins(10);

/// What is told of one kind of report.
#[derive(Debug)]
pub(super) enum News {
    /// It is not served.
    Absent(ReportKind),
    /// It is, and these reports of ours stand there, by namespace.
    ReportState(ReportKind, Vec<(Name, ObservedReport)>),
    /// A report of ours was written, by whomever.
    Written(ReportKind, Name, ObservedReport),
    /// A report of ours is gone.
    Removed(ReportKind, Name),
}

/// What is seen of a report without reading it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ObservedReport {
    /// The hash of what it says, by its own account.
    pub(super) content: String,
    /// Its revision.
    pub(super) version: String,
    /// Whether somebody else has written to it.
    pub(super) touched: bool,
}

type Shown = watcher::Event<PartialObjectMeta<DynamicObject>>;
type Definitions =
    BoxStream<'static, watcher::Result<watcher::Event<PartialObjectMeta<CustomResourceDefinition>>>>;

/// Follows a kind of report until nobody listens any more.
pub(super) async fn follow(client: Client, form: ReportKind, news: mpsc::UnboundedSender<News>) {
    let mut definitions = definitions(&client, form);
    loop {
        follow_reports(&client, form, &news).await;
        if news.send(News::Absent(form)).is_err() {
            return;
        }
        debug!(kind = form.kind(), "the hub does not serve this kind of report");
        until_served(&client, form, &mut definitions).await;
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

/// Tells of our reports until the kind is not served any more.
async fn follow_reports(client: &Client, form: ReportKind, news: &mpsc::UnboundedSender<News>) {
    let api: Api<PartialObjectMeta<DynamicObject>> = Api::all_with(client.clone(), &resource(form));
    let config = watcher::Config::default().labels(&format!("{MANAGED_BY}={MANAGER}"));
    let mut stream = std::pin::pin!(watcher(api, config).default_backoff());
    let (mut listing, mut told) = (Vec::<(Name, ObservedReport)>::new(), String::new());
    while let Some(next) = stream.next().await {
        let shown = match next {
            Ok(event) => translate(form, event, &mut listing),
            Err(error) if code(&error) == Some(404) => return,
            Err(error) => {
                let words = root(&error).to_string();
                if words != told {
                    warn!(kind = form.kind(), error = words, "cannot follow reports");
                    told = words;
                }
                None
            }
        };
        if let Some(shown) = shown {
            if matches!(shown, News::ReportState(..)) {
                info!(kind = form.kind(), "reports are written");
            }
            if news.send(shown).is_err() {
                return;
            }
        }
    }
}

fn translate(form: ReportKind, event: Shown, listing: &mut Vec<(Name, ObservedReport)>) -> Option<News> {
    let ours = |object: &PartialObjectMeta<DynamicObject>| {
        let place = Name::from(object.namespace().unwrap_or_default());
        (object.name_any() == NAME).then(|| (place, seen(object)))
    };
    match event {
        watcher::Event::Init => {
            listing.clear();
            None
        }
        watcher::Event::InitApply(object) => {
            listing.extend(ours(&object));
            None
        }
        watcher::Event::InitDone => Some(News::ReportState(form, std::mem::take(listing))),
        watcher::Event::Apply(object) => ours(&object).map(|(place, seen)| News::Written(form, place, seen)),
        watcher::Event::Delete(object) => ours(&object).map(|(place, _)| News::Removed(form, place)),
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

/// Follows the one definition that matters here.
fn definitions(client: &Client, form: ReportKind) -> Definitions {
    let api: Api<PartialObjectMeta<CustomResourceDefinition>> = Api::all(client.clone());
    let name = format!("metadata.name={}.{}", form.resource(), form.api().0);
    let config = watcher::Config::default().fields(&name);
    watcher(api, config).default_backoff().boxed()
}

/// Returns when there is reason to believe that the kind is served now.
async fn until_served(client: &Client, form: ReportKind, definitions: &mut Definitions) {
    loop {
        match definitions.next().await {
            Some(Ok(watcher::Event::Apply(_) | watcher::Event::InitApply(_))) => {
                for pause in TRIES {
                    tokio::time::sleep(pause).await;
                    if is_served(client, form).await {
                        return;
                    }
                }
            }
            Some(Ok(watcher::Event::Init | watcher::Event::InitDone | watcher::Event::Delete(_))) => {}
            Some(Err(error)) if !matches!(code(&error), Some(403 | 404)) => {
                debug!(error = %root(&error), "watch of definitions interrupted");
            }
            Some(Err(_)) | None => {
                tokio::time::sleep(LONG).await;
                return;
            }
        }
    }
}

async fn is_served(client: &Client, form: ReportKind) -> bool {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(form));
    match api.list_metadata(&ListParams::default().limit(1)).await {
        Err(kube::Error::Api(status)) => status.code != 404,
        Ok(_) => true,
        Err(_) => false,
    }
}

fn code(error: &watcher::Error) -> Option<u16> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => Some(status.code),
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchStartFailed(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => None,
    }
}
