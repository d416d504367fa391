//! How far the fleet is, seen through two watches of our own that do not go through the proxy.
//!
//! Decides when an add-on counts as completed. Never changes anything.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt as _;
use kube::api::DynamicObject;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Client, ResourceExt as _};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::scene::{ADDON, MCA, WORK};

/// Shortest time between two counts.
const LOOK: Duration = Duration::from_millis(50);

/// How many add-ons of clusters are how far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counted {
    /// Add-ons that exist.
    pub(crate) addons: usize,
    /// Works that exist.
    pub(crate) works: usize,
    /// Works that carry the changed configuration.
    pub(crate) changed: usize,
    /// Add-ons that report success, with everything that their work carries confirmed.
    pub(crate) completed: usize,
    /// The same with the changed configuration.
    pub(crate) upgraded: usize,
}

impl std::fmt::Display for Counted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            addons,
            works,
            changed,
            completed,
            upgraded,
        } = self;
        write!(
            f,
            "{addons} add-ons, {works} works, {changed} changed, {completed} completed, {upgraded} upgraded"
        )
    }
}

#[derive(Debug, Default)]
struct State {
    /// By cluster and add-on: the hashes that the work carries, and whether its text is the changed one.
    works: BTreeMap<String, (String, bool)>,
    /// By cluster and add-on: the confirmed hashes in the form of the work's annotation, "" while it is not done.
    addons: BTreeMap<String, String>,
}

impl State {
    fn count(&self) -> Counted {
        let done = |place: &String, hashes: &String| {
            !hashes.is_empty()
                && self
                    .works
                    .get(place)
                    .is_some_and(|(carried, _)| carried == hashes)
        };
        let completed: Vec<&String> = self
            .addons
            .iter()
            .filter(|(place, hashes)| done(place, hashes))
            .map(|(place, _)| place)
            .collect();
        let is_changed = |place: &&&String| self.works.get(**place).is_some_and(|(_, changed)| *changed);
        Counted {
            addons: self.addons.len(),
            works: self.works.len(),
            changed: self.works.values().filter(|(_, changed)| *changed).count(),
            completed: completed.len(),
            upgraded: completed.iter().filter(is_changed).count(),
        }
    }
}

/// The picture that the watches draw.
#[derive(Debug)]
pub(crate) struct Picture {
    pub(crate) counted: watch::Receiver<Counted>,
    _watches: JoinSet<()>,
}

impl Picture {
    /// Starts to watch.
    pub(crate) fn start(client: &Client) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let (tell, counted) = watch::channel(Counted::default());
        let mut watches = JoinSet::new();
        for sort in [MCA, WORK] {
            let (client, state, tell) = (client.clone(), Arc::clone(&state), tell.clone());
            watches.spawn(async move {
                let mut events = std::pin::pin!(
                    watcher(sort.everywhere(&client), watcher::Config::default()).default_backoff()
                );
                while let Some(event) = events.next().await {
                    let Ok(event) = event else { continue };
                    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
                    note(&mut state, sort.kind == MCA.kind, &event);
                    drop(state);
                    tell.send_modify(|_| ());
                }
            });
        }
        // Counting takes time of the measured process: at most one twentieth of a core.
        watches.spawn(async move {
            let mut pause = LOOK;
            loop {
                tokio::time::sleep(pause).await;
                let begun = Instant::now();
                let now = state.lock().unwrap_or_else(PoisonError::into_inner).count();
                tell.send_if_modified(|known| std::mem::replace(known, now) != now);
                pause = LOOK.max(begun.elapsed().saturating_mul(20));
            }
        });
        Self {
            counted,
            _watches: watches,
        }
    }
}

fn note(state: &mut State, is_addon: bool, event: &watcher::Event<DynamicObject>) {
    match event {
        watcher::Event::Apply(object) | watcher::Event::InitApply(object) => {
            let Some(place) = place(object) else { return };
            if is_addon {
                state.addons.insert(place, confirmed(&object.data));
            } else {
                state.works.insert(place, carried(object));
            }
        }
        watcher::Event::Delete(object) => {
            let Some(place) = place(object) else { return };
            if is_addon {
                state.addons.remove(&place);
            } else {
                state.works.remove(&place);
            }
        }
        watcher::Event::Init | watcher::Event::InitDone => {}
    }
}

/// Returns cluster and add-on of an add-on or a work of ours, `None` of another object.
fn place(object: &DynamicObject) -> Option<String> {
    let name = object.name_any();
    let addon = match name.strip_prefix("addon-") {
        Some(rest) => rest.split_once("-deploy-")?.0,
        None => &name,
    };
    let is_ours = addon.starts_with(ADDON);
    is_ours.then(|| format!("{}/{addon}", object.namespace().unwrap_or_default()))
}

/// The hashes of a work, and whether its text is the changed one.
fn carried(work: &DynamicObject) -> (String, bool) {
    let hashes = work
        .annotations()
        .get("open-cluster-management.io/config-spec-hash");
    let edition = work.data.pointer("/spec/workload/manifests/0/data/edition");
    (
        hashes.cloned().unwrap_or_default(),
        edition.and_then(Value::as_str) == Some("two"),
    )
}

/// The hashes that an add-on which reports success has confirmed, as works carry them.
fn confirmed(data: &Value) -> String {
    let list = |pointer: &str| {
        data.pointer(pointer)
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
    };
    let is_done = list("/status/conditions").any(|condition| {
        let reason = condition["reason"].as_str().unwrap_or_default();
        condition["type"] == "Progressing"
            && condition["status"] == "False"
            && (reason == "Completed" || reason.ends_with("Succeed"))
    });
    let text = |one: &Value, pointer: &str| {
        one.pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let mut hashes = BTreeMap::new();
    for one in list("/status/configReferences") {
        let applied = |field: &str| text(one, &format!("/lastAppliedConfig/{field}"));
        if !is_done || applied("specHash") != text(one, "/desiredConfig/specHash") {
            return String::new();
        }
        let of = format!("{}.{}", text(one, "/resource"), text(one, "/group"));
        hashes.insert(
            format!("{of}/{}/{}", applied("namespace"), applied("name")),
            applied("specHash"),
        );
    }
    if hashes.is_empty() {
        return String::new();
    }
    serde_json::to_string(&hashes).unwrap_or_default()
}
