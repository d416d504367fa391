//! Absences as the loop asks about them: lists that end while a look is in progress, looks that are late, and kinds that the hub
//! takes away.
//!
//! Does not cover what is planned meanwhile.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::{broadcast, mpsc, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::absence::{Absences, Read};
use super::clock::Clock;
use super::controller::{Controller, Moment};
use super::looks::Look;
use super::read_again::Found;
use super::reconciler::{Controllers, Outlets, Reconciler, Switches};
use super::viewers::Viewers;
use crate::controllers::addon::Planning;
use crate::controllers::tide::TideOptions;
use crate::telemetry::Metrics;
use plan::{Action, Plan, Revision};
use store::{Event, Fence, Kind, ObjectKey, Settings, Store};

const MINUTE: Duration = Duration::from_mins(1);

/// A hub that is only asked about single objects.
#[derive(Default)]
struct Hub {
    there: BTreeSet<ObjectKey>,
    /// Whether it serves no kind at all.
    serves_nothing: bool,
    asked: Mutex<usize>,
}

impl Hub {
    fn with(there: impl IntoIterator<Item = ObjectKey>) -> Arc<Self> {
        Arc::new(Self {
            there: there.into_iter().collect(),
            ..Self::default()
        })
    }

    fn answer(&self, path: &str) -> (u16, Value) {
        *self.asked.lock().expect("unpoisoned") += 1;
        let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 404});
        if self.serves_nothing {
            return (404, status);
        }
        if let Some(key) = self.there.iter().find(|key| path.ends_with(&path_of(key))) {
            return (200, object(key, "1", "1"));
        }
        let mut status = status;
        status["reason"] = json!("NotFound");
        status["details"] = json!({"name": path.rsplit('/').next()});
        (404, status)
    }

    fn client(self: &Arc<Self>) -> Client {
        let hub = Arc::clone(self);
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let (code, body) = hub.answer(request.uri().path());
            let answer = http::Response::builder().status(code);
            let answer = answer.body(Body::from(body.to_string().into_bytes()));
            async move { answer }
        });
        Client::new(service, "default")
    }

    fn asked(&self) -> usize {
        *self.asked.lock().expect("unpoisoned")
    }
}

fn path_of(key: &ObjectKey) -> String {
    let address = key.kind.address();
    if address.namespaced {
        format!("/namespaces/{}/{}/{}", key.namespace, address.resource, key.name)
    } else {
        format!("/{}/{}", address.resource, key.name)
    }
}

fn object(key: &ObjectKey, uid: &str, version: &str) -> Value {
    let metadata =
        json!({"namespace": &*key.namespace, "name": &*key.name, "uid": uid, "resourceVersion": version});
    let (version, kind) = (key.kind.api_version(), key.kind.address().kind);
    json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": {}})
}

fn shown(key: &ObjectKey, uid: &str, version: &str) -> Event {
    let (kind, object) = (key.kind, object(key, uid, version));
    Event::Applied { kind, object }
}

/// As a look tells it: without a revision.
fn gone(key: &ObjectKey) -> Event {
    let object = json!({"metadata": {"namespace": &*key.namespace, "name": &*key.name}});
    let kind = key.kind;
    Event::Deleted { kind, object }
}

fn config(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::DeploymentConfig, "n", name)
}

fn placement(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::Placement, "n", name)
}

fn namespace(name: &str) -> ObjectKey {
    ObjectKey::new(Kind::Namespace, "", name)
}

/// A store that knows these objects, which no other object stands for.
fn holding<'k>(keys: impl IntoIterator<Item = &'k ObjectKey>) -> Store {
    let mut store = Store::new(Settings::default());
    for key in keys {
        store.apply(shown(key, "1", "1"));
        assert!(store.meta(key).is_some(), "{key}");
    }
    store
}

fn absences(hub: &Arc<Hub>) -> Absences {
    Absences::new(hub.client(), Metrics::default(), BTreeMap::new())
}

