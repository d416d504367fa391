//! The rows of add-ons: one template add-on on two clusters.

use insight::cockpit::{Stopwatch, addon};
use insight::why::why;
use jiff::SignedDuration;
use kubernetes::field::Listing;
use serde_json::{Value, json};
use store::{Compat, Failures, Kind, ObjectKey, Settings};

use super::{Row, conditions, fleet, hub, tools};
use crate::kit::world::World;

/// What the template asks of the hub, and whether the hub lets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Registration {
    None,
    Given,
    Refused,
}

/// What becomes of the second cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    Fine,
    Silent,
    CannotApply,
    NotAvailable,
    Offline,
}

const SECONDS: [Second; 5] = [
    Second::Fine,
    Second::Silent,
    Second::CannotApply,
    Second::NotAvailable,
    Second::Offline,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    There,
    Deleted,
    Undecided,
}

/// Whether it happens at once, or after everything was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    AtOnce,
    Later,
}

/// What the hub is like.
#[derive(Clone, Copy, Debug)]
struct Facts {
    words: &'static str,
    registration: Registration,
    second: Second,
    place: Place,
    when: When,
    /// Whether another template is requested, and whether the rollout is paused.
    change: Option<&'static str>,
    /// Whether the time is over in which what is missing may still arrive.
    grace_is_over: bool,
}

/// Every combination; those of other words and of a change while nothing may still arrive.
pub(super) fn rows() -> Vec<Row> {
    let mut all = Vec::new();
    for registration in [Registration::None, Registration::Given, Registration::Refused] {
        for second in SECONDS {
            for place in [Place::There, Place::Deleted, Place::Undecided] {
                for when in [When::AtOnce, When::Later] {
                    let facts = Facts {
                        words: "tidegate",
                        registration,
                        second,
                        place,
                        when,
                        change: None,
                        grace_is_over: true,
                    };
                    all.push(facts);
                    all.push(Facts {
                        grace_is_over: false,
                        ..facts
                    });
                    all.extend(["ocm", "deadline"].map(|words| Facts { words, ..facts }));
                    if when == When::Later {
                        let changes = ["moving", "paused"].map(Some);
                        all.extend(changes.map(|change| Facts { change, ..facts }));
                    }
                }
            }
        }
    }
    all.into_iter().map(row).collect()
}

/// A row in which everything is well.
pub(super) fn sound() -> Row {
    row(Facts {
        words: "tidegate",
        registration: Registration::Given,
        second: Second::Fine,
        place: Place::There,
        when: When::AtOnce,
        change: None,
        grace_is_over: false,
    })
}

fn settings(words: &str) -> Settings {
    match words {
        "ocm" => Settings::of(Compat::Ocm),
        "deadline" => Settings {
            failures: Failures::Deadline,
            ..Settings::default()
        },
        _ => Settings::default(),
    }
}

