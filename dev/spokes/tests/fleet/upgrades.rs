//! Upgrades of whole clusters, from the work that asks for one to what the hub then knows, and what can go wrong meanwhile.

use std::time::Duration;

use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions, OpenShift, Times, agent::ObjectKey};

use crate::{
    fixtures::{AVAILABLE, apply_work, condition, pass, text, work},
    hub::TestHub,
};

pub(crate) fn times() -> Times {
    Times {
        accept: Duration::from_secs(1),
        upgrade: Duration::from_secs(10),
        pools: Duration::from_secs(2),
        jobs: Duration::from_secs(4),
        ..Times::default()
    }
}

/// A fleet whose clusters are OpenShift 4.11.9.
pub(crate) async fn openshift(hub: &TestHub, clusters: usize, faults: &[&str]) -> Fleet {
    let mut openshift = OpenShift::parse(["4.11.9"]).expect("a version");
    openshift.times = times();
    let options = FleetOptions {
        clusters,
        faults: Faults::parse(faults).expect("faults as text"),
        openshift: Some(openshift),
        ..FleetOptions::default()
    };
    let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
    fleet.ready().await.expect("all clusters register");
    fleet
}

/// A work that asks for a version, as the enhancement writes it, and with what it lacks.
pub(crate) fn to(version: &str) -> Value {
    let path = |name: &str, path: &str| json!({"name": name, "path": path});
    json!({
        "deleteOption": {
            "propagationPolicy": "SelectivelyOrphan",
            "selectivelyOrphans": {"orphaningRules": [
                {"group": "", "resource": "ClusterVersion.config.openshift.io", "name": "version", "namespace": ""},
                {"group": "config.openshift.io", "resource": "clusterversions", "name": "version", "namespace": ""},
            ]},
        },
        "manifestConfigs": [{
            "resourceIdentifier": {"group": "config.openshift.io", "resource": "clusterversions", "name": "version", "namespace": ""},
            "updateStrategy": {"type": "ServerSideApply", "serverSideApply": {"force": true}},
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
                path("version", ".status.history[0].version"),
                path("state", ".status.history[0].state"),
                path("verified", ".status.history[0].verified"),
                path("message", ".status.history[0].message"),
            ]}],
        }],
        "workload": {"manifests": [{
            "apiVersion": "config.openshift.io/v1",
            "kind": "ClusterVersion",
            "metadata": {"name": "version"},
            "spec": {"channel": "stable-4.12", "desiredUpdate": {"force": false, "image": "", "version": version}},
        }]},
    })
}

/// What a work reports about one of its manifests, as `name=value`, sorted.
pub(crate) fn feedback(work: &Value, ordinal: usize) -> Vec<String> {
    let pointer = format!("/status/resourceStatus/manifests/{ordinal}/statusFeedback/values");
    let values = work.pointer(&pointer).and_then(Value::as_array);
    let line = |value: &Value| {
        let field = &value["fieldValue"];
        let plain = field["string"].as_str().map(str::to_owned);
        let shown = ["integer", "boolean"]
            .iter()
            .find_map(|kind| field.get(*kind).map(ToString::to_string));
        format!("{}={}", text(value, "/name"), plain.or(shown).unwrap_or_default())
    };
    let mut lines: Vec<_> = values.into_iter().flatten().map(line).collect();
    lines.sort();
    lines
}

/// Waits until the work of the first cluster reports this.
pub(crate) async fn until_feedback(hub: &TestHub, wanted: &str) {
    hub.until(wanted, |hub| {
        feedback(&work(hub, "cluster1"), 0).contains(&wanted.to_owned())
    })
    .await;
}

/// Condition of the `ClusterVersion` as `True: message`.
fn says(fleet: &Fleet, kind: &str) -> String {
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    condition(&object, kind)
}

fn newest(fleet: &Fleet) -> String {
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    format!(
        "{} {}",
        text(&object, "/status/history/0/version"),
        text(&object, "/status/history/0/state")
    )
}

fn labels(hub: &TestHub) -> Value {
    hub.object("managedclusters", "", "cluster1")["metadata"]["labels"].clone()
}