/// A list of the kind ends that shows nothing.
fn lists_nothing(absences: &mut Absences, store: &Store, kind: Kind) {
    let told = absences.list_ended(store, kind, BTreeSet::new());
    assert!(
        told.is_empty(),
        "what a list does not show is not believed to be gone"
    );
}

/// Waits for the end of a look, and tells the store what it has found; returns whether it was answered.
async fn take_in(absences: &mut Absences, store: &mut Store, now: Instant) -> bool {
    let Some(Read::Absent(look, found)) = absences.read().await else {
        panic!("nothing is looked for");
    };
    let (found, _) = absences.looks.end(look, found, store);
    let is_answered = found.unread.is_empty();
    for event in absences.found(found, now) {
        store.apply(event);
    }
    is_answered
}

#[tokio::test]
async fn what_a_list_that_ends_during_a_look_does_not_show_is_looked_for_next() {
    let (one, other) = (config("one"), placement("other"));
    let mut store = holding([&one, &other]);
    let mut absences = absences(&Hub::with([]));
    let now = Instant::now();
    lists_nothing(&mut absences, &store, Kind::DeploymentConfig);
    absences.pursue(&store, now);
    lists_nothing(&mut absences, &store, Kind::Placement);
    assert!(take_in(&mut absences, &mut store, now).await);
    assert!(store.meta(&one).is_none() && store.meta(&other).is_some());
    assert!(absences.are_open(), "the other one has yet to be looked for");
    absences.pursue(&store, now);
    assert!(take_in(&mut absences, &mut store, now).await);
    assert!(store.meta(&other).is_none());
    assert!(!absences.are_open());
}

#[tokio::test]
async fn a_list_that_has_left_out_many_hides_no_absence_of_another_kind() {
    let there: Vec<ObjectKey> = (10..50).map(|number| config(&format!("c{number}"))).collect();
    let away: Vec<ObjectKey> = (0..5).map(|number| placement(&format!("p{number}"))).collect();
    let mut store = holding(there.iter().chain(&away));
    let hub = Hub::with(there.iter().cloned());
    let mut absences = absences(&hub);
    let now = Instant::now();
    lists_nothing(&mut absences, &store, Kind::DeploymentConfig);
    lists_nothing(&mut absences, &store, Kind::Placement);
    absences.pursue(&store, now);
    assert!(take_in(&mut absences, &mut store, now).await);
    let left: Vec<&ObjectKey> = away.iter().filter(|key| store.meta(key).is_some()).collect();
    assert!(left.is_empty(), "known indefinitely: {left:?}");
    assert_eq!(hub.asked(), 20 + away.len(), "some of the many are read");
    assert!(absences.are_open(), "the many are listed again");
    let told = absences.list_ended(&store, Kind::DeploymentConfig, there.iter().cloned().collect());
    assert_eq!(told.len(), 1, "the list is right");
    absences.pursue(&store, now);
    assert!(!absences.are_open());
}

#[tokio::test]
async fn what_could_not_be_read_is_looked_for_again_with_what_came_meanwhile() {
    let (one, other) = (config("one"), placement("other"));
    let mut store = holding([&one, &other]);
    let hub = Arc::new(Hub {
        serves_nothing: true,
        ..Hub::default()
    });
    let mut absences = absences(&hub);
    let now = Instant::now();
    lists_nothing(&mut absences, &store, Kind::DeploymentConfig);
    absences.pursue(&store, now);
    lists_nothing(&mut absences, &store, Kind::Placement);
    assert!(!take_in(&mut absences, &mut store, now).await);
    assert!(absences.are_open(), "the other one has yet to be looked for");
    absences.pursue(&store, now);
    assert!(!take_in(&mut absences, &mut store, now).await);
    assert!(!absences.are_open(), "only what depends on them waits");
    let told = absences.take_unreadable().expect("it is new");
    assert_eq!(
        told.into_keys().collect::<BTreeSet<_>>(),
        BTreeSet::from([one.clone(), other.clone()])
    );
    assert!(absences.take_unreadable().is_none(), "it is reported once");
    let again = absences.next().expect("it is tried again");
    absences.pursue(&store, again);
    assert!(!absences.are_open());
    let Some(Read::Again(look, _)) = absences.read().await else {
        panic!("nothing is looked for");
    };
    assert_eq!(BTreeSet::from_iter(look.objects()), BTreeSet::from([one, other]));
}

