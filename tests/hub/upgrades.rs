//! Cluster upgrades on a hub with simulated OpenShift: the controller, the works, the agents and the status.
//!
//! The clusters upgrade in two seconds; every wait is for an observed state.

use std::time::Duration;

use devhub::TestHub;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::discovery::ApiResource;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions, OpenShift, Times};
use store::Kind;
use tidegate::controllers::{Tide, TideOptions};

use crate::kit::{hubs, waiting};

const LENGTH: Duration = Duration::from_secs(2);

fn resource(kind: Kind) -> ApiResource {
    let address = kind.address();
    ApiResource {
        group: address.group.to_owned(),
        version: address.version.to_owned(),
        api_version: kind.api_version(),
        kind: address.kind.to_owned(),
        plural: address.resource.to_owned(),
    }
}

struct Scene {
    hub: TestHub,
    client: Client,
    fleet: Fleet,
}

impl Scene {
    async fn new(clusters: usize, faults: &[&str]) -> Self {
        let hub = hubs::hub().await;
        let client = hub.client();
        let mut openshift = OpenShift::parse(["4.11.9"]).expect("a version");
        openshift.times = Times::of_upgrade(LENGTH);
        let options = FleetOptions {
            clusters,
            faults: Faults::parse(faults).expect("faults"),
            openshift: Some(openshift),
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(client.clone(), options).await.expect("a fleet");
        fleet.ready().await.expect("all clusters register");
        let binding = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
            "metadata": {"name": "default", "namespace": "default"}, "spec": {"clusterSet": "default"}});
        hubs::load(&hub, [binding]).await;
        Self { hub, client, fleet }
    }

    async fn tide(&self) -> Tide {
        hubs::tide(self.client.clone(), TideOptions::default()).await
    }

    fn upgrades(&self) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), "default", &resource(Kind::Upgrade))
    }

    async fn ask(&self, name: &str, spec: Value) {
        let object = json!({"apiVersion": Kind::Upgrade.api_version(), "kind": "ManagedClustersUpgrade",
            "metadata": {"name": name, "namespace": "default"}, "spec": spec});
        hubs::load(&self.hub, [object]).await;
    }

    async fn change(&self, name: &str, patch: Value) {
        let patched = self
            .upgrades()
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.expect("it changes");
    }

    async fn status(&self, name: &str) -> Value {
        let found = self.upgrades().get_opt(name).await.expect("an answer");
        found.map_or(Value::Null, |found| found.data["status"].clone())
    }

    async fn phase(&self, name: &str) -> String {
        let status = self.status(name).await;
        status["phase"].as_str().unwrap_or_default().to_owned()
    }

    async fn reaches(&self, name: &str, phase: &str) {
        let there = waiting::comes(|| async { self.phase(name).await == phase }).await;
        assert!(there, "{phase}: {:#}", self.status(name).await);
    }

    /// Status and reason of a condition.
    async fn condition(&self, name: &str, kind: &str) -> String {
        let status = self.status(name).await;
        let mut all = status["conditions"].as_array().into_iter().flatten();
        let found = all.find(|one| one["type"] == kind);
        found.map_or_else(String::new, |one| {
            format!("{} {}", one["status"], one["reason"]).replace('"', "")
        })
    }

    /// The status of a cluster.
    async fn told(&self, name: &str, cluster: &str) -> String {
        let status = self.status(name).await;
        let mut all = status["clusters"].as_array().into_iter().flatten();
        let found = all.find(|one| one["name"] == cluster);
        let text = |one: &Value, field: &str| one[field].as_str().unwrap_or_default().to_owned();
        found.map_or_else(String::new, |one| {
            let words = [text(one, "state"), text(one, "phase"), text(one, "reason")];
            words.join(" ").trim().to_owned()
        })
    }

    /// The works of upgrades, as `cluster/name`.
    async fn works(&self) -> Vec<String> {
        let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(Kind::UpgradeWork));
        let selected = ListParams::default().labels("cluster.open-cluster-management.io/mcu-uid");
        let all = api.list(&selected).await.expect("a list");
        all.iter()
            .map(|one| format!("{}/{}", one.namespace().unwrap_or_default(), one.name_any()))
            .collect()
    }

    fn version(&self, cluster: &str) -> String {
        let object = self.fleet.cluster_version(cluster).unwrap_or_default();
        let newest = &object["status"]["history"][0];
        let text = |field: &str| newest[field].as_str().unwrap_or_default().to_owned();
        format!("{} {}", text("version"), text("state"))
    }

    async fn end(self, tide: Tide) {
        tide.shutdown().await;
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn job(name: &str) -> Value {
    let spec = json!({"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "registry.example.com/tools:v1"}]}}});
    let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name, "namespace": "default"}, "spec": spec});
    json!({"manifestWork": {"workload": {"manifests": [job]}}})
}

