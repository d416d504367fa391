//! What works do to the `ClusterVersion` of a cluster that plays OpenShift: applied, owned, reported and left behind as the
//! agent of Open Cluster Management does it.

use std::time::Duration;

use serde_json::{Value, json};
use spokes::{AgentRights, Fleet, FleetOptions, OpenShift};

use crate::{
    fixtures::{apply_work, condition, is_observed, pass, text, work},
    hub::TestHub,
    upgrades::{feedback, openshift, times, to, until_feedback},
};

fn spec(fleet: &Fleet) -> Value {
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    object["spec"].clone()
}

/// An upgrade whose `ClusterVersion` is written in this way.
fn written(strategy: Value) -> Value {
    let mut spec = to("4.12.0");
    spec["manifestConfigs"][0]["updateStrategy"] = strategy;
    spec
}

async fn applied(hub: &TestHub, spec: Value) {
    apply_work(hub, "cluster1", spec);
    hub.until("the work is observed", |hub| is_observed(&work(hub, "cluster1")))
        .await;
}

/// Finding 2: fields that the manifest does not have are removed by an update.
#[tokio::test(start_paused = true)]
async fn an_update_overwrites_the_whole_spec() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    let before = spec(&fleet);
    assert_eq!(before["channel"], "stable-4.11");
    assert_eq!(before["upstream"], "https://updates.example.com/graph");
    assert_eq!(before["capabilities"]["baselineCapabilitySet"], "vCurrent");
    applied(&hub, written(json!({"type": "Update"}))).await;
    let after = spec(&fleet);
    assert_eq!(after["channel"], "stable-4.12");
    assert_eq!((after.get("upstream"), after.get("capabilities")), (None, None));
}

#[tokio::test(start_paused = true)]
async fn a_server_side_apply_keeps_what_others_wrote() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    let before = spec(&fleet);
    applied(
        &hub,
        written(json!({"type": "ServerSideApply", "serverSideApply": {"force": true}})),
    )
    .await;
    let after = spec(&fleet);
    assert_eq!(after["channel"], "stable-4.12");
    assert_eq!(after["desiredUpdate"]["version"], "4.12.0");
    assert_eq!(after["upstream"], before["upstream"]);
    assert_eq!(after["capabilities"], before["capabilities"]);
    // What the agent alone has written goes again when its manifest no longer says it.
    let mut without = written(json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}));
    without["workload"]["manifests"][0]["spec"] = json!({"channel": "stable-4.12"});
    applied(&hub, without).await;
    let withdrawn = spec(&fleet);
    assert_eq!(withdrawn.get("desiredUpdate"), None);
    assert_eq!(withdrawn["upstream"], before["upstream"]);
}

/// The installer of the cluster has set its channel, and owns it.
#[tokio::test(start_paused = true)]
async fn a_server_side_apply_without_force_meets_the_owner_of_the_channel() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    applied(&hub, written(json!({"type": "ServerSideApply"}))).await;
    let seen = work(&hub, "cluster1");
    assert_eq!(
        condition(&seen, "Applied"),
        "False: Failed to apply manifest work"
    );
    assert_eq!(
        text(&seen, "/status/resourceStatus/manifests/0/conditions/0/message"),
        "Failed to apply manifest: Apply failed with 1 conflict: conflict with \"cluster-bootstrap\" \
         using config.openshift.io/v1: .spec.channel"
    );
    assert_eq!(spec(&fleet)["channel"], "stable-4.11");
    assert_eq!(
        feedback(&seen, 0),
        ["state=Completed", "verified=true", "version=4.11.9"],
        "it reports all the same"
    );
}

/// Finding 1: the rule of the enhancement names neither the group nor the resource of a `ClusterVersion`.
#[tokio::test(start_paused = true)]
async fn only_a_rule_with_the_real_group_and_resource_keeps_the_cluster_version() {
    let as_written = json!({"group": "", "resource": "ClusterVersion.config.openshift.io", "name": "version", "namespace": ""});
    let real = json!({"group": "config.openshift.io", "resource": "clusterversions", "name": "version", "namespace": ""});
    let selectively = |rules: &[&Value]| json!({"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": rules}});
    for (option, stays) in [
        (selectively(&[&as_written]), false),
        (selectively(&[&as_written, &real]), true),
        (json!({"propagationPolicy": "Foreground"}), false),
        (json!({"propagationPolicy": "Orphan"}), true),
    ] {
        let hub = TestHub::new();
        let fleet = openshift(&hub, 1, &[]).await;
        let mut upgrade = to("4.12.0");
        upgrade["deleteOption"] = option.clone();
        applied(&hub, upgrade).await;
        hub.delete("manifestworks", "cluster1", "w");
        hub.until("the work is deleted", |hub| work(hub, "cluster1").is_null())
            .await;
        let left = fleet.cluster_version("cluster1");
        assert_eq!(left.is_some(), stays, "{option}");
    }
}

/// What a work only reads, or did not create, is not its own.
#[tokio::test(start_paused = true)]
async fn a_probe_changes_nothing_and_takes_nothing_with_it() {
    for strategy in ["ReadOnly", "CreateOnly"] {
        let hub = TestHub::new();
        let fleet = openshift(&hub, 1, &[]).await;
        let before = fleet.cluster_version("cluster1");
        let mut probe = written(json!({"type": strategy}));
        probe["deleteOption"] = json!({"propagationPolicy": "Foreground"});
        applied(&hub, probe).await;
        assert_eq!(
            feedback(&work(&hub, "cluster1"), 0),
            ["state=Completed", "verified=true", "version=4.11.9"]
        );
        hub.delete("manifestworks", "cluster1", "w");
        hub.until("the work is deleted", |hub| work(hub, "cluster1").is_null())
            .await;
        assert_eq!(fleet.cluster_version("cluster1"), before, "{strategy}");
    }
}