#[tokio::test]
async fn what_a_watch_or_a_list_shows_need_not_be_read_any_more() {
    for ends in ["applied", "deleted", "listed", "read"] {
        let one = config("one");
        let mut store = holding([&one]);
        let mut absences = absences(&Arc::new(Hub {
            serves_nothing: true,
            ..Hub::default()
        }));
        let now = Instant::now();
        lists_nothing(&mut absences, &store, Kind::DeploymentConfig);
        absences.pursue(&store, now);
        assert!(!take_in(&mut absences, &mut store, now).await);
        assert_eq!(absences.take_unreadable().map(|all| all.len()), Some(1));
        match ends {
            "applied" => absences.hear(&shown(&one, "1", "2")),
            "deleted" => absences.hear(&gone(&one)),
            "listed" => {
                absences.list_ended(&store, Kind::DeploymentConfig, BTreeSet::from([one.clone()]));
            }
            _ => {
                let again = absences.next().expect("it is tried again");
                absences.pursue(&store, again);
                drop(absences.read().await);
                drop(absences.found_again(read(gone(&one)), again));
            }
        }
        assert_eq!(absences.take_unreadable().map(|all| all.len()), Some(0), "{ends}");
    }
}

#[tokio::test]
async fn a_kind_that_is_taken_away_after_its_list_has_lied_is_not_waited_for_indefinitely() {
    let keys = [namespace("one"), namespace("other")];
    let mut store = holding(&keys);
    let (hub, metrics) = (Hub::with(keys.clone()), Metrics::default());
    let mut absences = Absences::new(hub.client(), metrics.clone(), BTreeMap::new());
    let now = Instant::now();
    lists_nothing(&mut absences, &store, Kind::Namespace);
    absences.pursue(&store, now);
    assert!(take_in(&mut absences, &mut store, now).await);
    absences.hidden(Kind::Namespace, now);
    absences.hidden(Kind::Namespace, now + MINUTE / 2);
    absences.pursue(&store, now + MINUTE / 2);
    assert!(
        absences.are_open(),
        "a hub that is starting may serve it in a moment"
    );
    assert_eq!(absences.next(), Some(now + MINUTE), "the loop wakes up for it");
    assert!(metrics.text().contains("tidegate_absences_open 1"));
    absences.pursue(&store, now + MINUTE);
    assert!(!absences.are_open());
    assert!(metrics.text().contains("tidegate_absences_open 0"));
    assert_eq!(absences.next(), None);
    assert!(
        keys.iter().all(|key| store.meta(key).is_some()),
        "what is known of it stays"
    );
}

#[tokio::test]
async fn what_no_list_shows_of_a_kind_that_is_taken_away_is_not_looked_for_indefinitely() {
    let key = namespace("one");
    let mut store = holding([&key]);
    let hub = Arc::new(Hub {
        serves_nothing: true,
        ..Hub::default()
    });
    let mut absences = absences(&hub);
    let now = Instant::now();
    lists_nothing(&mut absences, &store, Kind::Namespace);
    absences.pursue(&store, now);
    assert!(!take_in(&mut absences, &mut store, now).await);
    absences.hidden(Kind::Namespace, now);
    absences.pursue(&store, now + MINUTE);
    assert!(!absences.are_reading() && !absences.are_open());
    assert!(store.meta(&key).is_some(), "what is known of it stays");
    lists_nothing(&mut absences, &store, Kind::Namespace);
    absences.pursue(&store, now + MINUTE);
    assert!(absences.are_reading(), "its next list counts");
}

