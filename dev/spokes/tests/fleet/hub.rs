//! A hub for tests: as much of an API server as a fleet needs, in memory, without sockets.
//! It validates by the repository's definitions and keeps resource versions, generations, finalizers and the status subresource as Kubernetes does.

use std::{
    collections::BTreeMap,
    convert::Infallible,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use kube::Client;
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::{definitions::Definitions, requests};

/// Longer than anything that a test waits for; the clock is paused, so that it costs nothing.
const PATIENCE: Duration = Duration::from_hours(1);

/// Names an object: plural, namespace, name.
pub(crate) type Place = (String, String, String);

/// The hub.
#[derive(Clone)]
pub(crate) struct TestHub {
    state: Arc<Mutex<State>>,
    definitions: Arc<Definitions>,
    pub(crate) version: watch::Sender<u64>,
}

/// What the hub holds.
#[derive(Default)]
pub(crate) struct State {
    pub(crate) version: u64,
    pub(crate) objects: BTreeMap<Place, Value>,
    pub(crate) log: Vec<Event>,
    /// How many of the next writes fail.
    pub(crate) refusals: usize,
}

#[derive(Clone)]
pub(crate) struct Event {
    pub(crate) version: u64,
    pub(crate) kind: &'static str,
    pub(crate) place: Place,
    pub(crate) object: Value,
}

impl TestHub {
    /// Returns an empty hub.
    pub(crate) fn new() -> Self {
        Self {
            state: Arc::default(),
            definitions: Arc::new(Definitions::read()),
            version: watch::Sender::new(0),
        }
    }

    /// Returns a client of this hub.
    pub(crate) fn client(&self) -> Client {
        let hub = self.clone();
        let service = tower::service_fn(move |request| {
            let hub = hub.clone();
            async move { Ok::<_, Infallible>(requests::answer(&hub, request).await) }
        });
        Client::new(service, "default")
    }

    /// Returns the newest resource version: it grows with every change of anything.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    /// Lets the next writes fail with an internal error.
    pub(crate) fn refuse(&self, writes: usize) {
        self.lock().refusals = writes;
    }

    /// Returns the object, or null.
    pub(crate) fn object(&self, plural: &str, namespace: &str, name: &str) -> Value {
        self.lock()
            .objects
            .get(&place(plural, namespace, name))
            .cloned()
            .unwrap_or_default()
    }

    /// Returns the names of all objects of a kind, with their namespaces if they have one.
    pub(crate) fn names(&self, plural: &str) -> Vec<String> {
        let state = self.lock();
        let places = state.objects.keys().filter(|(kind, _, _)| kind == plural);
        places
            .map(|(_, namespace, name)| {
                if namespace.is_empty() {
                    name.clone()
                } else {
                    format!("{namespace}/{name}")
                }
            })
            .collect()
    }

    /// Creates an object, or replaces its spec and metadata labels, as a user would.
    pub(crate) fn apply(&self, plural: &str, object: Value) {
        let text = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let place = place(plural, text("/metadata/namespace"), text("/metadata/name"));
        let known = self.lock().objects.contains_key(&place);
        if known {
            self.change(&place, |known| json_patch::merge(known, &object));
        } else {
            self.create(&place, object);
        }
    }

    /// Changes an object in place, as a user would.
    pub(crate) fn edit(&self, plural: &str, namespace: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        self.change(&place(plural, namespace, name), edit);
    }

    /// Deletes an object, as a user would.
    pub(crate) fn delete(&self, plural: &str, namespace: &str, name: &str) {
        self.remove(&place(plural, namespace, name));
    }

    /// Waits until this holds, looking again after every change.
    pub(crate) async fn until(&self, what: &str, holds: impl Fn(&Self) -> bool) {
        let mut versions = self.version.subscribe();
        let wait = async {
            while !holds(self) {
                versions.changed().await.expect("the hub outlives its tests");
            }
        };
        let outcome = tokio::time::timeout(PATIENCE, wait).await;
        assert!(outcome.is_ok(), "never happened: {what}");
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn create(&self, place: &Place, mut object: Value) -> Value {
        let mut state = self.lock();
        let uid = format!("uid-{}", state.version + 1);
        object["metadata"]["uid"] = json!(uid);
        object["metadata"]["generation"] = json!(1);
        object["metadata"]["creationTimestamp"] = json!("2026-01-01T00:00:00Z");
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        self.store(&mut state, "ADDED", place, object)
    }

    pub(crate) fn change(&self, place: &Place, edit: impl FnOnce(&mut Value)) -> Value {
        let mut state = self.lock();
        let old = state.objects.get(place).cloned().expect("an object that exists");
        let mut new = old.clone();
        edit(&mut new);
        new["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
        if new == old {
            return old;
        }
        if new.get("spec") != old.get("spec") {
            let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
            new["metadata"]["generation"] = json!(generation + 1);
        }
        if is_terminating(&new) && !is_held(&new) {
            return self.end(&mut state, place, new);
        }
        self.store(&mut state, "MODIFIED", place, new)
    }

    pub(crate) fn remove(&self, place: &Place) -> Value {
        let mut state = self.lock();
        let Some(mut object) = state.objects.get(place).cloned() else {
            return Value::Null;
        };
        if !is_held(&object) {
            return self.end(&mut state, place, object);
        }
        if is_terminating(&object) {
            return object;
        }
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        self.store(&mut state, "MODIFIED", place, object)
    }

    fn end(&self, state: &mut State, place: &Place, object: Value) -> Value {
        let object = self.store(state, "DELETED", place, object);
        state.objects.remove(place);
        object
    }

    fn store(&self, state: &mut State, kind: &'static str, place: &Place, mut object: Value) -> Value {
        state.version += 1;
        object["metadata"]["resourceVersion"] = json!(state.version.to_string());
        let object = self.definitions.admit(&place.0, object, state.objects.get(place));
        state.objects.insert(place.clone(), object.clone());
        state.log.push(Event {
            version: state.version,
            kind,
            place: place.clone(),
            object: object.clone(),
        });
        self.version.send_replace(state.version);
        object
    }
}

pub(crate) fn place(plural: &str, namespace: &str, name: &str) -> Place {
    (plural.to_owned(), namespace.to_owned(), name.to_owned())
}

fn is_terminating(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

fn is_held(object: &Value) -> bool {
    object
        .pointer("/metadata/finalizers")
        .and_then(Value::as_array)
        .is_some_and(|list| !list.is_empty())
}
