//! The webhook never causes drift: for every GitOps tool, Git and the hub have the same content before and after the defaults of the
//! webhook, the defaults of the CRDs, and the controllers' writes.
//!
//! The tools are emulated by their published algorithms (`tools.rs`: gitops-engine as of Argo CD 3.6.0; Flux's `pkg/ssa` and the
//! `cli-utils` below it as kustomize-controller sets them) against the dev hub with the webhook registered. The tests in
//! `tests/binary` cover `kubectl`; `takeover.rs` covers planner objects that a tool takes over.

mod scene;
mod takeover;
mod tools;

use serde_json::{Value, json};

use scene::Scene;
use tools::{Argo, ArgoServerSide, Flux, Tool};

const ADDON: &str = "addon.open-cluster-management.io/v1alpha1";
const NAMESPACE: &str = "/spec/installNamespace";

/// An add-on instance as Git says it.
fn wish(cluster: &str, spec: &Value) -> Value {
    json!({ "apiVersion": ADDON, "kind": "ManagedClusterAddOn",
        "metadata": { "name": "placed", "namespace": cluster, "labels": { "team": "fruit" } }, "spec": spec })
}

/// The settings of the rollouts of an add-on as Git says them.
fn settings(spec: &Value) -> Value {
    json!({ "apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout", "metadata": { "name": "rolling" }, "spec": spec })
}

/// Manifests that leave to the hub what they can leave to it.
fn manifests() -> Vec<Value> {
    let configs = json!([{ "group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs",
        "name": "settings", "namespace": "default" }]);
    let placement = json!({ "name": "all", "namespace": "default",
        "rolloutStrategy": { "type": "Progressive", "progressive": { "maxConcurrency": "25%", "minSuccessTime": "5m" } } });
    vec![
        wish("cluster1", &json!({})),
        wish("cluster2", &json!({ "configs": configs })),
        json!({ "apiVersion": ADDON, "kind": "AddOnDeploymentConfig", "metadata": { "name": "settings", "namespace": "default" },
            "spec": { "customizedVariables": [{ "name": "A", "value": "1" }] } }),
        json!({ "apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": { "name": "minimal" }, "spec": {} }),
        json!({ "apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": { "name": "rolling" },
            "spec": { "installStrategy": { "type": "Placements", "placements": [placement] } } }),
        settings(&json!({ "addon": "rolling", "pause": { "reason": "holidays" } })),
        json!({ "apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutFreeze", "metadata": { "name": "later" },
            "spec": { "reason": "year end", "from": "2999-01-01T00:00:00Z" } }),
    ]
}

/// Applies all manifests with a tool, lets the hub settle and asks the tool whether anything differs.
async fn stays_in_sync(tool: &dyn Tool) {
    let scene = Scene::start().await;
    for manifest in manifests() {
        scene.apply(tool, &manifest).await;
        assert_eq!(
            scene.difference(tool, &manifest).await,
            None,
            "at once: {manifest}"
        );
    }
    for cluster in ["cluster1", "cluster2"] {
        scene.settled(&wish(cluster, &json!({}))).await;
    }
    for manifest in manifests() {
        let before = scene.live(&manifest).await;
        assert_eq!(
            scene.difference(tool, &manifest).await,
            None,
            "once settled: {manifest}"
        );
        scene.apply(tool, &manifest).await;
        let after = scene.live(&manifest).await;
        for part in [
            "/spec",
            "/metadata/labels",
            "/metadata/annotations",
            "/metadata/generation",
        ] {
            assert_eq!(
                after.pointer(part),
                before.pointer(part),
                "applied again: {manifest}"
            );
        }
        // Only the tool writes to a configuration: there the same manifest changes nothing at all.
        if manifest["kind"] == "AddOnDeploymentConfig" {
            assert_eq!(after, before, "applied again: {manifest}");
        }
    }
    scene.stop().await;
}

/// The namespace that the gate fills in stays when the tool applies again, and Git's own choice is Git's.
async fn fills_in_and_keeps(tool: &dyn Tool) {
    let scene = Scene::start().await;
    let silent = wish("cluster1", &json!({}));
    scene.apply(tool, &silent).await;
    let live = scene.live(&silent).await;
    assert_eq!(live.pointer(NAMESPACE), Some(&json!("placed-here")), "{live:#}");
    let relabelled = {
        let mut changed = silent.clone();
        changed["metadata"]["labels"]["team"] = json!("vegetables");
        changed
    };
    scene.apply(tool, &relabelled).await;
    let live = scene.live(&silent).await;
    assert_eq!(live.pointer(NAMESPACE), Some(&json!("placed-here")), "{live:#}");
    assert_eq!(scene.difference(tool, &relabelled).await, None);

    // The default of the definition, but written by the user: it stays.
    let spoken = wish(
        "cluster2",
        &json!({ "installNamespace": "open-cluster-management-agent-addon" }),
    );
    scene.apply(tool, &spoken).await;
    let live = scene.live(&spoken).await;
    assert_eq!(live.pointer(NAMESPACE), spoken.pointer(NAMESPACE), "{live:#}");
    assert_eq!(scene.difference(tool, &spoken).await, None);
    scene.stop().await;
}