fn driver(hub: &Arc<Hub>) -> Reconciler {
    driver_with(hub.client(), Metrics::default())
}

pub(super) fn driver_with(client: Client, metrics: Metrics) -> Reconciler {
    let outlets = Outlets {
        facts: Arc::default(),
        progress: broadcast::channel(1).0,
        notifier: None,
        synced: watch::channel(false).0,
        watch_lists: mpsc::unbounded_channel().0,
        viewers: Viewers::new(mpsc::unbounded_channel().1),
        relists: BTreeMap::new(),
    };
    let options = TideOptions {
        metrics,
        ..TideOptions::default()
    };
    Reconciler::new(
        client,
        options,
        outlets,
        Clock::new(None, Metrics::default()),
        Controllers::new(),
        Switches {
            stop: CancellationToken::new(),
            leading: watch::channel(true).1,
            fence: watch::channel(Fence::Open).1,
        },
    )
}

/// What a look finds that reads one object.
pub(super) fn read(event: Event) -> Found {
    Found {
        events: vec![event],
        unread: Vec::new(),
    }
}

/// How a look comes to its end.
type Learn = fn(&mut Reconciler, Look, Found);

/// Uid and revision of an object, as the store knows it.
fn known(driver: &Reconciler, key: &ObjectKey) -> Option<String> {
    let meta = driver.store.meta(key)?;
    Some(format!("{}/{}", &*meta.uid, &*meta.version))
}

/// What the watch said before a look, what it said meanwhile, what the look has found, and what is known in the end.
type Row = (
    &'static str,
    Option<Event>,
    Option<Event>,
    Event,
    Option<&'static str>,
);

fn rows() -> Vec<Row> {
    let key = config("x");
    let is = |uid: &str, version: &str| shown(&key, uid, version);
    let seen = |uid: &str, version: &str| Some(is(uid, version));
    let other = shown(&config("y"), "3", "6");
    vec![
        ("made", None, seen("1", "5"), gone(&key), Some("1/5")),
        (
            "made again",
            seen("1", "5"),
            seen("2", "8"),
            is("1", "6"),
            Some("2/8"),
        ),
        ("gone", seen("1", "5"), Some(gone(&key)), is("1", "5"), None),
        ("made and gone", None, Some(gone(&key)), is("1", "5"), None),
        (
            "gone for both",
            seen("1", "5"),
            Some(gone(&key)),
            gone(&key),
            None,
        ),
        (
            "read later",
            seen("1", "5"),
            seen("1", "6"),
            is("1", "7"),
            Some("1/7"),
        ),
        (
            "read earlier",
            seen("1", "5"),
            seen("1", "7"),
            is("1", "6"),
            Some("1/7"),
        ),
        ("of another", seen("1", "5"), Some(other), gone(&key), None),
        ("silence", seen("1", "5"), None, gone(&key), None),
    ]
}

#[tokio::test]
async fn an_answer_that_a_watch_has_outrun_does_not_count() {
    let key = config("x");
    let ways: [Learn; 2] = [
        |driver, look, found| driver.hear(Read::Absent(look, found)),
        |driver, look, found| driver.see(&ObjectKey::addon(&"hello".into()), look, found),
    ];
    for (what, before, meanwhile, answer, expected) in rows() {
        for learn in ways {
            let mut driver = driver(&Hub::with([]));
            let now = Instant::now();
            if let Some(event) = before.clone() {
                driver.take_one(event, now);
            }
            let look = driver.absences.looks.begin([key.clone()]);
            if let Some(event) = meanwhile.clone() {
                driver.take_one(event, now);
            }
            learn(&mut driver, look, read(answer.clone()));
            assert_eq!(known(&driver, &key).as_deref(), expected, "{what}");
        }
    }
}