fn claims(hub: &TestHub) -> Vec<String> {
    let cluster = hub.object("managedclusters", "", "cluster1");
    let claims = cluster.pointer("/status/clusterClaims").and_then(Value::as_array);
    let line = |claim: &Value| format!("{}={}", text(claim, "/name"), text(claim, "/value"));
    claims.into_iter().flatten().map(line).collect()
}

#[tokio::test(start_paused = true)]
async fn the_hub_knows_what_the_cluster_is_before_and_after() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    let id = text(&object, "/spec/clusterID").to_owned();
    assert_eq!(id.len(), 36, "{id}");
    let known = labels(&hub);
    assert_eq!(
        (&known["vendor"], &known["clusterID"], &known["openshiftVersion"]),
        (&json!("OpenShift"), &json!(id), &json!("4.11.9"))
    );
    for claim in [
        format!("id.openshift.io={id}"),
        "version.openshift.io=4.11.9".to_owned(),
        "product.open-cluster-management.io=OpenShift".to_owned(),
        "kubeversion.open-cluster-management.io=v1.24.9".to_owned(),
    ] {
        assert!(claims(&hub).contains(&claim), "{claim}: {:?}", claims(&hub));
    }
    apply_work(&hub, "cluster1", to("4.12.0"));
    hub.until("the label follows", |hub| {
        labels(hub)["openshiftVersion"] == "4.12.0"
    })
    .await;
    assert_eq!(labels(&hub)["openshiftVersion-major-minor"], "4.12");
    hub.until("the claim follows", |hub| {
        claims(hub).contains(&"version.openshift.io=4.12.0".to_owned())
    })
    .await;
    assert!(claims(&hub).contains(&"kubeversion.open-cluster-management.io=v1.25.0".to_owned()));
}

/// The same seed makes the same clusters, another one others.
#[tokio::test(start_paused = true)]
async fn identifiers_go_by_the_seed() {
    let mut seen = Vec::new();
    for seed in [7, 7, 8] {
        let hub = TestHub::new();
        let options = FleetOptions {
            clusters: 1,
            seed,
            openshift: OpenShift::parse(["4.11.9"]).ok(),
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(hub.client(), options).await.expect("a fleet");
        fleet.ready().await.expect("all clusters register");
        seen.push(labels(&hub)["clusterID"].clone());
    }
    assert_eq!(seen[0], seen[1]);
    assert_ne!(seen[0], seen[2]);
}

#[tokio::test(start_paused = true)]
async fn an_upgrade_is_reported_on_its_way_and_then_nothing_is_said_any_more() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    let mut upgrade = to("4.12.0");
    upgrade["manifestConfigs"][0]["feedbackRules"][0]["jsonPaths"] =
        json!([{"name": "progress", "path": ".status.conditions[?(@.type==\"Progressing\")].message"}]);
    apply_work(&hub, "cluster1", upgrade);
    let mut seen: Vec<String> = Vec::new();
    for _second in 0..15 {
        pass(Duration::from_secs(1)).await;
        for line in feedback(&work(&hub, "cluster1"), 0) {
            if seen.last() != Some(&line) {
                seen.push(line);
            }
        }
    }
    assert_eq!(
        seen.first().map(String::as_str),
        Some("progress=Cluster version is 4.11.9")
    );
    assert_eq!(
        seen.last().map(String::as_str),
        Some("progress=Cluster version is 4.12.0")
    );
    let percents = seen.iter().filter(|line| line.contains("% complete")).count();
    assert!((5..=11).contains(&percents), "{seen:#?}");
    pass(Duration::from_secs(5)).await;
    let quiet = hub.version();
    pass(Duration::from_hours(1)).await;
    assert_eq!(hub.version(), quiet, "an upgraded cluster is silent");
    assert_eq!(newest(&fleet), "4.12.0 Completed");
}