/// The proposal's example: one that goes first, two at once, actions before and after, operators.
fn example() -> Value {
    json!({
        "clusterSelector": {"clusterSets": ["default"]},
        "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0"},
        "ocpOperators": {"include": [{"name": "openshift-gitops-operator", "namespace": "openshift-operators"}]},
        "upgradeStrategy": {
            "canaryClusters": {"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["cluster1"]}]}},
            "clusterUpgradeTimeout": "2h", "operatorsUpgradeTimeout": "10m", "maxConcurrency": 2,
        },
        "preUpgradeAction": job("backup"),
        "postUpgradeAction": job("smoke-test"),
    })
}

fn plain() -> Value {
    json!({"clusterSelector": {}, "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0"}})
}

fn with(mut spec: Value, field: &str, value: Value) -> Value {
    spec[field] = value;
    spec
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_example_of_the_proposal_goes_from_selected_to_complete_and_is_at_rest() {
    let scene = Scene::new(4, &[]).await;
    let tide = scene.tide().await;
    scene.ask("mcu", example()).await;
    let begun = waiting::comes(|| async { !scene.works().await.is_empty() }).await;
    assert!(begun, "{:#}", scene.status("mcu").await);
    assert_eq!(
        scene.works().await,
        ["cluster1/mcu-pre-upgrade"],
        "who goes first begins with the action before it"
    );
    scene.reaches("mcu", "Complete").await;
    let status = scene.status("mcu").await;
    assert_eq!(
        status["clustersSummery"],
        json!({"total": 4, "initialized": 4, "partialUpgrade": 0, "complete": 4, "failed": 0, "pending": 0})
    );
    assert_eq!(status["canaryClustersSummery"]["complete"], json!(1));
    for summary in ["preUpgradeActionSummary", "postUpgradeActionSummary"] {
        assert_eq!(status[summary]["available"], json!(4), "{summary}");
    }
    for (kind, expected) in [
        ("Selected", "True ManagedClustersSelected"),
        ("Complete", "True ManagedClustersUpgradeComplete"),
        ("InProgress", "False ManagedClustersUpgradeComplete"),
        ("Ready", "True Complete"),
        ("Reconciling", "False Complete"),
        ("Stalled", "False NotStalled"),
    ] {
        assert_eq!(scene.condition("mcu", kind).await, expected, "{kind}");
    }
    for cluster in ["cluster1", "cluster2", "cluster3", "cluster4"] {
        assert_eq!(scene.version(cluster), "4.12.0 Completed");
        let object = scene
            .fleet
            .cluster_version(cluster)
            .expect("a cluster of OpenShift");
        assert_eq!(
            object["spec"]["upstream"],
            json!("https://updates.example.com/graph"),
            "what others wrote stays"
        );
    }
    assert!(
        waiting::comes(|| async { scene.works().await.is_empty() }).await,
        "{:?}",
        scene.works().await
    );
    let revision = scene.upgrades().get("mcu").await.expect("it").resource_version();
    let at_rest = async || scene.upgrades().get("mcu").await.expect("it").resource_version() == revision;
    assert!(
        waiting::stays(Duration::from_secs(3), at_rest).await,
        "nothing is written any more"
    );
    scene.end(tide).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_canary_stops_the_upgrade_and_a_retry_continues_it() {
    let scene = Scene::new(3, &["cluster1=upgrade-stall"]).await;
    let tide = scene.tide().await;
    let spec = with(
        example(),
        "upgradeStrategy",
        json!({
        "canaryClusters": {"clusterSelector": {"matchExpressions": [{"key": "name", "operator": "In", "values": ["cluster1"]}]}},
        "clusterUpgradeTimeout": "1s"}),
    );
    let spec = with(spec, "preUpgradeAction", Value::Null);
    scene
        .ask("mcu", with(spec, "postUpgradeAction", Value::Null))
        .await;
    scene.reaches("mcu", "Halted").await;
    assert_eq!(scene.told("mcu", "cluster1").await, "Failed Done UpgradeTimeout");
    assert_eq!(scene.condition("mcu", "Stalled").await, "True Halted");
    assert_eq!(
        scene.condition("mcu", "Failed").await,
        "True ManagedClustersUpgradeFailed"
    );
    let only_first = async || {
        scene
            .works()
            .await
            .iter()
            .all(|work| work.starts_with("cluster1/"))
    };
    assert!(
        waiting::stays(LENGTH, only_first).await,
        "{:?}",
        scene.works().await
    );
    scene
        .change(
            "mcu",
            json!({"spec": {"upgradeStrategy": {"clusterUpgradeTimeout": "1h"}},
        "metadata": {"annotations": {"cluster.open-cluster-management.io/mcu-retry": "1"}}}),
        )
        .await;
    let again = waiting::comes(|| async { scene.phase("mcu").await != "Halted" }).await;
    assert!(again, "{:#}", scene.status("mcu").await);
    scene.end(tide).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_lets_those_go_on_that_began_and_a_restart_forgets_nothing() {
    let scene = Scene::new(3, &[]).await;
    let tide = scene.tide().await;
    scene
        .ask(
            "mcu",
            with(plain(), "upgradeStrategy", json!({"maxConcurrency": 1})),
        )
        .await;
    let begun =
        waiting::comes(|| async { scene.works().await == ["cluster1/cluster1-cluster-upgrade"] }).await;
    assert!(begun, "{:#}", scene.status("mcu").await);
    scene.change("mcu", json!({"spec": {"suspend": true}})).await;
    scene.reaches("mcu", "Paused").await;
    tide.shutdown().await;
    let tide = scene.tide().await;
    let done = waiting::comes(|| async { scene.told("mcu", "cluster1").await == "Complete Done" }).await;
    assert!(done, "{:#}", scene.status("mcu").await);
    assert_eq!(scene.phase("mcu").await, "Paused");
    let only_first = async || {
        scene
            .works()
            .await
            .iter()
            .all(|work| work.starts_with("cluster1/"))
    };
    assert!(
        waiting::stays(LENGTH, only_first).await,
        "{:?}",
        scene.works().await
    );
    scene.change("mcu", json!({"spec": {"suspend": false}})).await;
    scene.reaches("mcu", "Complete").await;
    scene.end(tide).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_upgrades_never_have_the_same_cluster() {
    let scene = Scene::new(2, &["cluster*=upgrade-slow:6s"]).await;
    let tide = scene.tide().await;
    scene.ask("first", plain()).await;
    let begun = waiting::comes(|| async { scene.works().await.len() == 2 }).await;
    assert!(begun, "{:#}", scene.status("first").await);
    scene
        .ask(
            "second",
            with(
                plain(),
                "clusterVersion",
                json!({"channel": "stable-4.12", "version": "4.12.1"}),
            ),
        )
        .await;
    let held =
        waiting::comes(|| async { scene.told("second", "cluster1").await == "NotStarted Held Conflict" })
            .await;
    assert!(held, "{:#}", scene.status("second").await);
    scene.reaches("first", "Complete").await;
    scene.reaches("second", "Complete").await;
    assert_eq!(scene.version("cluster2"), "4.12.1 Completed");
    scene.end(tide).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_deleted_upgrade_takes_its_works_with_it_and_leaves_the_cluster_version() {
    let scene = Scene::new(2, &[]).await;
    let tide = scene.tide().await;
    scene
        .ask(
            "mcu",
            with(plain(), "upgradeStrategy", json!({"maxConcurrency": 1})),
        )
        .await;
    let begun = waiting::comes(|| async { scene.version("cluster1") == "4.12.0 Partial" }).await;
    assert!(begun, "{:#}", scene.status("mcu").await);
    let deleted = scene.upgrades().delete("mcu", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    let gone = waiting::comes(|| async {
        scene
            .upgrades()
            .get_opt("mcu")
            .await
            .expect("an answer")
            .is_none()
    })
    .await;
    assert!(gone, "its finalizer goes");
    assert!(waiting::comes(|| async { scene.works().await.is_empty() }).await);
    assert!(
        waiting::comes(|| async { scene.version("cluster1") == "4.12.0 Completed" }).await,
        "what runs on a cluster runs on"
    );
    assert_eq!(scene.version("cluster2"), "4.11.9 Completed");
    scene.end(tide).await;
}

/// A quota, a policy, a namespace that is being deleted: any rejection by the hub is reported, and the others continue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_whose_work_is_rejected_is_reported_and_blocks_no_other() {
    let scene = Scene::new(3, &[]).await;
    let policy = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "not-there"}, "spec": {"failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{"apiGroups": ["work.open-cluster-management.io"], "apiVersions": ["v1"],
                "operations": ["CREATE"], "resources": ["manifestworks"]}]},
            "validations": [{"expression": "object.metadata.namespace != 'cluster1'", "message": "nothing for cluster1 today"}]}});
    let binding = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "not-there"}, "spec": {"policyName": "not-there", "validationActions": ["Deny"]}});
    hubs::load(&scene.hub, [policy, binding]).await;
    // A real API server admits a work until it has read the policy.
    let works: Api<DynamicObject> =
        Api::namespaced_with(scene.client.clone(), "cluster1", &resource(Kind::UpgradeWork));
    let probe = DynamicObject::new("probe", &resource(Kind::UpgradeWork))
        .data(json!({"spec": {"workload": {"manifests": []}}}));
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    waiting::eventually("the policy is in force", || async {
        let created = works.create(&dry_run, &probe).await;
        created.is_err_and(|error| error.to_string().contains("nothing for cluster1 today"))
    })
    .await;
    let tide = scene.tide().await;
    scene
        .ask(
            "mcu",
            with(plain(), "upgradeStrategy", json!({"maxConcurrency": 1})),
        )
        .await;
    let others = waiting::comes(|| async { scene.told("mcu", "cluster3").await == "Complete Done" }).await;
    assert!(others, "{:#}", scene.status("mcu").await);
    let told =
        waiting::comes(|| async { scene.told("mcu", "cluster1").await == "NotStarted Held WorkRefused" })
            .await;
    assert!(told, "{:#}", scene.status("mcu").await);
    let status = scene.status("mcu").await;
    let ready = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|one| one["type"] == "Ready");
    let message = ready.map(|one| one["message"].to_string()).unwrap_or_default();
    assert!(message.contains("nothing for cluster1 today"), "{message}");
    let policies: Api<DynamicObject> = Api::all_with(
        scene.client.clone(),
        &ApiResource {
            group: "admissionregistration.k8s.io".to_owned(),
            version: "v1".to_owned(),
            api_version: "admissionregistration.k8s.io/v1".to_owned(),
            kind: "ValidatingAdmissionPolicyBinding".to_owned(),
            plural: "validatingadmissionpolicybindings".to_owned(),
        },
    );
    policies
        .delete("not-there", &DeleteParams::default())
        .await
        .expect("the policy ends");
    scene.reaches("mcu", "Complete").await;
    scene.end(tide).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_placement_selects_and_one_that_joins_in_the_middle_is_upgraded_as_well() {
    let scene = Scene::new(3, &["cluster*=upgrade-slow:4s"]).await;
    let placement = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "some", "namespace": "default"},
        "spec": {"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"upgrade": "yes"}}}}]}});
    hubs::load(&scene.hub, [placement]).await;
    let clusters: Api<DynamicObject> = Api::all_with(scene.client.clone(), &resource(Kind::Cluster));
    let label = async |name: &str| {
        let patch = json!({"metadata": {"labels": {"upgrade": "yes"}}});
        let patched = clusters
            .patch(name, &PatchParams::default(), &Patch::Merge(patch))
            .await;
        patched.expect("a cluster is labelled");
    };
    label("cluster2").await;
    let tide = scene.tide().await;
    let spec = json!({"placement": [{"name": "some", "namespace": "default"}], "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0"}});
    scene.ask("mcu", spec).await;
    let begun =
        waiting::comes(|| async { scene.works().await == ["cluster2/cluster2-cluster-upgrade"] }).await;
    assert!(begun, "{:#}", scene.status("mcu").await);
    label("cluster3").await;
    scene.reaches("mcu", "Complete").await;
    assert_eq!(scene.status("mcu").await["clustersSummery"]["complete"], json!(2));
    assert_eq!(scene.version("cluster1"), "4.11.9 Completed");
    scene.end(tide).await;
}

/// Without its channel a cluster has no such update, and reports it in a condition of its own.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_that_a_cluster_rejects_is_reported_with_its_message() {
    let scene = Scene::new(1, &[]).await;
    let tide = scene.tide().await;
    scene
        .ask(
            "mcu",
            json!({"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}}),
        )
        .await;
    let told = waiting::comes(|| async {
        scene.told("mcu", "cluster1").await == "Initialized Platform NotAccepted"
    })
    .await;
    assert!(told, "{:#}", scene.status("mcu").await);
    let status = scene.status("mcu").await;
    let message = status["clusters"][0]["message"].to_string();
    assert!(message.contains("an available update"), "{message}");
    scene.end(tide).await;
}
