//! An object that the planner created and a tool has taken over belongs to the tool: its fields are not overwritten, and it is not
//! deleted.
//!
//! One cluster is the tool's, the other one stays the planner's and shows when the planner is done. `crates/store/src/decode/claims.rs`
//! decides which field managers are tools.

use serde_json::{Value, json};

use super::ADDON;
use super::scene::Scene;
use super::tools::{Argo, ArgoServerSide, Flux, Tool, Trial};
use crate::kit::waiting::eventually_or;

const GROUP: &str = "addon.open-cluster-management.io";
const VALUES: &str = "addon.open-cluster-management.io/values";
const VERSION: &str = "/spec/desiredVersion";

/// The add-on `hello`, whose placement gives a version to the clusters with a label.
fn addon(version: &str) -> Value {
    let placement =
        json!({"name": "front", "namespace": "default", "addonSpec": {"desiredVersion": version}});
    json!({"apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}, "spec": {
        "supportedConfigs": [{"group": GROUP, "resource": "addontemplates"}],
        "installStrategy": {"type": "Placements", "placements": [placement]}}})
}

fn template(version: &str) -> Value {
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "hello", "namespace": "default"},
        "data": {"version": version}});
    json!({"apiVersion": ADDON, "kind": "AddOnTemplate",
        "metadata": {"name": format!("hello-{version}"), "labels": {(format!("{GROUP}/version")): version}},
        "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [content]}}}})
}

fn cluster(name: &str, labels: &Value, annotations: &Value) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels, "annotations": annotations}})
}

/// The add-on of a cluster as Git says it.
fn wish(name: &str, annotations: &Value, spec: &Value) -> Value {
    json!({"apiVersion": ADDON, "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": name, "labels": {"team": "fruit"}, "annotations": annotations}, "spec": spec})
}

fn any(name: &str) -> Value {
    wish(name, &json!({}), &json!({}))
}

/// Everything but the add-on itself: it is for both clusters.
async fn prepared() -> Scene {
    let scene = Scene::start().await;
    for name in ["cluster1", "cluster2"] {
        let labels = json!({"metadata": {"labels": {"tier": "front"}, "annotations": {(VALUES): "{}"}}});
        scene.edit(&cluster(name, &json!({}), &json!({})), labels).await;
    }
    let selector = json!({"requiredClusterSelector": {"labelSelector": {"matchLabels": {"tier": "front"}}}});
    let placement = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "front", "namespace": "default"}, "spec": {"clusterSets": ["global"], "predicates": [selector]}});
    for object in [template("v1.0.0"), template("v2.0.0"), placement] {
        scene.create(&object).await;
    }
    scene
}

/// The planner has given the add-on to both clusters.
async fn planned() -> Scene {
    let scene = prepared().await;
    scene.create(&addon("v1.0.0")).await;
    for name in ["cluster1", "cluster2"] {
        comes(
            &scene,
            &any(name),
            "/metadata/annotations/tidegate.io~1given-version",
            "v1.0.0",
        )
        .await;
    }
    scene
}

/// Waits until an object says something.
async fn comes(scene: &Scene, manifest: &Value, pointer: &str, value: &str) {
    let what = format!("{pointer} is {value}");
    let seen = async || scene.there(manifest).await;
    eventually_or(&what, seen, async || {
        let live = scene.there(manifest).await;
        live.is_some_and(|live| live.pointer(pointer) == Some(&json!(value)))
    })
    .await;
}

