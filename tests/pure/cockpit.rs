//! What the TUI shows of a hub in memory, and what its verbs would write.
//!
//! One add-on over two placements and one upgrade of twelve clusters. The plan scripts have rollouts in progress, and compare the picture
//! with the plan.

use crate::kit::approvals::approval;
use insight::cockpit::{
    Approve, ClusterState, Decision, Form, Line, Phase, Picture, Rollouts, Steer, SteerClient, Stopwatch,
    Target, Verb, WHOLE, WaveState, Writing, addon, list, status, steer, upgrade,
};
use insight::offline::Hub;
use insight::why::why_upgrade;
use jiff::Timestamp;
use serde_json::{Value, json};
use store::{Kind, ObjectKey, Settings, Store};

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
        let settings = ObjectKey::new(Kind::Rollout, "", target.name.as_str());
        let ask = Steer {
            verb,
            object: self.hub.object(&key).expect("it is there"),
            settings: self.hub.object(&settings).map_or(&Value::Null, |object| object),
            picture: &self.picture(target),
            store: &self.store,
            reason: None,
            user: None,
            client: SteerClient::CommandLine,
        };
        steer(ask, now()).map_err(|refusal| refusal.to_string())
    }
}

/// An AddOnRollout of the add-on.
fn settings(spec: &Value) -> Value {
    json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout",
        "metadata": {"name": "hello", "uid": "s", "resourceVersion": "1"}, "spec": spec})
}

fn hub_with_settings(spec: &Value) -> Scene {
    scene(&[
        hello(&json!({}), "old"),
        config("old"),
        config("new"),
        settings(spec),
    ])
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
        mcu/default/to-4-12  PROGRESSING  wave 1/5  0 of 12 done · 1 updating · 11 waiting
          health  Progressing
          change  OpenShift 4.12.0
          ETA     in about 5h (no cluster upgrade has completed yet; each is assumed to take 1h)
        ├─ canary clusters    ▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒▒ 0/1 · ETA 1h · mandatory · deadline 3h
        │     updating   c1
        └─ the other clusters ░░░░░░░░░░░░░░░░░░░░ 0/11 · waiting · ETA 5h · batch 1 of 4 · 3 at once · …
              waiting    c2, c3, c4, c5, c6, c7, c8, c9, c10, c11, c12
                         the canary clusters are not complete (spec.upgradeStrategy.canaryClusters)
    "]]
    .assert_eq(&page(&picture));
    let whole: String = status(&picture, WHOLE, now())
        .iter()
        .map(|line| line.text() + "\n")
        .collect();
    assert!(
        !whole.contains('…') && whole.contains("3 at once · deadline 3h"),
        "{whole}"
    );
    let lines = list(&[picture], 60, false, now());
    assert!(lines.iter().all(|line| line.width() <= 60));
    assert_eq!(Rollouts::of(&scene.store).0, [target]);
}

#[test]
fn a_forecast_does_not_claim_an_end_while_clusters_wait() {
    let mut object = upgrade_of(false);
    object["spec"]["upgradeStrategy"] = json!({"maxConcurrency": 12, "stages": [{"name": "test", "approval": true, "clusterSelector":
        {"matchExpressions": [{"key": "name", "operator": "In", "values": ["c1", "c2"]}]}}]});
    let scene = scene(&[object]);
    let plan = insight::forecast::upgrades(&scene.hub, Settings::default(), now());
    let plan = insight::forecast::upgrades_text(&plan, kubernetes::field::Listing::Whole);
    assert!(
        plan.contains("the end is not known: 12 clusters are waiting"),
        "{plan}"
    );
    assert!(!plan.contains("no cluster is left"), "{plan}");
}