#[tokio::test(start_paused = true)]
async fn a_stalled_or_failing_upgrade_stays_partial_until_it_heals() {
    for (fault, failing) in [
        ("cluster1=upgrade-stall,for=1m", "False: "),
        (
            "cluster1=upgrade-fail,for=1m:etcd is degraded",
            "True: etcd is degraded",
        ),
    ] {
        let hub = TestHub::new();
        let fleet = openshift(&hub, 1, &[fault]).await;
        pass(Duration::from_mins(5)).await;
        apply_work(&hub, "cluster1", to("4.12.0"));
        pass(Duration::from_secs(50)).await;
        assert_eq!(newest(&fleet), "4.12.0 Partial", "{fault}");
        assert_eq!(feedback(&work(&hub, "cluster1"), 0)[0], "state=Partial");
        assert_eq!(says(&fleet, "Failing"), failing);
        pass(Duration::from_secs(20)).await;
        assert_eq!(
            newest(&fleet),
            "4.12.0 Completed",
            "{fault}: it counts from when the upgrade began"
        );
        until_feedback(&hub, "state=Completed").await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_cluster_does_not_accept_leaves_its_version_as_it_is() {
    for (fault, version, why) in [
        (
            "cluster1=upgrade-rejected:not signed",
            "4.12.0",
            "False: Retrieving payload failed version=\"4.12.0\"",
        ),
        (
            "cluster1=not-upgradeable:ask first",
            "4.12.0",
            "False: Preconditions failed",
        ),
        ("other=offline", "4.10.1", "False: Preconditions failed"),
    ] {
        let hub = TestHub::new();
        let fault = fault.replace("other=", "cluster2=");
        let fleet = openshift(&hub, 2, &[&fault]).await;
        apply_work(&hub, "cluster1", to(version));
        pass(Duration::from_mins(10)).await;
        assert!(
            says(&fleet, "ReleaseAccepted").starts_with(why),
            "{}",
            says(&fleet, "ReleaseAccepted")
        );
        assert_eq!(newest(&fleet), "4.11.9 Completed");
        assert_eq!(
            condition(&work(&hub, "cluster1"), "Applied"),
            "True: Apply manifest work complete"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn giant_hops_are_refused() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    let mut far = to("4.14.0");
    far["workload"]["manifests"][0]["spec"]["channel"] = json!("stable-4.14");
    apply_work(&hub, "cluster1", far);
    pass(Duration::from_mins(1)).await;
    assert!(
        says(&fleet, "ReleaseAccepted").contains("ClusterVersionGiantHop"),
        "{}",
        says(&fleet, "ReleaseAccepted")
    );
    let near = to("4.13.0");
    apply_work(&hub, "cluster1", near);
    pass(Duration::from_mins(1)).await;
    assert!(
        says(&fleet, "Invalid").starts_with("True"),
        "its channel does not lead there"
    );
    assert_eq!(newest(&fleet), "4.11.9 Completed");
}

#[tokio::test(start_paused = true)]
async fn a_slow_upgrade_completes_late_and_workers_later() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=upgrade-slow:5m", "cluster1=pools-lag:10m"]).await;
    let workers = ObjectKey {
        group: "machineconfiguration.openshift.io".to_owned(),
        resource: "machineconfigpools".to_owned(),
        namespace: String::new(),
        name: "worker".to_owned(),
    };
    apply_work(&hub, "cluster1", to("4.12.0"));
    pass(Duration::from_mins(4)).await;
    assert_eq!(newest(&fleet), "4.12.0 Partial");
    pass(Duration::from_mins(2)).await;
    assert_eq!(newest(&fleet), "4.12.0 Completed");
    let updated = || {
        let pool = fleet.object("cluster1", &workers).unwrap_or_default();
        pool["status"]["updatedMachineCount"] == pool["status"]["machineCount"]
    };
    assert!(!updated(), "the workers have not followed");
    pass(Duration::from_mins(10)).await;
    assert!(updated());
}

#[tokio::test(start_paused = true)]
async fn a_cluster_that_is_offline_while_it_upgrades_tells_the_end_of_it() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=offline-during-upgrade"]).await;
    let available = |hub: &TestHub| condition(&hub.object("managedclusters", "", "cluster1"), AVAILABLE);
    apply_work(&hub, "cluster1", to("4.12.0"));
    hub.until("it is away", |hub| available(hub).starts_with("Unknown"))
        .await;
    assert_eq!(newest(&fleet), "4.12.0 Partial");
    assert_eq!(
        feedback(&work(&hub, "cluster1"), 0),
        ["state=Completed", "verified=true", "version=4.11.9"]
    );
    assert_eq!(labels(&hub)["openshiftVersion"], "4.11.9");
    hub.until("it is back", |hub| available(hub).starts_with("True"))
        .await;
    until_feedback(&hub, "version=4.12.0").await;
    assert_eq!(labels(&hub)["openshiftVersion"], "4.12.0");
}

/// A work that the cluster has never seen goes at once, and what it asked for never happens.
#[tokio::test(start_paused = true)]
async fn a_work_withdrawn_from_an_offline_cluster_is_never_applied() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=offline,for=10m"]).await;
    apply_work(&hub, "cluster1", to("4.12.0"));
    pass(Duration::from_mins(5)).await;
    assert_eq!(work(&hub, "cluster1").get("status"), None);
    hub.delete("manifestworks", "cluster1", "w");
    assert!(work(&hub, "cluster1").is_null(), "no finalizer holds it");
    pass(Duration::from_mins(10)).await;
    assert_eq!(newest(&fleet), "4.11.9 Completed");
}

/// The hub need not hear of it: an upgrade goes on while the agent is not there.
#[tokio::test(start_paused = true)]
async fn an_upgrade_goes_on_without_its_work() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    apply_work(&hub, "cluster1", to("4.12.0"));
    until_feedback(&hub, "state=Partial").await;
    hub.delete("manifestworks", "cluster1", "w");
    pass(Duration::from_mins(1)).await;
    assert_eq!(newest(&fleet), "4.12.0 Completed");
    assert_eq!(labels(&hub)["openshiftVersion"], "4.12.0");
}

