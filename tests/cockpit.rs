//! What the cockpit shows of a hub that is a heap of objects, and what its verbs would write there.
//!
//! One add-on over two placements and one upgrade of twelve clusters. Rollouts that go on are told in the plan scripts, which also hold
//! the picture against the plan.

use cockpit::{
    ClusterState, Form, Line, Phase, Picture, Rollouts, Steer, Stopwatch, Target, Verb, Writing, addon, list,
    status, steer, upgrade,
};
use jiff::Timestamp;
use offline::Hub;
use serde_json::{Value, json};
use snapshot::{Kind, ObjectKey, Settings, Store};

const ADDON: &str = "addon.open-cluster-management.io/v1alpha1";
const CLUSTER: &str = "cluster.open-cluster-management.io";
const GROUP: &str = "addon.open-cluster-management.io";

fn now() -> Timestamp {
    "2030-01-01T00:00:00Z".parse().expect("a time")
}

fn config(name: &str) -> Value {
    json!({"apiVersion": ADDON, "kind": "AddOnDeploymentConfig", "metadata": {"name": name, "namespace": "default"},
        "spec": {"customizedVariables": [{"name": "A", "value": name}]}})
}

fn reference(name: &str) -> Value {
    json!({"group": GROUP, "resource": "addondeploymentconfigs", "namespace": "default", "name": name})
}

/// An add-on whose clusters are to run `new`, and of which `good` was last known to be good.
fn hello(annotations: &Value, good: &str) -> Value {
    let progression = |name: &str| {
        json!({"namespace": "default", "name": name, "configReferences": [{"group": GROUP,
            "resource": "addondeploymentconfigs", "desiredConfig": {"namespace": "default", "name": "new", "specHash": "2"},
            "lastKnownGoodConfig": {"namespace": "default", "name": good, "specHash": "1"}}]})
    };
    json!({"apiVersion": ADDON, "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello", "uid": "a", "resourceVersion": "7", "generation": 1, "annotations": annotations},
        "spec": {"supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs"}],
            "installStrategy": {"type": "Placements", "placements": [
                {"namespace": "default", "name": "all", "configs": [reference("new")]},
                {"namespace": "default", "name": "edge", "configs": [reference("new")]}]}},
        "status": {"installProgressions": [progression("all"), progression("edge")]}})
}

fn upgrade_of(suspend: bool) -> Value {
    json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "ManagedClustersUpgrade",
        "metadata": {"name": "to-4-12", "namespace": "default", "uid": "u", "resourceVersion": "3", "generation": 1,
            "finalizers": ["cluster.open-cluster-management.io/mcu-works"]},
        "spec": {"clusterSelector": {"clusterSets": ["default"]}, "clusterVersion": {"version": "4.12.0"}, "suspend": suspend,
            "upgradeStrategy": {"maxConcurrency": 3, "canaryClusters": {"clusterSelector": {"matchExpressions": [
                {"key": "name", "operator": "In", "values": ["c1"]}]}}}}})
}

fn cluster(number: usize) -> Value {
    json!({"apiVersion": format!("{CLUSTER}/v1"), "kind": "ManagedCluster", "metadata": {"name": format!("c{number}"),
            "labels": {"cluster.open-cluster-management.io/clusterset": "default", "clusterID": format!("id-{number}"),
                "openshiftVersion": "4.11.9"}},
        "spec": {"hubAcceptsClient": true},
        "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "Said",
            "message": "", "lastTransitionTime": "2029-01-01T00:00:00Z"}]}})
}

struct Scene {
    hub: Hub,
    store: Store,
}