#[test]
fn clusters_whose_post_upgrade_action_runs_are_not_counted_as_updating() {
    let mut object = upgrade_of(false);
    object["spec"]["upgradeStrategy"] = json!({"maxConcurrency": 3});
    object["spec"]["postUpgradeAction"] = json!({"timeout": "30m", "manifestWork": {"workload": {"manifests": [{"apiVersion": "batch/v1", "kind": "Job",
        "metadata": {"name": "after", "namespace": "default"}, "spec": {"template": {"spec": {"restartPolicy": "Never",
            "containers": [{"name": "after", "image": "after"}]}}}}]}}});
    let first = scene(&[object.clone()]);
    let owner = first.store.upgrades().next().expect("an upgrade");
    let view = first.store.upgrade_view(&owner).expect("an upgrade");
    let status = plan::upgrade::plan(&view, now()).status.expect("a status");
    object["status"] = serde_json::to_value(status).expect("JSON");
    let complete = |name: &str| {
        json!({"name": name, "state": "Complete", "phase": "PostAction", "startedAt": "2029-12-31T23:00:00Z",
            "finishedAt": "2029-12-31T23:50:00Z"})
    };
    object["status"]["clusters"] = json!([complete("c1"), complete("c2"), complete("c3")]);
    let picture = scene(&[object]).picture(&Target::upgrade("default", "to-4-12"));
    assert_eq!((picture.counts.finishing, picture.counts.moving), (3, 3));
    assert!(
        page(&picture).contains("finishing  c1 (post-upgrade action, deadline in 20m"),
        "{}",
        page(&picture)
    );
}

#[test]
fn a_stage_that_soaks_is_not_shown_as_done() {
    let mut object = upgrade_of(false);
    object["spec"]["upgradeStrategy"] = json!({"stages": [{"name": "test", "minSuccessTime": "1h", "clusterSelector":
        {"matchExpressions": [{"key": "name", "operator": "In", "values": ["c1", "c2"]}]}}]});
    let first = scene(&[object.clone()]);
    let owner = first.store.upgrades().next().expect("an upgrade");
    let view = first.store.upgrade_view(&owner).expect("an upgrade");
    let status = plan::upgrade::plan(&view, now()).status.expect("a status");
    object["status"] = serde_json::to_value(status).expect("JSON");
    let done = |name: &str| {
        json!({"name": name, "stage": "test", "state": "Complete", "phase": "Done", "startedAt": "2029-12-31T23:00:00Z",
            "finishedAt": "2029-12-31T23:50:00Z"})
    };
    object["status"]["clusters"] = json!([done("c1"), done("c2")]);
    let picture = scene(&[object]).picture(&Target::upgrade("default", "to-4-12"));
    let waves: Vec<_> = picture
        .waves
        .iter()
        .map(|wave| (wave.name.as_str(), wave.state, wave.counts.soaking))
        .collect();
    assert_eq!(
        waves,
        [
            ("stage test", WaveState::Open, 2),
            ("the other clusters", WaveState::Waiting, 0)
        ]
    );
    assert_eq!(picture.phase, Phase::Progressing);
}