/// A restarted fleet continues with the state of the clusters on the hub.
#[tokio::test(start_paused = true)]
async fn a_second_fleet_takes_the_versions_from_the_hub() {
    let hub = TestHub::new();
    let first = openshift(&hub, 2, &[]).await;
    apply_work(&hub, "cluster1", to("4.12.0"));
    hub.until("the label follows", |hub| {
        labels(hub)["openshiftVersion"] == "4.12.0"
    })
    .await;
    hub.delete("manifestworks", "cluster1", "w");
    pass(Duration::from_secs(5)).await;
    first.shutdown().await;
    let version = hub.version();
    let second = openshift(&hub, 2, &[]).await;
    pass(Duration::from_mins(1)).await;
    assert_eq!(newest(&second), "4.12.0 Completed");
    assert_eq!(hub.version(), version, "nothing had to be written");
    let other = second.cluster_version("cluster2").unwrap_or_default();
    assert_eq!(text(&other, "/status/history/0/version"), "4.11.9");
}

/// Faults come and go while the fleet runs.
#[tokio::test(start_paused = true)]
async fn a_fault_of_an_upgrade_can_be_ended_by_hand() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &["cluster1=upgrade-stall"]).await;
    apply_work(&hub, "cluster1", to("4.12.0"));
    pass(Duration::from_mins(1)).await;
    assert_eq!(newest(&fleet), "4.12.0 Partial");
    let quiet = hub.version();
    pass(Duration::from_hours(1)).await;
    assert_eq!(
        (newest(&fleet).as_str(), hub.version()),
        ("4.12.0 Partial", quiet)
    );
    fleet.clear_faults("cluster1").expect("a running fleet");
    until_feedback(&hub, "state=Completed").await;
}

/// An update by image only is reported with its image; one to the current version is complete at once.
#[tokio::test(start_paused = true)]
async fn an_image_is_enough_and_the_version_at_hand_is_no_upgrade() {
    let hub = TestHub::new();
    let fleet = openshift(&hub, 1, &[]).await;
    apply_work(&hub, "cluster1", to("4.11.9"));
    pass(Duration::from_mins(1)).await;
    assert_eq!(newest(&fleet), "4.11.9 Completed");
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    assert_eq!(object["status"]["history"].as_array().map(Vec::len), Some(1));
    assert!(says(&fleet, "ReleaseAccepted").starts_with("True"));

    let image = "release.example.com/ocp-release:4.11.12-x86_64";
    let mut by_image = to("");
    by_image["workload"]["manifests"][0]["spec"]["desiredUpdate"]["image"] = json!(image);
    apply_work(&hub, "cluster1", by_image);
    pass(Duration::from_mins(1)).await;
    assert_eq!(newest(&fleet), "4.11.12 Completed");
    let object = fleet.cluster_version("cluster1").unwrap_or_default();
    assert_eq!(text(&object, "/status/history/0/image"), image);
}
