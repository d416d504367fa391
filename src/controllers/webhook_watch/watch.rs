//! The watch of the webhook configurations, and where it tells what is wrong: metric, log, event.
//!
//! Decides that only the replica that writes writes events, and that a hub which hides its webhooks is not asked again and again.
//! Never changes a configuration: an administrator who has edited it may have a reason.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::BoxStream;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client};
use serde_json::Value;
use tokio::sync::watch;
use tracing::{info, warn};

use super::standing::{News, Sort, Standing};
use crate::controllers::EventRecorder;
use crate::controllers::runtime::api_watch::observe;
use crate::controllers::runtime::apply_error::root;
use crate::controllers::runtime::definition::Absent;
use crate::telemetry::Metrics;
use operate::doctor::WebhookFault;
use plan::Grade;

/// How long a hub that hides its webhooks is left alone.
const PAUSE: Duration = Duration::from_mins(5);
/// How long changes are gathered: tools apply one configuration after the other.
const GATHER: Duration = Duration::from_secs(2);
const GROUP: &str = "admissionregistration.k8s.io";

type Shown = watcher::Result<Event<DynamicObject>>;

fn stream(client: &Client, sort: Sort) -> BoxStream<'static, (Sort, Shown)> {
    let (kind, plural) = match sort {
        Sort::Mutating => ("MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
        Sort::Validating => (
            "ValidatingWebhookConfiguration",
            "validatingwebhookconfigurations",
        ),
    };
    let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", kind), plural);
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    observe(api, watcher::Config::default())
        .map(move |event| (sort, event))
        .boxed()
}

/// Watches the webhook configurations of a hub until it is dropped.
pub async fn watch_webhooks(
    client: Client,
    has_conditions: bool,
    leading: watch::Receiver<bool>,
    recorder: EventRecorder,
    metrics: Metrics,
) {
    let mut standing = Standing::new(has_conditions);
    let mut listing: BTreeMap<bool, BTreeMap<String, Value>> = BTreeMap::new();
    let mut is_complained = false;
    loop {
        let mut events =
            futures::stream::select(stream(&client, Sort::Mutating), stream(&client, Sort::Validating));
        let mut is_due = false;
        loop {
            let next = tokio::select! {
                next = events.next() => next,
                () = tokio::time::sleep(GATHER), if is_due => {
                    tell(&mut standing, &leading, &recorder, &metrics);
                    is_due = false;
                    continue;
                }
            };
            let Some((sort, event)) = next else { break };
            is_due = true;
            if let Err(error) = take(&mut standing, &mut listing, sort, event)
                && is_hidden(&error, &mut is_complained)
            {
                break;
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Returns whether the hub forbids reading its webhooks, and logs it once. Other faults pass by themselves.
fn is_hidden(error: &watcher::Error, is_complained: &mut bool) -> bool {
    let hidden = Absent::of(error).is_some();
    if hidden && !std::mem::replace(is_complained, true) {
        info!(error = %root(error), "cannot watch webhook configurations; changes are not detected");
    }
    hidden
}

fn take(
    standing: &mut Standing,
    listing: &mut BTreeMap<bool, BTreeMap<String, Value>>,
    sort: Sort,
    event: Shown,
) -> Result<(), watcher::Error> {
    let place = listing.entry(sort == Sort::Mutating).or_default();
    match event? {
        Event::Init => place.clear(),
        Event::InitApply(object) => {
            let (name, value) = plain(&object);
            place.insert(name, value);
        }
        Event::InitDone => standing.list(sort, std::mem::take(place)),
        Event::Apply(object) => {
            let (name, value) = plain(&object);
            standing.see(sort, &name, Some(value));
        }
        Event::Delete(object) => standing.see(sort, &plain(&object).0, None),
    }
    Ok(())
}

fn plain(object: &DynamicObject) -> (String, Value) {
    let name = object.metadata.name.clone().unwrap_or_default();
    // An object that came as JSON is written as JSON.
    (name, serde_json::to_value(object).unwrap_or_default())
}

fn tell(
    standing: &mut Standing,
    leading: &watch::Receiver<bool>,
    recorder: &EventRecorder,
    metrics: &Metrics,
) {
    let Some(counts) = standing.counts() else {
        return;
    };
    metrics.webhooks().told(counts);
    for news in standing.news() {
        match &news {
            News::Worse(fault) => {
                warn!(
                    fault = fault.word(),
                    webhook = fault.sentence(),
                    remove = fault.removal(),
                    "a webhook configuration differs from the expected one; run `tidegate doctor`"
                );
            }
            News::Fixed(fault) => {
                info!(
                    fault = fault.word(),
                    webhook = fault.sentence(),
                    "a webhook configuration is as expected again"
                );
            }
        }
        if *leading.borrow() {
            let (grade, fault, note) = match &news {
                News::Worse(fault) => (Grade::Warning, fault, fault.sentence()),
                News::Fixed(fault) => (Grade::Normal, fault, format!("resolved: {}", fault.sentence())),
            };
            let (kind, name) = fault.configuration();
            if standing.was_shown(name) {
                recorder.of_webhooks(kind, name, uid(standing, fault), grade, &note);
            }
        }
    }
}

/// Returns the uid of the configuration that a fault is about; a deleted one has none.
fn uid(standing: &Standing, fault: &WebhookFault) -> Option<String> {
    let (kind, name) = fault.configuration();
    let found = standing.configuration(kind, name)?;
    found
        .pointer("/metadata/uid")
        .and_then(Value::as_str)
        .map(str::to_owned)
}