#[test]
fn every_view_names_the_stage_that_a_cluster_waits_for() {
    let named =
        |names: &[&str]| json!({"matchExpressions": [{"key": "name", "operator": "In", "values": names}]});
    let mut object = upgrade_of(false);
    object["spec"]["upgradeStrategy"] = json!({"maxConcurrency": 3, "stages": [
        {"name": "test", "clusterSelector": named(&["c1", "c2"])},
        {"name": "prod", "clusterSelector": named(&["c2", "c3", "c4"]), "maxConcurrency": 1, "minSuccessTime": "1h"}]});
    let scene = scene(&[object]);
    let picture = scene.picture(&Target::upgrade("default", "to-4-12"));
    let waves: Vec<&str> = picture.waves.iter().map(|wave| wave.name.as_str()).collect();
    assert_eq!(waves, ["stage test", "stage prod", "the other clusters"]);
    let ends = picture.waves.iter().map(|wave| wave.eta.map(|eta| eta.at));
    let ends: Vec<Timestamp> = ends.collect::<Option<_>>().expect("each wave has an end");
    assert!(
        ends.is_sorted() && ends[0] < ends[1] && ends[1] < ends[2],
        "{ends:?}"
    );
    assert_eq!(
        picture.eta.as_ref().map(|eta| eta.at),
        ends.last().copied(),
        "the upgrade ends with its last wave"
    );
    let shown = picture
        .clusters
        .iter()
        .find(|cluster| cluster.name == "c3")
        .expect("it");
    assert_eq!(shown.reason, "WaitingForStage");
    assert_eq!(shown.message, "the clusters of stage \"test\" are not complete");
    let why = insight::why::why_upgrade(&scene.hub, Settings::default(), "to-4-12", Some("c3"), now());
    let groups = why.expect("an answer").groups;
    assert_eq!(
        (&groups[0].reason, &groups[0].detail),
        (&shown.reason, &shown.message)
    );
    let plan = insight::forecast::upgrades(&scene.hub, Settings::default(), now());
    let plan = insight::forecast::upgrades_text(&plan, kubernetes::field::Listing::Whole);
    for wave in [
        "at once      upgrade  stage test: c1 c2",
        "upgrade  stage prod: c3",
        "upgrade  c5 c6 c7",
    ] {
        assert!(plan.contains(wave), "{plan}");
    }
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
        (Verb::Undo, "an OpenShift cluster cannot be downgraded"),
        (Verb::Promote(None), "only rollouts of add-ons can be promoted"),
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
fn a_freeze_without_an_end_needs_a_user() {
    let why = |spec: Value| {
        let freeze = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutFreeze",
            "metadata": {"name": "holidays", "uid": "f", "resourceVersion": "1"}, "spec": spec});
        let scene = scene(&[upgrade_of(false), freeze]);
        let name = "default/to-4-12";
        why_upgrade(&scene.hub, Settings::default(), name, Some("c1"), now())
            .expect("it includes the cluster")
    };
    let ends = why(json!({"reason": "year end", "until": "2030-01-02T00:00:00Z"}));
    assert!(ends.is_well(), "{ends:?}");
    let endless = why(json!({"reason": "year end"}));
    assert!(!endless.is_well(), "{endless:?}");
    let group = endless.groups.first().expect("what stops it");
    assert_eq!(group.command, "tidegate rollout unfreeze holidays");
    assert_eq!(
        group.detail,
        "the RolloutFreeze \"holidays\" stops upgrades and has no end: year end"
    );
    let invalid = why(json!({"reason": "year end", "until": "soon"}));
    assert!(!invalid.is_well(), "{invalid:?}");
}