fn scene(objects: &[Value]) -> Scene {
    let mut hub = Hub::default();
    let set = json!({"apiVersion": format!("{CLUSTER}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "default"}});
    let bound = json!({"apiVersion": format!("{CLUSTER}/v1beta2"), "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterSet": "default"}});
    for object in objects
        .iter()
        .chain([&set, &bound])
        .cloned()
        .chain((1..=12).map(cluster))
    {
        assert!(hub.put(object.clone()).is_some(), "{object}");
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    let store = hub.store(Settings::default());
    Scene { hub, store }
}

impl Scene {
    fn picture(&self, target: &Target) -> Picture {
        let found = match target.namespace.as_str() {
            "" => addon(&self.store, &target.name, &Stopwatch::default(), now()),
            _ => upgrade(&self.store, target, now()),
        };
        found.expect("it is there")
    }

    fn steer(&self, target: &Target, verb: &Verb) -> Result<Writing, String> {
        let kind = if target.namespace.is_empty() {
            Kind::AddOn
        } else {
            Kind::Upgrade
        };
        let key = ObjectKey::new(kind, target.namespace.as_str(), target.name.as_str());
        let ask = Steer {
            verb,
            object: self.hub.object(&key).expect("it is there"),
            picture: &self.picture(target),
            store: &self.store,
            reason: None,
        };
        steer(ask, now()).map_err(|refusal| refusal.to_string())
    }
}

fn hub_with_addon(annotations: &Value, good: &str) -> Scene {
    scene(&[hello(annotations, good), config("old"), config("new")])
}

fn page(picture: &Picture) -> String {
    let texts: Vec<String> = status(picture, 100, now()).iter().map(Line::text).collect();
    let lines: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
    format!("{}\n", lines.join("\n"))
}

#[test]
fn an_upgrade_is_shown_in_two_waves_in_the_order_in_which_people_count() {
    let scene = scene(&[upgrade_of(false)]);
    let target = Target::upgrade("default", "to-4-12");
    let picture = scene.picture(&target);
    expect_test::expect![[r"
        mcu/default/to-4-12  PROGRESSING  wave 1/5  0 of 12 done · 1 on the way · 11 waiting
          change  OpenShift 4.12.0
          over    in about 5h (nothing was seen of how long a cluster takes; 1h are assumed of each)
        ├─ clusters that go first ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 0/1 · mandatory · deadline 3h
        │     on the way c1
        └─ the other clusters     ░░░░░░░░░░░░░░░░░░░░ 0/11 · waits · batch 1 of 4 · 3 at once · deadline 3…
              waiting    c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12
                         the clusters that go first are not done
    "]]
    .assert_eq(&page(&picture));
    let lines = list(&[picture], 60, now());
    assert!(lines.iter().all(|line| line.width() <= 60));
    assert_eq!(Rollouts::of(&scene.store).0, [target]);
}

#[test]
fn an_upgrade_is_suspended_and_never_put_back() {
    let target = Target::upgrade("default", "to-4-12");
    let (goes, rests) = (scene(&[upgrade_of(false)]), scene(&[upgrade_of(true)]));
    assert_eq!(rests.picture(&target).phase, Phase::Paused);
    let written = goes.steer(&target, &Verb::Pause(None)).expect("it makes sense");
    assert_eq!(
        (&written.body["spec"], written.form),
        (&json!({"suspend": true}), Form::Apply)
    );
    assert_eq!(
        written.body["metadata"],
        json!({"name": "to-4-12", "namespace": "default"})
    );
    let resumed = rests.steer(&target, &Verb::Resume(None)).expect("it makes sense");
    assert_eq!(resumed.body["spec"], json!({"suspend": false}));
    let why = "cannot pause mcu/default/to-4-12: it is suspended already";
    assert_eq!(
        rests.steer(&target, &Verb::Pause(None)).map(drop),
        Err(why.to_owned())
    );
    for (verb, why) in [
        (Verb::Retry, "no cluster has failed"),
        (Verb::Undo, "a cluster of OpenShift cannot go back"),
        (Verb::Promote(None), "has no soak"),
        (Verb::Pause(Some("all".to_owned())), "paused as a whole"),
    ] {
        let refused = goes
            .steer(&target, &verb)
            .map(drop)
            .expect_err("it makes no sense");
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn pauses_of_placements_add_up_and_are_taken_away_one_by_one() {
    let target = Target::addon("hello");
    let annotation = |text: &str| json!({"tidegate.io/paused": text});
    let value = |writing: Writing| writing.body["metadata"]["annotations"]["tidegate.io/paused"].clone();
    let edge = || Some("edge".to_owned());
    let one = hub_with_addon(&annotation("default/all"), "old");
    let both = one.steer(&target, &Verb::Pause(edge())).expect("it makes sense");
    assert_eq!(value(both), "default/all,default/edge");
    let both = hub_with_addon(&annotation("default/all, default/edge"), "old");
    let left = both
        .steer(&target, &Verb::Resume(edge()))
        .expect("it makes sense");
    assert_eq!((left.form, value(left)), (Form::Apply, json!("default/all")));
    let none = one.steer(&target, &Verb::Resume(None)).expect("it makes sense");
    assert_eq!((none.form, value(none)), (Form::Merge, Value::Null));
    let rows = [
        (Verb::Resume(edge()), "placement default/edge is not paused"),
        (Verb::Pause(Some("al".to_owned())), "it has no placement \"al\""),
        (Verb::Promote(None), "no cluster soaks"),
        (Verb::Retry, "try again by themselves"),
    ];
    for (verb, why) in rows {
        let refused = one
            .steer(&target, &verb)
            .map(drop)
            .expect_err("it makes no sense");
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn undo_puts_every_place_back_that_names_the_new_object() {
    let target = Target::addon("hello");
    let scene = hub_with_addon(&json!({}), "old");
    let picture = scene.picture(&target);
    assert_eq!((picture.phase, picture.changes.len()), (Phase::Empty, 2));
    let written = scene.steer(&target, &Verb::Undo).expect("it makes sense");
    let placement = |name: &str| json!({"namespace": "default", "name": name, "configs": [reference("old")]});
    let expected = json!({"installStrategy": {"placements": [placement("all"), placement("edge")]}});
    assert_eq!(written.body["spec"], expected);
    assert_eq!(
        written.note.as_deref().map(|note| note.contains("other content")),
        Some(true)
    );
    let rows = [
        ("new", "was edited in place"),
        ("gone", "does not exist any more"),
    ];
    for (good, why) in rows {
        let scene = hub_with_addon(&json!({}), good);
        let refused = scene
            .steer(&target, &Verb::Undo)
            .map(drop)
            .expect_err("there is no way back");
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn an_add_on_that_goes_or_is_somebody_elses_is_not_steered() {
    let target = Target::addon("hello");
    let lifecycle = json!({"addon.open-cluster-management.io/lifecycle": "self"});
    let scene = hub_with_addon(&lifecycle, "old");
    assert_eq!(scene.picture(&target).phase, Phase::NotManaged);
    let refused = scene
        .steer(&target, &Verb::Pause(None))
        .map(drop)
        .expect_err("nobody obeys");
    assert!(refused.contains("not managed here"), "{refused}");
    assert!(!ClusterState::Done.is_trouble() && ClusterState::Failed.is_trouble());
}

#[test]
fn what_was_undone_has_stopped_and_can_be_tried_again() {
    let content = |name: &str, hash: u8| format!("addondeploymentconfigs.{GROUP}/default/{name} {hash}");
    let said = |kind: &str, message: String| {
        json!({"type": kind, "status": "True", "reason": "TooManyFailures", "message": message,
            "lastTransitionTime": "2029-12-31T23:00:00Z"})
    };
    let mut object = hello(
        &json!({"tidegate.io/retried": "default/edge=2020-01-01T00:00:00Z"}),
        "old",
    );
    let failed = format!("{}: 1 failed or late, 0 may; c1 (failed)", content("new", 2));
    object["status"]["installProgressions"][0]["conditions"] =
        json!([said("KnownGood", content("old", 1)), said("Undone", failed)]);
    let placement = json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "all", "namespace": "default"}, "spec": {}, "status": {"numberOfSelectedClusters": 1}});
    let decision = json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
        "metadata": {"name": "all-1", "namespace": "default", "labels": {format!("{CLUSTER}/placement"): "all"}},
        "status": {"decisions": [{"clusterName": "c1", "reason": ""}]}});
    let scene = scene(&[object, config("old"), config("new"), placement, decision]);
    let target = Target::addon("hello");
    let picture = scene.picture(&target);
    let told: Vec<(&str, &str)> = picture
        .undone
        .iter()
        .map(|one| (one.placement.as_str(), one.reason))
        .collect();
    assert_eq!(
        (picture.phase, told),
        (Phase::Stopped, vec![("default/all", "RollingBack")])
    );
    let again = scene.steer(&target, &Verb::Retry).expect("it makes sense");
    assert_eq!(
        again.body["metadata"]["annotations"]["tidegate.io/retried"],
        json!("default/edge=2020-01-01T00:00:00Z,default/all=2029-12-31T23:00:01Z")
    );
}