/// The webhook records who set a pause, and the record leaves nothing behind when Git removes the pause.
async fn removes_a_pause(tool: &dyn Tool) {
    let scene = Scene::start().await;
    let paused = settings(&json!({ "addon": "rolling", "pause": {} }));
    let resumed = settings(&json!({ "addon": "rolling" }));
    for _ in 0..2 {
        scene.apply(tool, &paused).await;
        let live = scene.live(&paused).await;
        let set_by = live["metadata"]["annotations"]["tidegate.io/set-by"].as_str();
        assert!(set_by.is_some_and(|line| line.starts_with("* ")), "{live:#}");
        assert_eq!(scene.difference(tool, &paused).await, None);
        scene.apply(tool, &resumed).await;
        let live = scene.live(&resumed).await;
        assert_eq!(live["spec"], json!({ "addon": "rolling" }), "{live:#}");
        assert_eq!(
            live.pointer("/metadata/annotations/tidegate.io~1set-by"),
            None,
            "{live:#}"
        );
        assert_eq!(scene.difference(tool, &resumed).await, None);
    }
    scene.stop().await;
}

/// A tool that could not see drift would make every test above worthless.
async fn sees_real_drift(tool: &dyn Tool) {
    let scene = Scene::start().await;
    let spoken = wish("cluster1", &json!({ "installNamespace": "chosen" }));
    scene.apply(tool, &spoken).await;
    assert_eq!(scene.difference(tool, &spoken).await, None);
    scene
        .edit(&spoken, json!({ "spec": { "installNamespace": "elsewhere" } }))
        .await;
    assert!(
        scene.difference(tool, &spoken).await.is_some(),
        "an edit of what Git says is drift"
    );
    scene.apply(tool, &spoken).await;
    assert_eq!(scene.difference(tool, &spoken).await, None, "applying heals it");
    scene.stop().await;
}

macro_rules! stories {
    ($($tool:ident: $value:expr;)+) => { $( mod $tool {
        use super::*;

        #[tokio::test(flavor = "multi_thread")]
        async fn manifests_stay_in_sync() {
            stays_in_sync(&$value).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn the_gates_default_is_filled_in_and_kept() {
            fills_in_and_keeps(&$value).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_removed_pause_ends() {
            removes_a_pause(&$value).await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn an_edit_is_still_seen() {
            sees_real_drift(&$value).await;
        }
    } )+ };
}

stories! {
    argo_legacy_three_way_diff: Argo;
    argo_server_side_diff: ArgoServerSide { with_webhooks: false };
    argo_server_side_diff_with_webhook_mutations: ArgoServerSide { with_webhooks: true };
    flux_dry_run_compare: Flux;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_field_manager_owns_fields_that_the_webhook_adds() {
    let scene = Scene::start().await;
    let silent = wish("cluster1", &json!({}));
    scene.apply(&Flux, &silent).await;
    let live = scene.live_with_owners(&silent).await;
    let owners = live["metadata"]["managedFields"]
        .as_array()
        .expect("owners")
        .clone();
    let spoken: Vec<&Value> = owners
        .iter()
        .filter(|entry| entry["subresource"].is_null())
        .filter(|entry| entry.pointer("/fieldsV1/f:spec/f:installNamespace").is_some())
        .collect();
    assert!(spoken.is_empty(), "{spoken:?}");
    scene.stop().await;
}

/// `kubectl create` and a bare POST leave no record of what was written: the field manager that creates owns the defaults too.
/// Then the default of the definition stays, because a guess could replace what the user wrote.
#[tokio::test(flavor = "multi_thread")]
async fn a_bare_create_is_never_second_guessed() {
    let scene = Scene::start().await;
    let silent = wish("cluster1", &json!({}));
    scene.create(&silent).await;
    let live = scene.live(&silent).await;
    assert_eq!(
        live.pointer(NAMESPACE),
        Some(&json!("open-cluster-management-agent-addon"))
    );
    scene.stop().await;
}

/// What a dry run promises is what the real run does, to the byte that a tool compares.
#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_promises_what_is_done() {
    let scene = Scene::start().await;
    for manifest in manifests() {
        let promised = scene.server_side(&manifest, "kustomize-controller", true).await;
        let done = scene.server_side(&manifest, "kustomize-controller", false).await;
        assert_eq!(promised["spec"], done["spec"], "{manifest}");
        assert_eq!(
            promised["metadata"]["labels"], done["metadata"]["labels"],
            "{manifest}"
        );
    }
    scene.stop().await;
}

/// Argo CD takes over from client-side apply by rewriting the list of owners, which changes no spec. Such a patch passes even on
/// an object that the gate would refuse today.
#[tokio::test(flavor = "multi_thread")]
async fn owners_may_be_rewritten_on_an_object_that_is_wrong() {
    let scene = Scene::start().await;
    let wrong = json!({ "apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": { "name": "wrong" },
        "spec": { "installStrategy": { "type": "Placements", "placements": [{ "name": "all", "namespace": "default",
            "rolloutStrategy": { "type": "All", "all": { "minSuccessTime": "banana" } } }] } } });
    scene.create_behind_the_gates_back(&wrong).await;
    let live = scene.live_with_owners(&wrong).await;
    let mut owners = live["metadata"]["managedFields"].clone();
    owners[0]["manager"] = json!("argocd-controller");
    owners[0]["operation"] = json!("Apply");
    let patch = json!([
        { "op": "replace", "path": "/metadata/managedFields", "value": owners },
        { "op": "replace", "path": "/metadata/resourceVersion", "value": live["metadata"]["resourceVersion"] },
    ]);
    scene.json_patch(&wrong, patch).await;
    let after = scene.live_with_owners(&wrong).await;
    let first = &after["metadata"]["managedFields"][0];
    assert_eq!(
        (&first["manager"], &first["operation"]),
        (&json!("argocd-controller"), &json!("Apply"))
    );
    scene.stop().await;
}