#[test]
fn pauses_of_placements_add_up_and_are_taken_away_one_by_one() {
    let target = Target::addon("hello");
    let paused = |name: &str| json!({"namespace": "default", "name": name, "pause": {}});
    let edge = || Some("edge".to_owned());
    let one = hub_with_settings(&json!({"placements": [paused("all")]}));
    let both = one.steer(&target, &Verb::Pause(edge())).expect("it makes sense");
    let expected = json!({"placements": [paused("all"), paused("edge")]});
    assert_eq!((both.form, &both.body["spec"]), (Form::Merge, &expected));
    let both = hub_with_settings(&expected);
    let left = both
        .steer(&target, &Verb::Resume(edge()))
        .expect("it makes sense");
    assert_eq!(left.body["spec"], json!({"placements": [paused("all")]}));
    let none = one.steer(&target, &Verb::Resume(None)).expect("it makes sense");
    assert_eq!(
        (none.form, &none.body["spec"]),
        (Form::Merge, &json!({"placements": []}))
    );
    let everything = hub_with_settings(&json!({"pause": {"reason": "lunch"}}));
    let goes = everything
        .steer(&target, &Verb::Resume(None))
        .expect("it makes sense");
    assert_eq!(goes.body["spec"], json!({"pause": null}));
    assert!(page(&everything.picture(&target)).contains("all placements are paused (lunch)"));
    let first = hub_with_addon(&json!({}), "old");
    let first = first.steer(&target, &Verb::Pause(None)).expect("it makes sense");
    assert_eq!(
        (first.form, &first.body["spec"]),
        (Form::Create, &json!({"addon": "hello", "pause": {}}))
    );
    let rows = [
        (Verb::Resume(edge()), "placement default/edge is not paused"),
        (Verb::Pause(Some("al".to_owned())), "it has no placement \"al\""),
        (Verb::Promote(None), "no cluster is in its soak time"),
        (Verb::Retry, "retry automatically"),
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
fn a_verb_without_effect_during_a_pause_names_the_command_that_ends_it() {
    let target = Target::addon("hello");
    let paused = hub_with_settings(&json!({"pause": {"reason": "lunch"}}));
    let undo = paused.steer(&target, &Verb::Undo).expect("it makes sense");
    let note = undo.note.unwrap_or_default();
    assert!(
        note.ends_with("all placements are paused (lunch); to continue, run `tidegate rollout resume hello`"),
        "{note}"
    );
    let resume = paused
        .steer(&target, &Verb::Resume(None))
        .expect("it makes sense");
    assert_eq!(resume.note, None);
}

#[test]
fn a_list_says_what_a_rollout_without_waiting_clusters_waits_for() {
    let picture = hub_with_addon(&json!({}), "old").picture(&Target::addon("hello"));
    let reason = picture.health.reason.clone();
    assert_eq!((picture.phase, picture.counts.waiting), (Phase::Waiting, 0));
    assert!(
        page(&picture).contains(&format!("  waiting {reason}: ")),
        "{}",
        page(&picture)
    );
    let wide: Vec<String> = list(&[picture], WHOLE, true, now())
        .iter()
        .map(Line::text)
        .collect();
    let [title, row] = wide.as_slice() else {
        panic!("{wide:?}");
    };
    assert!(title.ends_with("MESSAGE"), "{title}");
    let (before, message) = row.split_at(title.chars().count() - "MESSAGE".len());
    assert!(
        before.contains(&reason) && !message.starts_with(' '),
        "{title}\n{row}"
    );
}

#[test]
fn a_list_says_which_freeze_a_rollout_waits_for() {
    let freeze = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutFreeze",
        "metadata": {"name": "holiday", "uid": "f", "resourceVersion": "1"}, "spec": {"reason": "end of the year"}});
    let picture = hub_with_change(&json!({}), &freeze).picture(&Target::addon("hello"));
    assert_eq!((picture.phase, picture.counts.waiting), (Phase::Waiting, 2));
    let message = |picture: Picture| list(&[picture], WHOLE, true, now())[1].text();
    let short = picture.without_clusters();
    assert!(
        message(picture.clone()).contains("end of the year"),
        "{}",
        message(picture)
    );
    assert!(
        message(short.clone()).contains("RolloutFrozen"),
        "{}",
        message(short)
    );
}

#[test]
fn undo_puts_every_place_back_that_names_the_new_object() {
    let target = Target::addon("hello");
    let scene = hub_with_addon(&json!({}), "old");
    let picture = scene.picture(&target);
    assert_eq!((picture.phase, picture.changes.len()), (Phase::Waiting, 2));
    let written = scene.steer(&target, &Verb::Undo).expect("it makes sense");
    let placement = |name: &str| json!({"namespace": "default", "name": name, "configs": [reference("old")]});
    let expected = json!({"installStrategy": {"placements": [placement("all"), placement("edge")]}});
    assert_eq!(written.body["spec"], expected);
    assert_eq!(
        written
            .note
            .as_deref()
            .map(|note| note.contains("differs from its last known good")),
        Some(true)
    );
    let rows = [("new", "was edited in place"), ("gone", "no longer exists")];
    for (good, why) in rows {
        let scene = hub_with_addon(&json!({}), good);
        let refused = scene
            .steer(&target, &Verb::Undo)
            .map(drop)
            .expect_err("there is no way back");
        assert!(refused.contains(why), "{refused}");
    }
}

/// An add-on whose placements have `new` as its default, and of which each had another object before.
fn hub_with_default(goods: [&str; 2]) -> Scene {
    let mut addon = hello(&json!({}), "old");
    let named = json!({"namespace": "default", "name": "new"});
    addon["spec"]["supportedConfigs"][0]["defaultConfig"] = named;
    for (at, good) in goods.into_iter().enumerate() {
        let placement = addon["spec"]["installStrategy"]["placements"][at].as_object_mut();
        placement.expect("a placement").remove("configs");
        let progression = &mut addon["status"]["installProgressions"][at];
        progression["configReferences"][0]["lastKnownGoodConfig"]["name"] = json!(good);
    }
    scene(&[addon, config("old"), config("older"), config("new")])
}