/// Waits until the status of a cluster's add-on says whose it is; returns the message.
async fn adopted(scene: &Scene, name: &str, reason: &str) -> String {
    let told = async || -> Option<Value> {
        let live = scene.there(&any(name)).await?;
        let conditions = live.pointer("/status/conditions")?.as_array()?.clone();
        conditions.into_iter().find(|one| one["type"] == "Adopted")
    };
    eventually_or(&format!("Adopted says {reason}"), told, async || {
        told().await.is_some_and(|one| one["reason"] == reason)
    })
    .await;
    told().await.expect("it was there")["message"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Case a: the field that Git says equals what was given, and the placement moves on.
async fn keeps_its_version(tool: &dyn Tool) {
    let scene = planned().await;
    let manifest = wish("cluster1", &json!({}), &json!({"desiredVersion": "v1.0.0"}));
    scene.apply(tool, &manifest).await;
    adopted(&scene, "cluster1", "AppliedByOthers").await;
    scene.edit(&addon("v1.0.0"), addon("v2.0.0")).await;
    comes(&scene, &any("cluster2"), VERSION, "v2.0.0").await;
    // What the planner writes next would be the version.
    adopted(&scene, "cluster1", "AppliedByOthers").await;
    assert_eq!(
        scene.live(&manifest).await.pointer(VERSION),
        Some(&json!("v1.0.0"))
    );
    assert_eq!(scene.difference(tool, &manifest).await, None);
    scene.stop().await;
}

/// Without a version in Git the field stays the planner's, although a tool applies the rest.
async fn follows_where_git_is_silent(tool: &dyn Tool) {
    let scene = planned().await;
    let manifest = any("cluster1");
    scene.apply(tool, &manifest).await;
    adopted(&scene, "cluster1", "AppliedByOthers").await;
    scene.edit(&addon("v1.0.0"), addon("v2.0.0")).await;
    comes(&scene, &manifest, VERSION, "v2.0.0").await;
    assert_eq!(scene.difference(tool, &manifest).await, None);
    scene.stop().await;
}

/// Case b: the annotation that Git says equals the cluster's, and the cluster's changes.
async fn keeps_its_annotations(tool: &dyn Tool) {
    let scene = planned().await;
    let manifest = wish("cluster1", &json!({(VALUES): "{}"}), &json!({}));
    scene.apply(tool, &manifest).await;
    adopted(&scene, "cluster1", "AppliedByOthers").await;
    for name in ["cluster1", "cluster2"] {
        let changed = json!({"metadata": {"annotations": {(VALUES): "{\"a\":1}"}}});
        scene.edit(&cluster(name, &json!({}), &json!({})), changed).await;
    }
    let place = "/metadata/annotations/addon.open-cluster-management.io~1values";
    comes(&scene, &any("cluster2"), place, "{\"a\":1}").await;
    assert_eq!(scene.live(&manifest).await.pointer(place), Some(&json!("{}")));
    assert_eq!(scene.difference(tool, &manifest).await, None);
    scene.stop().await;
}

/// Case c, and what becomes of it when it goes out of Git.
async fn stays_when_nothing_selects_its_cluster(tool: &dyn Tool) {
    let scene = planned().await;
    let manifest = any("cluster1");
    scene.apply(tool, &manifest).await;
    adopted(&scene, "cluster1", "AppliedByOthers").await;
    let uid = scene.live(&manifest).await["metadata"]["uid"].clone();
    for name in ["cluster1", "cluster2"] {
        let moved = json!({"metadata": {"labels": {"tier": "back"}}});
        scene.edit(&cluster(name, &json!({}), &json!({})), moved).await;
    }
    let message = adopted(&scene, "cluster1", "NotSelected").await;
    assert!(
        message.contains("delete the ManagedClusterAddOn if it still exists"),
        "{message}"
    );
    // The planner's own goes: its time of grace has begun, or is over.
    eventually_or(
        "the other one goes",
        async || scene.there(&any("cluster2")).await,
        async || {
            let other = scene.there(&any("cluster2")).await;
            other.is_none_or(|other| {
                other
                    .pointer("/metadata/annotations/tidegate.io~1deselected-at")
                    .is_some()
            })
        },
    )
    .await;
    let live = scene.live(&manifest).await;
    assert_eq!(live["metadata"]["uid"], uid);
    assert_eq!(
        live.pointer("/metadata/annotations/tidegate.io~1deselected-at"),
        None
    );
    assert_eq!(scene.difference(tool, &manifest).await, None);

    // It has an owner, which programs of OCM's framework wait for: one tool takes it away, the other one never does.
    let pruned = scene.prune(tool, &manifest).await;
    assert_eq!(pruned, tool.prunes(&live), "{live:#}");
    if !pruned {
        // What the status says to do then.
        assert!(scene.there(&manifest).await.is_some());
        scene.delete(&manifest).await;
    }
    eventually_or(
        "it is deleted",
        async || scene.there(&manifest).await,
        async || scene.there(&manifest).await.is_none(),
    )
    .await;
    scene.stop().await;
}

/// Case d: everything comes in one sync, and the planner is as fast as the tool.
async fn wins_every_race(tool: &dyn Tool) {
    let scene = prepared().await;
    let manifests: Vec<Value> = ["cluster1", "cluster2"]
        .map(|name| {
            wish(
                name,
                &json!({(VALUES): "{\"git\":1}"}),
                &json!({"desiredVersion": "v1.0.0"}),
            )
        })
        .into();
    // The placement gives another version than Git has.
    scene.apply(tool, &addon("v2.0.0")).await;
    for manifest in &manifests {
        scene.sync(tool, manifest).await;
    }
    for manifest in &manifests {
        scene.settled(manifest).await;
        comes(&scene, manifest, "/metadata/ownerReferences/0/name", "hello").await;
    }
    for manifest in &manifests {
        assert_eq!(scene.difference(tool, manifest).await, None);
        assert_eq!(
            scene.live(manifest).await.pointer(VERSION),
            Some(&json!("v1.0.0"))
        );
    }
    scene.stop().await;
}

/// A wrong value in Git and a force mode: what was refused is not deleted first.
async fn a_forced_fault_deletes_nothing(tool: &dyn Tool) {
    let scene = planned().await;
    let before = scene.live(&addon("v1.0.0")).await["metadata"]["uid"].clone();
    let mut wrong = addon("v1.0.0");
    wrong["spec"]["installStrategy"]["placements"][0]["rolloutStrategy"] =
        json!({"type": "All", "all": {"minSuccessTime": "banana"}});
    assert_eq!(scene.forced(tool, &wrong).await, Trial::Refused);
    assert_eq!(scene.live(&addon("v1.0.0")).await["metadata"]["uid"], before);
    scene.stop().await;
}

/// An instance that is applied before its add-on gets the namespace of the placement, and that is no drift.
#[tokio::test(flavor = "multi_thread")]
async fn an_instance_before_its_add_on_gets_the_namespace_of_its_placement() {
    let scene = prepared().await;
    let tools: [(&str, &dyn Tool); 3] = [("csa", &ARGO), ("ssa", &ARGO_SERVER_SIDE), ("flux", &FLUX)];
    for (name, tool) in tools {
        let mut manifest = any("cluster1");
        manifest["metadata"]["name"] = json!(name);
        scene.apply(tool, &manifest).await;
        let place = "/spec/installNamespace";
        let before = scene.live(&manifest).await;
        assert_eq!(
            before.pointer(place),
            Some(&json!("open-cluster-management-agent-addon"))
        );
        let mut addon = addon("v1.0.0");
        addon["metadata"]["name"] = json!(name);
        addon["spec"]["installStrategy"]["placements"][0]["addonSpec"] =
            json!({"installNamespace": "placed-here"});
        scene.apply(tool, &addon).await;
        comes(&scene, &manifest, place, "placed-here").await;
        assert_eq!(scene.difference(tool, &manifest).await, None, "{name}");
        scene.apply(tool, &manifest).await;
        let live = scene.live(&manifest).await;
        assert_eq!(live.pointer(place), Some(&json!("placed-here")), "{name}");
    }
    scene.stop().await;
}

const ARGO: Argo = Argo;
const ARGO_SERVER_SIDE: ArgoServerSide = ArgoServerSide { with_webhooks: false };
const FLUX: Flux = Flux;

macro_rules! for_every_tool {
    ($($round:ident: $tool:ident;)+) => { $( mod $round {
        #[tokio::test(flavor = "multi_thread")]
        async fn a_version_that_git_has_taken_over_stays() {
            super::keeps_its_version(&super::$tool).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn what_git_does_not_say_follows_the_placement() {
            super::follows_where_git_is_silent(&super::$tool).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn an_annotation_that_git_has_is_not_copied_over() {
            super::keeps_its_annotations(&super::$tool).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn nothing_takes_away_what_git_applies() {
            super::stays_when_nothing_selects_its_cluster(&super::$tool).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn git_owns_its_fields_in_either_order() {
            super::wins_every_race(&super::$tool).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_refused_change_that_is_forced_deletes_nothing() {
            super::a_forced_fault_deletes_nothing(&super::$tool).await;
        }
    } )+ };
}

for_every_tool! {
    argo_client_side: ARGO;
    argo_server_side: ARGO_SERVER_SIDE;
    flux: FLUX;
}