fn template(name: &str, registration: Registration) -> Value {
    let permissions = json!([{"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "reader"}}]);
    let registration = match registration {
        Registration::None => json!([]),
        Registration::Given | Registration::Refused => {
            json!([{"type": "KubeClient", "kubeClient": {"hubPermissions": permissions}}])
        }
    };
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    json!({"metadata": {"name": name}, "spec": {"addonName": "hello", "registration": registration,
        "agentSpec": {"workload": {"manifests": [manifest]}}}})
}

fn put_addon(world: &mut World, template: &str, is_paused: bool) {
    if is_paused {
        world.set_rollout("hello", None, "pause", &json!({}));
    }
    let strategy = json!({"type": "Placements", "placements": [{"namespace": "default", "name": "all"}]});
    world.put(
        Kind::AddOn,
        json!({"metadata": {"name": "hello"}, "spec": {
            "supportedConfigs": [{"group": "addon.open-cluster-management.io", "resource": "addontemplates",
                "defaultConfig": {"name": template}}],
            "installStrategy": strategy}}),
    );
}

fn put_role(world: &mut World, is_given: bool) {
    let labels = if is_given {
        json!({"tidegate.io/hub-permissions": "allowed"})
    } else {
        json!({"tidegate.io/hub-permissions": "no"})
    };
    world.put(
        Kind::HubClusterRole,
        json!({"metadata": {"name": "reader", "labels": labels}}),
    );
}

fn set_available(world: &mut World, cluster: &str, status: &str) {
    let key = ObjectKey::new(Kind::Cluster, "", cluster);
    let condition = json!({"type": "ManagedClusterConditionAvailable", "status": status, "reason": "ManagedClusterLeaseUpdateStopped",
        "message": "the agent has stopped", "lastTransitionTime": world.now.to_string()});
    world.put_status(&key, &json!({"conditions": [condition]}));
}

/// What the agents report, and the hub's state of the second cluster.
fn report(world: &mut World, second: Second) {
    world.report("c1", None, true);
    match second {
        Second::Fine => world.report("c2", None, true),
        Second::Silent => {}
        Second::CannotApply => world.report("c2", Some("quota exceeded"), false),
        Second::NotAvailable => world.report("c2", None, false),
        Second::Offline => {
            world.report("c2", None, true);
            set_available(world, "c2", "Unknown");
        }
    }
}

fn change_placement(world: &mut World, place: Place) {
    let placement = ObjectKey::new(Kind::Placement, "default", "all");
    let decision = ObjectKey::new(Kind::Decision, "default", "all-decision-1");
    match place {
        Place::There => {}
        Place::Deleted => {
            world.delete(&placement);
            world.delete(&decision);
        }
        Place::Undecided => world.put_status(&placement, &json!({"numberOfSelectedClusters": 3})),
    }
}

/// Makes the hub as the facts have it.
fn made(facts: Facts) -> World {
    let mut world = World::new(settings(facts.words));
    for cluster in ["c1", "c2"] {
        world.add_cluster(cluster);
    }
    world.decide("all", &["c1".to_owned(), "c2".to_owned()]);
    let is_at_once = facts.when == When::AtOnce;
    put_role(
        &mut world,
        !(is_at_once && facts.registration == Registration::Refused),
    );
    world.put(Kind::Template, template("hello-v1", facts.registration));
    put_addon(&mut world, "hello-v1", false);
    world.settle("hello");
    report(&mut world, if is_at_once { facts.second } else { Second::Fine });
    if is_at_once {
        change_placement(&mut world, facts.place);
    }
    world.settle("hello");
    if facts.when == When::Later {
        put_role(&mut world, facts.registration != Registration::Refused);
        report(&mut world, facts.second);
        change_placement(&mut world, facts.place);
        world.settle("hello");
    }
    if let Some(change) = facts.change {
        world.put(Kind::Template, template("hello-v2", facts.registration));
        put_addon(&mut world, "hello-v2", change == "paused");
        world.settle("hello");
    }
    if facts.grace_is_over {
        world.tick(SignedDuration::from_secs(11));
        world.settle("hello");
    }
    world
}

fn row(facts: Facts) -> Row {
    let world = made(facts);
    let key = ObjectKey::new(Kind::AddOn, "", "hello");
    let object = &world.objects[&key];
    let picture = addon(&world.store, "hello", &Stopwatch::default(), world.now).expect("a picture");
    let answer = why(&hub(&world), settings(facts.words), "hello", None, world.now).expect("an answer");
    let instances: Vec<&Value> = world
        .objects
        .iter()
        .filter(|(key, _)| key.kind == Kind::Instance)
        .map(|(_, object)| object)
        .collect();
    let says = |object: &Value, kind: &str, status: &str| {
        let all = object.pointer("/status/conditions").and_then(Value::as_array);
        all.into_iter()
            .flatten()
            .any(|one| one["type"] == kind && one["status"] == status)
    };
    let mut wrong = Vec::new();
    let mut rule = |broken: bool, words: String| {
        if broken {
            wrong.push(words);
        }
    };
    // The whole is never better than a part: neither an instance, nor the picture of it.
    for instance in &instances {
        let cluster = instance["metadata"]["namespace"].as_str().unwrap_or_default();
        let is_ready = says(instance, "Ready", "True");
        let is_stalled = says(instance, "Stalled", "True");
        let one = why(
            &hub(&world),
            settings(facts.words),
            "hello",
            Some(cluster),
            world.now,
        );
        let one = one.expect("an answer");
        let seen = picture.clusters.iter().find(|one| one.name == cluster);
        let seen = seen.expect("the picture has every cluster");
        let is_shown_well = seen.healthy && seen.state == insight::cockpit::ClusterState::Done;
        let is_unregistered = says(instance, "RegistrationApplied", "False");
        rule(
            is_ready && is_unregistered,
            format!("{cluster} is ready without its registration"),
        );
        rule(!is_ready && one.is_ready(), format!("why calls {cluster} ready"));
        rule(is_stalled && one.is_well(), format!("why ends well on {cluster}"));
        rule(
            !is_ready && is_shown_well,
            format!("{cluster} is shown as done and healthy"),
        );
    }
    let stated = conditions(object);
    Row {
        facts: shown(facts),
        placement_missing: facts.place == Place::Deleted,
        offline: facts.second == Second::Offline,
        unwell: instances
            .iter()
            .any(|one| says(one, "RegistrationApplied", "False") || says(one, "Stalled", "True")),
        wrong,
        tools: tools(&picture, object, fleet(&world), answer.is_well()),
        conditions: stated,
    }
}

fn shown(facts: Facts) -> String {
    let Facts {
        words,
        registration,
        second,
        place,
        when,
        change,
        grace_is_over,
    } = facts;
    let change = change.map_or_else(String::new, |change| format!(", change {change}"));
    let grace = if grace_is_over { ", 11 s later" } else { "" };
    format!(
        "{words}: registration {registration:?}, second cluster {second:?}, placement {place:?}, {when:?}{change}{grace}"
    )
}

/// A role without the label: the agent has no rights, and nothing that sums the add-on up is green.
#[test]
fn an_add_on_whose_permissions_are_refused_is_not_ready() {
    let facts = Facts {
        words: "tidegate",
        registration: Registration::Refused,
        second: Second::Fine,
        place: Place::There,
        when: When::AtOnce,
        change: None,
        grace_is_over: true,
    };
    let world = made(facts);
    let instance = &world.objects[&ObjectKey::new(Kind::Instance, "c1", "hello")];
    let condition = |object: &Value, kind: &str| {
        let all = object["status"]["conditions"].as_array().expect("conditions");
        all.iter().find(|one| one["type"] == kind).cloned().expect(kind)
    };
    let registration = condition(instance, "RegistrationApplied");
    let ready = condition(instance, "Ready");
    assert_eq!(
        (&ready["status"], &ready["reason"], &ready["message"]),
        (&json!("False"), &registration["reason"], &registration["message"])
    );
    assert_eq!(condition(instance, "Stalled")["status"], "True");
    let addon = &world.objects[&ObjectKey::new(Kind::AddOn, "", "hello")];
    assert_eq!(condition(addon, "Ready")["reason"], "ClustersStalled");
    let answer = why(&hub(&world), Settings::default(), "hello", Some("c1"), world.now);
    let text = insight::why::text(&answer.expect("an answer"), true, Listing::Whole);
    assert!(text.contains("why/not-registered"), "{text}");
    assert!(text.contains("reader"), "{text}");
}

/// The roles may come after the template, as the placement may: tools that apply one object after the other give up at `Stalled`.
#[test]
fn permissions_that_may_still_arrive_are_waited_for() {
    let facts = Facts {
        words: "tidegate",
        registration: Registration::Refused,
        second: Second::Fine,
        place: Place::There,
        when: When::AtOnce,
        change: None,
        grace_is_over: false,
    };
    let mut world = made(facts);
    let key = ObjectKey::new(Kind::AddOn, "", "hello");
    let is_true = |world: &World, kind: &str| {
        let all = world.objects[&key]["status"]["conditions"].as_array();
        all.expect("conditions")
            .iter()
            .any(|one| one["type"] == kind && one["status"] == "True")
    };
    assert!(is_true(&world, "Reconciling"));
    put_role(&mut world, true);
    world.settle("hello");
    assert!(is_true(&world, "Ready"));
}

/// Where the ClusterManagementAddOn keeps no conditions, the roll-up has the time from which a missing placement is waited for.
#[test]
fn a_missing_placement_is_stalled_on_a_hub_that_keeps_no_conditions() {
    let facts = Facts {
        words: "tidegate",
        registration: Registration::None,
        second: Second::Fine,
        place: Place::There,
        when: When::AtOnce,
        change: None,
        grace_is_over: false,
    };
    let mut world = made(facts);
    let addon = ObjectKey::new(Kind::AddOn, "", "hello");
    let rolled = ObjectKey::new(Kind::Rollout, "", "hello");
    let own = Settings {
        roll_ups: store::RollUps::InOwnKind,
        ..Settings::default()
    };
    let mut store = store::Store::new(own);
    for kind in Kind::ALL {
        let all = world.objects.iter().filter(|(key, _)| key.kind == kind);
        let objects = all.map(|(_, object)| object.clone()).collect();
        store.apply(store::Event::Listed { kind, objects });
    }
    world.store = store;
    world.memos.borrow_mut().clear();
    change_placement(&mut world, Place::Deleted);
    let go = |world: &mut World| {
        for _ in 0..4 {
            let plan = world.plan("hello");
            world.apply(&plan);
            // The definition has no such field: the API server drops it.
            world.put_status(&addon, &json!({"conditions": null}));
        }
    };
    go(&mut world);
    let reason = |world: &World, kind: &str| {
        let all = world.objects[&rolled]["status"]["conditions"].as_array();
        let all = all.expect("conditions").iter();
        let mut own = all.filter(|one| one["type"] == kind && one["status"] == "True");
        own.next().map(|one| one["reason"].clone())
    };
    assert_eq!(reason(&world, "Reconciling"), Some(json!("PlacementNotFound")));
    world.tick(SignedDuration::from_secs(11));
    go(&mut world);
    assert_eq!(reason(&world, "Stalled"), Some(json!("PlacementNotFound")));
}