#[test]
fn undo_changes_what_placements_share_only_where_all_of_them_go_back() {
    let target = Target::addon("hello");
    let own =
        |name: &str, good: &str| json!({"namespace": "default", "name": name, "configs": [reference(good)]});
    let default = json!({"group": GROUP, "resource": "addondeploymentconfigs",
        "defaultConfig": {"namespace": "default", "name": "old"}});
    let rows = [
        (["old", "old"], json!({"supportedConfigs": [default]})),
        (
            ["old", "new"],
            json!({"installStrategy": {"placements": [own("all", "old")]}}),
        ),
        (
            ["new", "old"],
            json!({"installStrategy": {"placements": [own("edge", "old")]}}),
        ),
        (
            ["old", "older"],
            json!({"installStrategy": {"placements": [own("all", "old"), own("edge", "older")]}}),
        ),
    ];
    for (goods, expected) in rows {
        let written = hub_with_default(goods).steer(&target, &Verb::Undo);
        let written = written.expect("it makes sense");
        assert_eq!(written.body["spec"], expected, "{goods:?}: {:?}", written.says);
    }
}

#[test]
fn an_earlier_undo_is_repeated_in_the_order_of_the_hub() {
    let target = Target::addon("hello");
    for (earlier, now) in [("all", 1), ("edge", 0)] {
        let mut addon = hello(&json!({}), "old");
        let key = format!("k:{{\"name\":\"{earlier}\",\"namespace\":\"default\"}}");
        let owned = json!({".": {}, "f:name": {}, "f:namespace": {}, "f:configs": {}});
        addon["metadata"]["managedFields"] = json!([{"manager": "tidegate-rollout-undo", "operation": "Apply",
            "apiVersion": ADDON, "fieldsV1": {"f:spec": {"f:installStrategy": {"f:placements": {key: owned}}}}}]);
        let placements = &mut addon["spec"]["installStrategy"]["placements"];
        placements[1 - now]["configs"] = json!([reference("kept")]);
        let progression = &mut addon["status"]["installProgressions"][1 - now];
        progression["configReferences"][0]["lastKnownGoodConfig"]["name"] = json!("kept");
        let scene = scene(&[addon, config("old"), config("new"), config("kept")]);
        let written = scene.steer(&target, &Verb::Undo).expect("it makes sense");
        let placements = &written.body["spec"]["installStrategy"]["placements"];
        let names: Vec<_> = placements
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| &one["name"])
            .collect();
        assert_eq!(names, ["all", "edge"], "{placements}");
        assert_eq!(placements[1 - now]["configs"][0]["name"], "kept", "{placements}");
        assert_eq!(placements[now]["configs"][0]["name"], "old", "{placements}");
    }
}

#[test]
fn verbs_do_not_change_a_deleting_or_foreign_add_on() {
    let target = Target::addon("hello");
    let lifecycle = json!({"addon.open-cluster-management.io/lifecycle": "self"});
    let scene = hub_with_addon(&lifecycle, "old");
    assert_eq!(scene.picture(&target).phase, Phase::NotManaged);
    let refused = scene
        .steer(&target, &Verb::Pause(None))
        .map(drop)
        .expect_err("the verb is rejected");
    assert!(refused.contains("does not manage it"), "{refused}");
    assert!(!ClusterState::Done.is_trouble() && ClusterState::Failed.is_trouble());
}

/// An add-on that is to bring `new` to the group `prod` of a placement, and waits there for an approval.
fn hub_that_asks(annotations: &Value) -> Scene {
    let asks = json!({"placements": [{"namespace": "default", "name": "all", "approvalBefore": ["prod"]}]});
    hub_with_change(annotations, &settings(&asks))
}