#[tokio::test]
async fn what_a_watch_has_said_before_a_look_or_another_look_has_found_outruns_no_answer() {
    let key = config("x");
    let mut driver = driver(&Hub::with([]));
    let now = Instant::now();
    let older = driver.absences.looks.begin([key.clone()]);
    driver.take_one(shown(&key, "1", "5"), now);
    let younger = driver.absences.looks.begin([key.clone()]);
    driver.hear(Read::Absent(older, read(shown(&key, "1", "6"))));
    driver.hear(Read::Absent(younger, read(gone(&key))));
    assert_eq!(known(&driver, &key), None);
}

/// A plan that takes an instance away.
fn removal() -> Plan {
    Plan {
        actions: vec![Action::Delete {
            object: ObjectKey::new(Kind::Instance, "c1", "hello"),
            before: Revision {
                uid: "1".into(),
                version: "1".into(),
            },
            why: "no placement selects the cluster",
        }],
        ..Plan::default()
    }
}

#[tokio::test]
async fn a_reason_for_a_removal_that_a_watch_contradicts_is_read_again() {
    for (is_contradicted, removals) in [(false, 1), (true, 0)] {
        let place = placement("all");
        let owner = ObjectKey::addon(&"hello".into());
        let mut driver = driver(&Hub::with([]));
        let now = Instant::now();
        let reasons = || BTreeSet::from([place.clone()]);
        assert!(driver.absences.confirm(reasons, &owner, &mut removal(), now));
        let read = driver.absences.read().await.expect("the reasons are read");
        if is_contradicted {
            driver.take_one(shown(&place, "2", "8"), now);
        }
        driver.hear(read);
        let mut plan = removal();
        driver.absences.confirm(reasons, &owner, &mut plan, now);
        assert_eq!(plan.actions.len(), removals);
        assert_eq!(driver.absences.are_reading(), is_contradicted);
        assert_eq!(driver.store.meta(&place).is_some(), is_contradicted);
    }
}

/// How reading an object by its name fails.
#[derive(Debug, Clone, Copy)]
pub(super) enum Fault {
    Forbidden,
    NoSuchPath,
    Broken,
    Silent,
    Garbled,
}

impl Fault {
    const ALL: [Self; 5] = [
        Self::Forbidden,
        Self::NoSuchPath,
        Self::Broken,
        Self::Silent,
        Self::Garbled,
    ];

    pub(super) fn client(self) -> Client {
        let service = tower::service_fn(move |_: http::Request<Body>| async move {
            let failure = |code: u16, reason: &str| {
                let status = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason,
                    "message": "on purpose"});
                (code, status.to_string())
            };
            let (code, body) = match self {
                Self::Forbidden => failure(403, "Forbidden"),
                Self::NoSuchPath => failure(404, "NotFound"),
                Self::Broken => failure(500, "InternalError"),
                Self::Silent => std::future::pending().await,
                Self::Garbled => (200, "{\"kind\": ".to_owned()),
            };
            http::Response::builder()
                .status(code)
                .body(Body::from(body.into_bytes()))
        });
        Client::new(service, "default")
    }
}

const ADDON: &str = "addon.open-cluster-management.io";