/// Finding 5: `.status.history[0].message` does not exist, and a value that is not there is not reported.
#[tokio::test(start_paused = true)]
async fn a_path_that_leads_nowhere_is_left_out_of_the_feedback() {
    let hub = TestHub::new();
    let _fleet = openshift(&hub, 1, &[]).await;
    let mut upgrade = to("4.12.0");
    let paths = upgrade["manifestConfigs"][0]["feedbackRules"][0]["jsonPaths"]
        .as_array_mut()
        .expect("paths");
    paths.push(json!({"name": "progress", "path": ".status.conditions[?(@.type==\"Progressing\")].message"}));
    assert!(
        paths
            .iter()
            .any(|path| path["path"] == ".status.history[0].message")
    );
    applied(&hub, upgrade).await;
    assert_eq!(
        feedback(&work(&hub, "cluster1"), 0),
        [
            "progress=Cluster version is 4.11.9",
            "state=Completed",
            "verified=true",
            "version=4.11.9"
        ],
        "just applied, the history still shows the version before"
    );
    until_feedback(&hub, "state=Partial").await;
    let seen = feedback(&work(&hub, "cluster1"), 0);
    assert!(
        seen[0].starts_with("progress=Working towards 4.12.0: "),
        "{seen:?}"
    );
    assert!(!seen.iter().any(|value| value.starts_with("message")), "{seen:?}");
    until_feedback(&hub, "state=Completed").await;
}

/// A cluster that does not play OpenShift has none of it.
#[tokio::test(start_paused = true)]
async fn other_clusters_have_no_cluster_version() {
    let hub = TestHub::new();
    let fleet = crate::fixtures::fleet(&hub, 1, &[]).await;
    assert_eq!(fleet.objects("cluster1"), vec![]);
    let labels = hub.object("managedclusters", "", "cluster1")["metadata"]["labels"].clone();
    assert_eq!(labels.get("openshiftVersion"), None);
}

/// Finding 2 again: overrides hold another minor version up, until an update of the agent has erased them.
#[tokio::test(start_paused = true)]
async fn an_update_erases_the_overrides_that_held_the_upgrade_up() {
    let overrides = json!([{"group": "apps", "kind": "Deployment", "namespace": "web", "name": "console", "unmanaged": true}]);
    for (strategy, kept) in [
        (
            json!({"type": "ServerSideApply", "serverSideApply": {"force": true}}),
            true,
        ),
        (json!({"type": "Update"}), false),
    ] {
        let hub = TestHub::new();
        let mut openshift = OpenShift::parse(["4.11.9"]).expect("a version");
        openshift.times = times();
        openshift.spec.insert("overrides".to_owned(), overrides.clone());
        let options = FleetOptions {
            clusters: 1,
            openshift: Some(openshift),
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
        fleet.ready().await.expect("all clusters register");
        applied(&hub, written(strategy)).await;
        pass(Duration::from_mins(1)).await;
        let object = fleet.cluster_version("cluster1").unwrap_or_default();
        assert_eq!(object["spec"].get("overrides"), kept.then_some(&overrides));
        let version = if kept { "4.11.9" } else { "4.12.0" };
        assert_eq!(text(&object, "/status/history/0/version"), version);
        assert_eq!(condition(&object, "Upgradeable").starts_with("False"), kept);
    }
}

/// An agent without rights of its own needs the binding that stands behind the ClusterVersion in the work: it tries again.
#[tokio::test(start_paused = true)]
async fn an_agent_that_may_not_upgrade_waits_for_its_binding() {
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "admin-ocm"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "klusterlet-work-sa", "namespace": "open-cluster-management-agent"}],
    });
    let scoped = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "upgrades", "labels": {"open-cluster-management.io/aggregate-to-work": "true"}},
        "rules": [{"apiGroups": ["config.openshift.io"], "resources": ["clusterversions"], "verbs": ["get", "patch", "update"]}],
    });
    for (more, applied_in_the_end) in [(Some(binding), true), (Some(scoped), true), (None, false)] {
        let hub = TestHub::new();
        let mut openshift = OpenShift::parse(["4.11.9"]).expect("a version");
        openshift.agent = AgentRights::AsBound;
        let options = FleetOptions {
            clusters: 1,
            openshift: Some(openshift),
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
        fleet.ready().await.expect("all clusters register");
        let mut upgrade = to("4.12.0");
        upgrade["workload"]["manifests"]
            .as_array_mut()
            .expect("manifests")
            .extend(more);
        apply_work(&hub, "cluster1", upgrade);
        pass(Duration::from_secs(2)).await;
        assert_eq!(
            condition(&work(&hub, "cluster1"), "Applied").starts_with("True"),
            applied_in_the_end
        );
        pass(Duration::from_mins(1)).await;
        let upgraded = fleet.cluster_version("cluster1").unwrap_or_default();
        let version = if applied_in_the_end { "4.12.0" } else { "4.11.9" };
        assert_eq!(text(&upgraded, "/status/history/0/version"), version);
        let said = work(&hub, "cluster1");
        let said = text(&said, "/status/resourceStatus/manifests/0/conditions/0/message");
        assert_eq!(said.contains("is forbidden: User"), !applied_in_the_end, "{said}");
    }
}