/// An add-on that is to bring `new` to a placement, and an object that keeps it from that.
fn hub_with_change(annotations: &Value, obstacle: &Value) -> Scene {
    let mut addon = hello(annotations, "old");
    let placements = addon.pointer_mut("/spec/installStrategy/placements");
    placements
        .and_then(Value::as_array_mut)
        .expect("a list")
        .truncate(1);
    let version = format!("{CLUSTER}/v1beta1");
    let placement = json!({"apiVersion": version, "kind": "Placement", "metadata": {"name": "all", "namespace": "default"},
        "spec": {}, "status": {"numberOfSelectedClusters": 2}});
    let labels = json!({format!("{CLUSTER}/placement"): "all", format!("{CLUSTER}/decision-group-name"): "prod",
        format!("{CLUSTER}/decision-group-index"): "0"});
    let decision = json!({"apiVersion": version, "kind": "PlacementDecision",
        "metadata": {"name": "all-decision-1", "namespace": "default", "labels": labels},
        "status": {"decisions": [{"clusterName": "c1", "reason": ""}, {"clusterName": "c2", "reason": ""}]}});
    let has = |cluster: &str| {
        let old = json!({"group": GROUP, "resource": "addondeploymentconfigs",
            "desiredConfig": {"namespace": "default", "name": "old", "specHash": "1"},
            "lastAppliedConfig": {"namespace": "default", "name": "old", "specHash": "1"}});
        json!({"apiVersion": ADDON, "kind": "ManagedClusterAddOn", "metadata": {"name": "hello", "namespace": cluster,
            "uid": cluster, "resourceVersion": "1"}, "spec": {}, "status": {"configReferences": [old]}})
    };
    scene(&[
        addon,
        obstacle.clone(),
        config("old"),
        config("new"),
        placement,
        decision,
        has("c1"),
        has("c2"),
    ])
}

#[test]
fn a_cluster_that_is_updating_has_the_reason_of_its_condition() {
    let mut scene = hub_with_change(&json!({}), &settings(&json!({})));
    let key = ObjectKey::new(Kind::Instance, "c2", "hello");
    let mut instance = Value::clone(scene.hub.object(&key).expect("it is there"));
    let message = "pod agent-0: ImagePullBackOff: the image cannot be pulled";
    instance["status"]["conditions"] = json!([{"type": "Available", "status": "False", "reason": "ProbeUnavailable",
        "message": message, "lastTransitionTime": "2029-12-31T23:59:00Z"}]);
    assert!(scene.hub.put(instance).is_some());
    scene.store = scene.hub.store(Settings::default());
    let picture = scene.picture(&Target::addon("hello"));
    let c2 = picture.clusters.iter().find(|one| one.name == "c2");
    let c2 = c2.expect("the cluster is selected");
    assert_eq!(
        (c2.state, c2.reason.as_str(), c2.message.as_str()),
        (ClusterState::Moving, "ProbeUnavailable", message)
    );
    let page = page(&picture);
    let (_, of_c2) = page.split_once("updating   c2").unwrap_or_default();
    assert!(of_c2.trim_start().starts_with(message), "{page}");
}

fn approve(placement: Option<&str>, group: Option<&str>, content: Option<&str>) -> Verb {
    let owned = |text: &str| text.to_owned();
    Verb::Approve(Approve {
        decision: Decision::Approve,
        placement: placement.map(owned),
        group: group.map(owned),
        contents: content.map(owned).into_iter().collect(),
    })
}

/// The same, where a content is approved.
fn hub_with_approval(content: &str) -> Scene {
    hub_with_decision("Approved", content)
}

fn hub_with_decision(result: &str, content: &str) -> Scene {
    let mut hub = hub_that_asks(&json!({})).hub;
    let mut object = approval("hello", "default/all", "prod", &[content], "2029-12-31T00:00:00Z");
    object["apiVersion"] = json!("tidegate.io/v1alpha1");
    object["kind"] = json!("RolloutApproval");
    object["spec"]["decision"]["result"] = json!(result);
    object["metadata"]["uid"] = json!("a");
    object["metadata"]["resourceVersion"] = json!("1");
    assert!(hub.put(object).is_some());
    let store = hub.store(Settings::default());
    Scene { hub, store }
}

/// Returns the hash of what waits.
fn asked(picture: &Picture) -> String {
    picture.approvals.first().expect("a group waits").hash.clone()
}