/// Every object on which the add-on `hello` depends on `c1`, and an add-on `other` that depends on none of them and has yet to come to
/// `o1`; with one object of every kind of which neither has any.
pub(super) fn fleet() -> BTreeMap<ObjectKey, Value> {
    let meta = |namespace: &str, name: &str, labels: Value| {
        json!({"namespace": namespace, "name": name, "uid": name, "resourceVersion": "1",
        "labels": labels})
    };
    let place = json!({"cluster.open-cluster-management.io/placement": "all"});
    let of = json!({(ADDON_LABEL): "hello"});
    let supported = json!([
        {"group": ADDON, "resource": "addondeploymentconfigs", "defaultConfig": {"namespace": "n", "name": "base"}},
        {"group": ADDON, "resource": "addontemplates", "defaultConfig": {"name": "t"}},
        {"group": ADDON, "resource": "addonhubconfigs", "defaultConfig": {"name": "h"}}]);
    let placements = json!([{"namespace": "n", "name": "all"}]);
    let labelled =
        json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "other"}}});
    let mut all: Vec<(Kind, Value)> = vec![
        (
            Kind::Cluster,
            json!({"metadata": meta("", "c1", json!({})), "spec": {"hubAcceptsClient": true}}),
        ),
        (
            Kind::Cluster,
            json!({"metadata": meta("", "o1", json!({"env": "other"})), "spec": {"hubAcceptsClient": true}}),
        ),
        (
            Kind::Placement,
            json!({"metadata": meta("n", "all", json!({})), "spec": {}, "status": {"numberOfSelectedClusters": 1}}),
        ),
        (
            Kind::Decision,
            json!({"metadata": meta("n", "all-1", place), "status": {"decisions": [{"clusterName": "c1", "reason": ""}]}}),
        ),
        (
            Kind::DeploymentConfig,
            json!({"metadata": meta("n", "base", json!({})), "spec": {}}),
        ),
        (
            Kind::Template,
            json!({"metadata": meta("", "t", json!({})), "spec": {"addonName": "hello",
            "agentSpec": {"workload": {"manifests": []}}}}),
        ),
        (
            Kind::HubConfig,
            json!({"metadata": meta("", "h", json!({})), "spec": {}}),
        ),
        (
            Kind::AddOn,
            json!({"metadata": meta("", "hello", json!({})), "spec": {"supportedConfigs": supported,
            "installStrategy": {"type": "Placements", "placements": placements}}}),
        ),
        (
            Kind::AddOn,
            json!({"metadata": meta("", "other", json!({})), "spec": {"installStrategy": labelled}}),
        ),
        (
            Kind::Instance,
            json!({"metadata": meta("c1", "hello", json!({})), "spec": {}}),
        ),
        (
            Kind::Work,
            json!({"metadata": meta("c1", "addon-hello-deploy-0", of), "spec": {"workload": {"manifests": []}}}),
        ),
    ];
    for kind in Kind::ALL {
        if !all.iter().any(|(other, _)| *other == kind) {
            let namespace = if kind.address().namespaced { "x" } else { "" };
            all.push((
                kind,
                json!({"metadata": meta(namespace, "x", json!({})), "spec": {}}),
            ));
        }
    }
    all.into_iter()
        .map(|(kind, object)| (ObjectKey::of(kind, &object), object))
        .collect()
}

const ADDON_LABEL: &str = "open-cluster-management.io/addon-name";

/// What would be written for an add-on: the writes that are not held, and the reasons of its conditions.
pub(super) fn planned(driver: &mut Reconciler, addon: &str) -> (Vec<ObjectKey>, String) {
    let owner = ObjectKey::addon(&addon.into());
    let at = Moment {
        time: "2030-01-01T00:00:00Z".parse().expect("a time"),
        is_known: true,
    };
    let plan = Planning::default().plan(&mut driver.store, &owner, at).plan();
    let actions = plan.map(|plan| plan.actions).unwrap_or_default();
    let written = actions
        .iter()
        .filter(|action| !driver.store.is_held_write(&owner, action.object()));
    let told = actions.iter().filter_map(|action| match action {
        Action::Status { object, patch, .. } if *object == owner => Some(patch.value().to_string()),
        _ => None,
    });
    (
        written.map(|action| action.object().clone()).collect(),
        told.collect(),
    )
}

/// Every kind of which the table of calls says that its objects are read by name.
fn read_by_name() -> BTreeSet<Kind> {
    let rows = operate::doctor::calls::CALLS
        .iter()
        .filter(|call| call.verbs.contains(&"get"));
    let kinds = rows.flat_map(|call| {
        let is_it = |kind: &Kind| {
            let address = kind.address();
            (address.group, address.resource) == (call.group, call.resource)
        };
        Kind::ALL.into_iter().filter(is_it)
    });
    kinds.collect()
}

#[tokio::test(start_paused = true)]
async fn a_read_that_fails_holds_only_what_depends_on_the_object() {
    let kinds = read_by_name();
    assert_eq!(
        kinds,
        BTreeSet::from(Kind::ALL),
        "every kind that is watched is read by name"
    );
    for (fault, (missing, _)) in Fault::ALL
        .into_iter()
        .flat_map(|fault| fleet().into_iter().map(move |one| (fault, one)))
    {
        if matches!(&*missing.name, "o1" | "other") {
            continue;
        }
        let what = format!("{fault:?} {missing}");
        let metrics = Metrics::default();
        let mut driver = driver_with(fault.client(), metrics.clone());
        let now = Instant::now();
        for (key, object) in fleet() {
            let kind = key.kind;
            driver.take_one(Event::Applied { kind, object }, now);
        }
        if driver.store.meta(&missing).is_none() {
            continue;
        }
        // The list of the kind lacks one object, and reading it by its name fails.
        let keys = fleet()
            .into_keys()
            .filter(|key| key.kind == missing.kind && *key != missing);
        let kind = missing.kind;
        driver.take_one(
            Event::ListEnded {
                kind,
                keys: keys.collect(),
            },
            now,
        );
        driver.absences.pursue(&driver.store, now);
        let read = driver.absences.read().await.expect("it is looked for");
        driver.hear(read);
        driver.note_unreadable();
        assert!(!driver.absences.are_open(), "{what}: other add-ons wait");
        assert!(
            driver.store.meta(&missing).is_some(),
            "{what}: it counts as deleted"
        );
        let line = format!(
            "tidegate_unreadable_objects{{resource=\"{}\"}} 1",
            kind.address().resource
        );
        assert!(metrics.text().contains(&line), "{what}: {line}");
        let (written, told) = planned(&mut driver, "other");
        let instance = ObjectKey::new(Kind::Instance, "o1", "other");
        // A freeze or a profile may be about every add-on.
        let is_held = matches!(kind, Kind::Freeze | Kind::Profile);
        assert_eq!(written.contains(&instance), !is_held, "{what}: {written:?}");
        assert_eq!(told.contains("ReadFailed"), is_held, "{what}: {told}");
        let (written, told) = planned(&mut driver, "hello");
        let depends = driver
            .store
            .dependents(&missing)
            .contains(&ObjectKey::addon(&"hello".into()));
        let on_cluster = written
            .iter()
            .filter(|key| *key.namespace == *"c1" || *key.name == *"c1");
        assert!(!depends || on_cluster.count() == 0, "{what}: {written:?}");
        assert_eq!(told.contains("ReadFailed"), depends, "{what}: {told}");
        assert!(!depends || told.contains(&missing.to_string()), "{what}: {told}");
    }
}