#[test]
fn a_pending_approval_is_reported_and_approved() {
    let target = Target::addon("hello");
    let asks = hub_that_asks(&json!({}));
    let picture = asks.picture(&target);
    assert_eq!((picture.phase, picture.eta.is_none()), (Phase::Unapproved, true));
    let hash = asked(&picture);
    let told = format!("default/all/prod: 2 clusters are waiting, content {hash}");
    assert!(page(&picture).contains(&told), "{}", page(&picture));
    for verb in [
        approve(None, None, None),
        approve(Some("all"), Some("prod"), Some(&hash)),
    ] {
        let written = asks.steer(&target, &verb).expect("it makes sense");
        assert_eq!(written.body["metadata"]["name"], "hello.default.all.prod");
        let decision = &written.body["spec"]["decision"];
        assert_eq!(
            (&decision["result"], &decision["content"]),
            (&json!("Approved"), &json!(hash))
        );
        assert_eq!((written.form, written.more.len()), (Form::Merge, 0));
    }
    let reject = Verb::Approve(Approve {
        decision: Decision::Reject,
        ..Approve::default()
    });
    let written = asks.steer(&target, &reject).expect("it makes sense");
    assert_eq!(written.body["spec"]["decision"]["result"], "Rejected");
    let rejected = hub_with_decision("Rejected", &hash).picture(&target);
    assert_eq!(rejected.phase, Phase::Stopped, "the hub says Stalled");
    let told = page(&rejected);
    assert!(
        told.contains("default/all/prod: rejected, 2 clusters do not start"),
        "{told}"
    );
    assert!(told.contains(" · stopped · rejected"), "{told}");
    assert!(!told.contains("waiting for approval"), "{told}");
    assert_eq!(rejected.health.unhealthy, 0, "their agents work");
    let given = hub_with_approval(&hash);
    assert!(given.picture(&target).approvals.is_empty());
}

#[test]
fn what_does_not_wait_or_is_another_content_is_not_approved() {
    let target = Target::addon("hello");
    let asks = hub_that_asks(&json!({}));
    let given = hub_with_approval(&asked(&asks.picture(&target)));
    let rows = [
        (
            &asks,
            approve(None, Some("canary"), None),
            "the groups waiting for approval are \"default/all/prod\"",
        ),
        (
            &asks,
            approve(None, None, Some("01234567")),
            "different content is waiting for approval now",
        ),
        (
            &asks,
            Verb::Promote(None),
            "the change is waiting for approval: tidegate rollout approve hello",
        ),
        (
            &given,
            approve(None, None, None),
            "no change is waiting for approval",
        ),
    ];
    for (scene, verb, why) in rows {
        let refused = scene
            .steer(&target, &verb)
            .map(drop)
            .expect_err("it makes no sense");
        assert!(refused.contains(why), "{refused}");
    }
}

#[test]
fn what_was_undone_has_stopped_and_can_be_tried_again() {
    let content = |name: &str, hash: u8| format!("addondeploymentconfigs.{GROUP}/default/{name} {hash}");
    let said = |kind: &str, message: String| {
        json!({"type": kind, "status": "True", "reason": "TooManyFailures", "message": message,
            "lastTransitionTime": "2029-12-31T23:00:00Z"})
    };
    let mut object = hello(&json!({}), "old");
    let edge = json!({"namespace": "default", "name": "edge", "retriedAt": "2020-01-01T00:00:00Z"});
    let edge = settings(&json!({"placements": [edge]}));
    let failed = format!(
        "{}: 1 cluster failed or timed out, and maxFailures allows 0. Clusters: c1 (failed)",
        content("new", 2)
    );
    object["status"]["installProgressions"][0]["conditions"] =
        json!([said("KnownGood", content("old", 1)), said("Undone", failed)]);
    let placement = json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "Placement",
        "metadata": {"name": "all", "namespace": "default"}, "spec": {}, "status": {"numberOfSelectedClusters": 1}});
    let decision = json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
        "metadata": {"name": "all-1", "namespace": "default", "labels": {format!("{CLUSTER}/placement"): "all"}},
        "status": {"decisions": [{"clusterName": "c1", "reason": ""}]}});
    let scene = scene(&[object, edge, config("old"), config("new"), placement, decision]);
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
        again.body["spec"]["placements"],
        json!([
            {"namespace": "default", "name": "edge", "retriedAt": "2020-01-01T00:00:00Z"},
            {"namespace": "default", "name": "all", "retriedAt": "2029-12-31T23:00:01Z"},
        ])
    );
}