/// A start: every object is listed, and one of them has too many values to be read, or a fault for which it is skipped.
#[tokio::test(start_paused = true)]
async fn an_object_that_cannot_be_read_at_the_start_is_not_taken_for_absent() {
    let all = fleet()
        .into_keys()
        .filter(|key| !matches!(&*key.name, "o1" | "other"));
    let matters = [
        Kind::Cluster,
        Kind::Placement,
        Kind::Decision,
        Kind::Template,
        Kind::Instance,
        Kind::Work,
    ];
    for (unread, is_faulty) in all.flat_map(|key| [(key.clone(), false), (key, true)]) {
        let metrics = Metrics::default();
        let mut driver = driver_with(Fault::Broken.client(), metrics.clone());
        let now = Instant::now();
        for (key, mut object) in fleet() {
            let kind = key.kind;
            let why = "it has too many values".to_owned();
            if key == unread && is_faulty {
                object["metadata"]["resourceVersion"] = json!(null);
            }
            driver.take_one(
                if key == unread && !is_faulty {
                    Event::Unreadable { kind, object, why }
                } else {
                    Event::Applied { kind, object }
                },
                now,
            );
        }
        for kind in Kind::ALL {
            let keys = fleet().into_keys().filter(|key| key.kind == kind).collect();
            driver.take_one(Event::ListEnded { kind, keys }, now);
        }
        driver.note_unreadable();
        let is_reported = driver.store.faults().contains_key(&unread);
        if is_faulty && !is_reported && !matters.contains(&unread.kind) {
            // Of some kinds only the name is read.
            continue;
        }
        let line = format!(
            "tidegate_unreadable_objects{{resource=\"{}\"}} 1",
            unread.kind.address().resource
        );
        assert!(metrics.text().contains(&line), "{unread}: {line}");
        assert!(is_reported, "{unread} is reported");
        let depends = driver
            .store
            .dependents(&unread)
            .contains(&ObjectKey::addon(&"hello".into()));
        let (written, told) = planned(&mut driver, "hello");
        let on_cluster = written
            .iter()
            .filter(|key| *key.namespace == *"c1" || *key.name == *"c1");
        assert!(!depends || on_cluster.count() == 0, "{unread}: {written:?}");
        assert!(!written.contains(&unread), "{unread} is written");
        let has_status = driver.store.meta(&ObjectKey::addon(&"hello".into())).is_some();
        assert_eq!(
            told.contains("ReadFailed"),
            depends && has_status,
            "{unread}: {told}"
        );
        assert!(
            depends || !matters.contains(&unread.kind),
            "{unread} concerns the add-on"
        );
        // A later list shows it as it may be.
        let (key, object) = fleet()
            .into_iter()
            .find(|(key, _)| *key == unread)
            .expect("it is there");
        driver.take_one(
            Event::Applied {
                kind: key.kind,
                object,
            },
            now,
        );
        driver.note_unreadable();
        assert!(!metrics.text().contains(&line), "{unread} is read");
    }
}

/// An object exists that does not fit into memory: what depends on it is blocked until it fits, and then it is listed again.
#[tokio::test(start_paused = true)]
async fn an_object_that_does_not_fit_into_memory_blocks_dependents_until_it_fits() {
    let metrics = Metrics::default();
    let mut driver = driver_with(Fault::Broken.client(), metrics.clone());
    let again = Arc::new(tokio::sync::Notify::new());
    let relists = BTreeMap::from([(Kind::Template, Arc::clone(&again))]);
    driver.absences = Absences::new(Fault::Broken.client(), metrics.clone(), relists);
    let now = Instant::now();
    let large = |name: &str| {
        let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "x": vec![json!({"a": 0}); 49_900]});
        json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}}})
    };
    let kind = Kind::Template;
    let of_another = ObjectKey::new(kind, "", "a");
    let take = |driver: &mut Reconciler, event| driver.take_one(event, now);
    take(
        &mut driver,
        Event::Applied {
            kind,
            object: large("a"),
        },
    );
    for (key, object) in fleet() {
        let object = if key.kind == kind {
            large(&key.name)
        } else {
            object
        };
        take(
            &mut driver,
            Event::Applied {
                kind: key.kind,
                object,
            },
        );
    }
    for kind in Kind::ALL {
        let keys = fleet().into_keys().chain([of_another.clone()]);
        let keys = keys.filter(|key| key.kind == kind).collect();
        take(&mut driver, Event::ListEnded { kind, keys });
    }
    driver.note_unreadable();
    let line = "tidegate_unreadable_objects{resource=\"addontemplates\"} 1";
    assert!(metrics.text().contains(line), "it is counted");
    let (_, told) = planned(&mut driver, "hello");
    assert!(told.contains("ReadFailed"), "{told}");
    take(
        &mut driver,
        Event::Deleted {
            kind,
            object: large("a"),
        },
    );
    driver.note_unreadable();
    let due = driver.absences.next().expect("a list is due");
    driver.absences.pursue(&driver.store, due);
    again.notified().await;
    take(
        &mut driver,
        Event::Applied {
            kind,
            object: large("t"),
        },
    );
    driver.note_unreadable();
    assert!(!metrics.text().contains(line), "it is read");
}
