//! Scenarios in which the program uses its permissions. Each step waits for its result on the hub; the administrator's client acts for
//! all other clients.

use std::sync::Arc;
use std::time::Duration;

use admission::{ObjectKey, UserRight};
use devhub::TestHub;
use kube::Client;
use serde_json::{Value, json};
use store::{Kind, LiveFact, RollUps, Settings};
use tidegate::controllers::{
    AuditOptions, AuditPace, Auditor, ElectionOptions, Pace, Part, PolicyDocuments, PolicyTells, PolicyWatch,
    Reports, StockLease, Tide, TideOptions, ask, is_allowed, tap, watch_webhooks,
};
use tidegate::telemetry::Metrics;
use tokio::sync::watch;
use tokio::task::JoinSet;

use crate::kit::waiting::{eventually, eventually_or};
use crate::kit::{agent, audited, hubs};

pub(super) const ADDON: &str = "addon.open-cluster-management.io";
const HUB_SIGNER: &str = "kubernetes.io/kube-apiserver-client";
const OWN_SIGNER: &str = "example.com/hello";

/// The administrator, who speaks to the hub in plain requests.
pub(super) struct Admin(pub(super) Client);

impl Admin {
    async fn send(&self, method: &str, path: &str, body: Option<(&str, &Value)>) -> Option<Value> {
        let mut request = http::Request::builder().method(method).uri(path);
        if let Some((content, _)) = body {
            request = request.header("content-type", content);
        }
        let body = body
            .map(|(_, body)| body.to_string().into_bytes())
            .unwrap_or_default();
        self.0.request(request.body(body).expect("a request")).await.ok()
    }

    pub(super) async fn get(&self, path: &str) -> Option<Value> {
        self.send("GET", path, None).await
    }

    pub(super) async fn merge(&self, path: &str, patch: Value) {
        let body = Some(("application/merge-patch+json", &patch));
        self.send("PATCH", path, body).await.expect("it is patched");
    }

    pub(super) async fn delete(&self, path: &str) {
        self.send("DELETE", path, None).await.expect("it is deleted");
    }
}

fn template(manifests: &[Value]) -> Value {
    json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "AddOnTemplate", "metadata": {"name": "hello"}, "spec": {
        "addonName": "hello", "agentSpec": {"workload": {"manifests": manifests}}, "registration": [
            {"type": "KubeClient", "kubeClient": {"hubPermissions": [
                {"type": "CurrentCluster", "currentCluster": {"clusterRoleName": "hello-reader"}}]}},
            {"type": "CustomSigner", "customSigner": {"signerName": OWN_SIGNER,
                "subject": {"user": "worker", "groups": ["workers"]}, "signingCA": {"name": "hello-ca"}}}]}})
}

fn manifest(name: &str, bytes: usize) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"},
        "data": {"text": "x".repeat(bytes)}})
}

fn objects() -> Vec<Value> {
    let version = format!("{ADDON}/v1alpha1");
    let [role, binding] = agent::rights();
    vec![
        role,
        binding,
        agent::authority("open-cluster-management-hub"),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "c1", "labels": {"env": "prod"}}, "spec": {"hubAcceptsClient": true}}),
        template(&[manifest("a", 300 << 10), manifest("b", 300 << 10)]),
        json!({"apiVersion": version, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}, "spec": {
            "supportedConfigs": [{"group": ADDON, "resource": "addontemplates", "defaultConfig": {"name": "hello"}}],
            "installStrategy": {"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": "prod"}}}}}),
        json!({"apiVersion": version, "kind": "ManagedClusterAddOn", "metadata": {"name": "helo", "namespace": "c1"}, "spec": {}}),
        json!({"apiVersion": version, "kind": "AddOnTemplate", "metadata": {"name": "old"}, "spec": {"addonName": "other",
            "registration": [], "agentSpec": {"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"name": "x", "namespace": "n"}, "data": {"text": "{{NAME"}}]}}}}),
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": "team"}, "spec": {
            "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]},
            "validations": [{"id": "a", "expression": "true", "fieldPath": "spec"}]}}),
    ]
}

async fn ask_for_certificate(admin: &Admin, name: &str, signer: &str, subject: (&str, &[&str])) {
    let agent = ("c1", "system:open-cluster-management:c1:agent");
    agent::ask(&admin.0, name, agent, signer, subject).await;
}

/// Everything that the controllers do.
pub(crate) async fn of_the_controllers(hub: &TestHub, client: Client) {
    let admin = Admin(hub.client());
    audited::reports(hub, "policyreports.yaml").await;
    hubs::load(hub, objects()).await;
    let (tap, sightings) = tap();
    let options = TideOptions {
        settings: Settings {
            roll_ups: RollUps::InOwnKind,
            decision_grace: Duration::from_secs(1),
            ..Settings::default()
        },
        tap: Some(tap),
        election: Some(ElectionOptions {
            namespace: "tidegate".to_owned(),
            name: "leader".to_owned(),
            identity: "one".to_owned(),
            pace: Pace {
                lease: Duration::from_secs(8),
                renew_within: Duration::from_secs(6),
                retry: Duration::from_millis(200),
            },
        }),
        stock: Some(StockLease {
            namespace: "open-cluster-management-hub".to_owned(),
            name: "manager-lock".to_owned(),
        }),
        ..TideOptions::default()
    };
    let tide = hubs::tide(client.clone(), options).await;
    let (_folder, documents) = watch::channel(PolicyDocuments::default());
    let policies = PolicyWatch::start(client.clone(), documents, PolicyTells::OnHub).await;
    let options = AuditOptions {
        facts: tide.facts(),
        rulebook: Arc::default(),
        leading: tide.leading(),
        metrics: Metrics::default(),
        reports: Reports::Written,
        events: Some(tide.recorder()),
        shows: None,
        pace: AuditPace {
            turn: Duration::from_millis(50),
            between_lists: Duration::from_millis(100),
            page: 100,
            ..AuditPace::default()
        },
    };
    let _webhooks = webhooks_watched(&client, &tide);
    let auditor = Auditor::start(client, options, sightings);
    an_add_on_comes_and_changes(&admin).await;
    its_agent_registers(&admin).await;
    reports_follow(&admin).await;
    the_add_on_goes(&admin).await;
    a_placement_gives_and_takes(hub, &admin).await;
    an_upgrade_comes_and_goes(hub, &admin).await;
    auditor.shutdown().await;
    policies.shutdown().await;
    tide.shutdown().await;
}

/// Watches the webhook configurations until what is returned is dropped.
fn webhooks_watched(client: &Client, tide: &Tide) -> JoinSet<()> {
    let mut watch = JoinSet::new();
    let (leading, recorder) = (tide.leading(), tide.recorder());
    watch.spawn(watch_webhooks(
        client.clone(),
        true,
        leading,
        recorder,
        Metrics::default(),
    ));
    watch
}

fn instance() -> String {
    format!("/apis/{ADDON}/v1alpha1/namespaces/c1/managedclusteraddons/hello")
}

const WORKS: &str = "/apis/work.open-cluster-management.io/v1/namespaces/c1/manifestworks";
const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1/namespaces/c1";

async fn says(admin: &Admin, kind: &str, words: &str) {
    let what = format!("{kind} says {words:?}");
    eventually(&what, || async {
        let found = admin.get(&instance()).await.unwrap_or_default();
        let mut all = found["status"]["conditions"].as_array().into_iter().flatten();
        all.any(|one| {
            one["type"] == kind && format!("{} {}", one["status"], one["reason"]).replace('"', "") == words
        })
    })
    .await;
}

async fn works(admin: &Admin) -> Vec<Value> {
    let list = admin.get(WORKS).await.unwrap_or_default();
    list["items"].as_array().cloned().unwrap_or_default()
}

async fn an_add_on_comes_and_changes(admin: &Admin) {
    eventually("two works", || async { works(admin).await.len() == 2 }).await;
    // Of an add-on that has not answered, the label comes after a minute only.
    let available = json!([{"type": "Available", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
    let status = json!({"status": {"conditions": available}});
    admin.merge(&format!("{}/status", instance()), status).await;
    eventually("the cluster tells of it", || async {
        let cluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
        let found = admin.get(cluster).await.unwrap_or_default();
        found["metadata"]["labels"]
            .get("feature.open-cluster-management.io/addon-hello")
            .is_some()
    })
    .await;
    eventually("the policy has a status", || async {
        let found = admin.get("/apis/tidegate.io/v1alpha1/addonpolicies/team").await;
        found.is_some_and(|found| found["status"].is_object())
    })
    .await;
    eventually("an event", || async {
        let found = admin
            .get("/apis/events.k8s.io/v1/events")
            .await
            .unwrap_or_default();
        found["items"].as_array().is_some_and(|all| !all.is_empty())
    })
    .await;
    let path = format!("/apis/{ADDON}/v1alpha1/addontemplates/hello");
    for manifests in [
        vec![manifest("a", 300 << 10), manifest("c", 300 << 10)],
        vec![manifest("a", 5)],
    ] {
        let count = manifests.len();
        admin
            .merge(&path, json!({"spec": template(&manifests)["spec"]}))
            .await;
        let last = manifests.last().expect("a manifest").clone();
        eventually("the works follow", || async {
            let works = works(admin).await;
            let text = format!("{works:?}");
            works.len() == count && text.contains(&format!("\"name\": String({})", last["metadata"]["name"]))
        })
        .await;
    }
}

async fn its_agent_registers(admin: &Admin) {
    says(admin, "RegistrationApplied", "True SetPermissionApplied").await;
    let binding = format!("{RBAC}/rolebindings/open-cluster-management:hello:clusterrole:agent:c1:0");
    admin.merge(&binding, json!({"subjects": []})).await;
    eventually("the agent is bound again", || async {
        let found = admin.get(&binding).await.unwrap_or_default();
        found["subjects"].as_array().is_some_and(|all| !all.is_empty())
    })
    .await;
    let status = admin.get(&instance()).await.expect("the instance");
    let subject = &status["status"]["registrations"][0]["subject"];
    let groups: Vec<&str> = subject["groups"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let user = subject["user"].as_str().expect("a user");
    ask_for_certificate(admin, "addon-c1-hello-1", HUB_SIGNER, (user, &groups)).await;
    ask_for_certificate(admin, "addon-c1-hello-2", OWN_SIGNER, ("worker", &["workers"])).await;
    eventually(
        "the hub's client is approved, and the other one signed",
        || async {
            let path = |number: u8| {
                format!("/apis/certificates.k8s.io/v1/certificatesigningrequests/addon-c1-hello-{number}")
            };
            let first = admin.get(&path(1)).await.unwrap_or_default();
            let second = admin.get(&path(2)).await.unwrap_or_default();
            first["status"]["conditions"].is_array() && second["status"]["certificate"].is_string()
        },
    )
    .await;
    let status = format!("{}/status", instance());
    admin
        .merge(&status, json!({"status": {"kubeClientDriver": "token"}}))
        .await;
    says(admin, "TokenInfrastructureReady", "True TokenInfrastructureReady").await;
    let role = format!("{RBAC}/roles/hello-token-role");
    admin.merge(&role, json!({"rules": []})).await;
    eventually("the token role is put back", || async {
        let found = admin.get(&role).await.unwrap_or_default();
        found["rules"].as_array().is_some_and(|all| !all.is_empty())
    })
    .await;
    admin
        .merge(&status, json!({"status": {"kubeClientDriver": "csr"}}))
        .await;
    eventually("the token infrastructure goes", || async {
        let account = "/api/v1/namespaces/c1/serviceaccounts/hello-agent";
        admin.get(&role).await.is_none() && admin.get(account).await.is_none()
    })
    .await;
}

async fn reports_follow(admin: &Admin) {
    let report = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/c1/policyreports/tidegate-audit";
    let counts = |count: usize| async move {
        let found = admin.get(report).await.unwrap_or_default();
        found["results"].as_array().map_or(0, Vec::len) == count
    };
    eventually("a report", || counts(1)).await;
    let other = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hallo", "namespace": "c1"}, "spec": {}});
    let place = format!("/apis/{ADDON}/v1alpha1/namespaces/c1/managedclusteraddons");
    admin
        .send("POST", &place, Some(("application/json", &other)))
        .await
        .expect("stored");
    eventually("the report grows", || counts(2)).await;
    eventually("the report of the hub", || async {
        admin
            .get("/apis/wgpolicyk8s.io/v1alpha2/clusterpolicyreports/tidegate-audit")
            .await
            .is_some()
    })
    .await;
    for name in ["helo", "hallo"] {
        admin.delete(&format!("{place}/{name}")).await;
    }
}

async fn the_add_on_goes(admin: &Admin) {
    let cluster = "/apis/cluster.open-cluster-management.io/v1/managedclusters/c1";
    admin
        .merge(cluster, json!({"metadata": {"labels": {"env": null}}}))
        .await;
    eventually("the add-on goes", || async {
        let binding = format!("{RBAC}/rolebindings/open-cluster-management:hello:clusterrole:agent:c1:0");
        admin.get(&instance()).await.is_none() && admin.get(&binding).await.is_none()
    })
    .await;
    eventually("the roll-up is written", || async {
        let told = admin.get("/apis/tidegate.io/v1alpha1/addonrollouts/hello").await;
        told.is_none_or(|told| told["status"]["conditions"].is_array())
    })
    .await;
    eventually("the report goes", || async {
        let report = "/apis/wgpolicyk8s.io/v1alpha2/namespaces/c1/policyreports/tidegate-audit";
        admin.get(report).await.is_none()
    })
    .await;
}

/// An add-on comes to a cluster by the decision of a placement, and goes when the decision names it no longer.
async fn a_placement_gives_and_takes(hub: &TestHub, admin: &Admin) {
    let of_clusters = "/apis/cluster.open-cluster-management.io/v1beta1/namespaces/default";
    hubs::load(hub, super::removals::placement("chosen")).await;
    super::removals::decide(admin, "chosen", &["c1"]).await;
    let addon = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": "chosen"},
        "spec": {"installStrategy": {"type": "Placements", "placements": [{"name": "chosen", "namespace": "default"}]}}});
    hubs::load(hub, [addon]).await;
    let instance = format!("/apis/{ADDON}/v1alpha1/namespaces/c1/managedclusteraddons/chosen");
    eventually("the placement gives the add-on", || async {
        admin.get(&instance).await.is_some()
    })
    .await;
    super::removals::decide(admin, "chosen", &[]).await;
    eventually("and takes it", || async { admin.get(&instance).await.is_none() }).await;
    admin
        .delete(&format!("/apis/{ADDON}/v1alpha1/clustermanagementaddons/chosen"))
        .await;
    admin.delete(&format!("{of_clusters}/placements/chosen")).await;
}

async fn an_upgrade_comes_and_goes(hub: &TestHub, admin: &Admin) {
    let group = "cluster.open-cluster-management.io";
    let cluster = format!("/apis/{group}/v1/managedclusters/c1");
    let named = json!({"metadata": {"labels": {"clusterID": "x", format!("{group}/clusterset"): "all"}}});
    admin.merge(&cluster, named).await;
    let available = json!({"type": "ManagedClusterConditionAvailable", "status": "True", "reason": "R", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"});
    let status = json!({"status": {"conditions": [available]}});
    admin.merge(&format!("{cluster}/status"), status).await;
    let place = json!({"name": "all", "namespace": "default"});
    let set = json!({"apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSet", "metadata": {"name": "all"},
        "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}});
    let binding = json!({"apiVersion": format!("{group}/v1beta2"), "kind": "ManagedClusterSetBinding", "metadata": place,
        "spec": {"clusterSet": "all"}});
    let upgrade = json!({"apiVersion": format!("{group}/v1beta1"), "kind": "ManagedClustersUpgrade", "metadata": place,
        "spec": {"clusterSelector": {}, "clusterVersion": {"version": "4.12.0"}, "upgradeStrategy": {"clusterUpgradeTimeout": "1s"}}});
    hubs::load(hub, [set, binding, upgrade]).await;
    let path = format!("/apis/{group}/v1beta1/namespaces/default/managedclustersupgrades/all");
    // Its agent is not there: it has the work, and after a second it has failed, and nothing is left.
    eventually("the cluster has not taken it", || async {
        let found = admin.get(&path).await.unwrap_or_default();
        found["status"]["clusters"][0]["reason"] == "NotApplied" && works(admin).await.is_empty()
    })
    .await;
    admin.delete(&path).await;
    eventually("the upgrade goes", || async { admin.get(&path).await.is_none() }).await;
}

/// Everything that controllers in observe mode do: they report all that they would write, for existing and for new objects.
pub(crate) async fn of_the_observers(hub: &TestHub, client: Client, used: impl Future<Output = ()>) {
    let admin = Admin(hub.client());
    hubs::load(hub, objects()).await;
    let metrics = Metrics::default();
    let options = TideOptions {
        part: Part::Observes,
        metrics: metrics.clone(),
        ..TideOptions::default()
    };
    let tide = hubs::tide(client.clone(), options).await;
    let (_folder, documents) = watch::channel(PolicyDocuments::default());
    let _webhooks = webhooks_watched(&client, &tide);
    let policies = PolicyWatch::start(client, documents, PolicyTells::InLog).await;
    let tells = |words: &'static str| {
        let metrics = metrics.clone();
        async move { metrics.modes().page().is_some_and(|page| page.contains(words)) }
    };
    eventually("the instance would be created", || {
        tells("hello: create ManagedClusterAddOn c1/hello")
    })
    .await;
    let own = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "c1"}, "spec": {}});
    hubs::load(hub, [own]).await;
    let page = || async { metrics.modes().page() };
    eventually_or("and adopted", page, || {
        tells("hello: patch ManagedClusterAddOn c1/hello")
    })
    .await;
    admin
        .delete(&format!("/apis/{ADDON}/v1alpha1/clustermanagementaddons/hello"))
        .await;
    let other = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn",
        "metadata": {"name": "other"}, "spec": {"installStrategy": {"type": "ClusterLabelSelector",
            "labelSelector": {"matchLabels": {"env": "prod"}}}}});
    hubs::load(hub, [other]).await;
    eventually("the next plan is reported", || {
        tells("other: create ManagedClusterAddOn c1/other")
    })
    .await;
    let text = metrics.text();
    let count = "tidegate_pending_actions{resource=\"managedclusteraddons\",act=\"create\"} 1";
    assert!(text.lines().any(|line| line == count), "{text}");
    assert!(text.lines().any(|line| line == "tidegate_leading 0"), "{text}");
    used.await;
    policies.shutdown().await;
    tide.shutdown().await;
}

/// Everything that the gate does.
pub(crate) async fn of_the_gate(hub: &TestHub, client: Client, used: impl Future<Output = ()>) {
    hubs::load(hub, objects()).await;
    let binder = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
        "metadata": {"name": "alice-binds"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole",
            "name": "tidegate-hub-permissions"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "alice"}]});
    hubs::load(hub, [binder]).await;
    let options = TideOptions {
        part: Part::Sees,
        ..TideOptions::default()
    };
    let tide = hubs::tide(client.clone(), options).await;
    assert!(
        tide.facts().load().is_complete(),
        "it is ready without works and grants"
    );
    assert!(!*tide.leading().borrow(), "it never writes");
    let (_folder, documents) = watch::channel(PolicyDocuments::default());
    let policies = PolicyWatch::start(client.clone(), documents, PolicyTells::InLog).await;
    for kind in [
        Kind::Cluster,
        Kind::Placement,
        Kind::AddOn,
        Kind::DeploymentConfig,
        Kind::Template,
        Kind::HubConfig,
        Kind::Namespace,
        Kind::HubClusterRole,
        Kind::HubRole,
    ] {
        let namespace = if kind.address().namespaced { "c1" } else { "" };
        let told = ask(client.clone(), ObjectKey::new(kind, namespace, "missing")).await;
        assert_eq!(told, Some(LiveFact::Absent), "{kind:?}");
    }
    let role = ObjectKey::new(Kind::HubClusterRole, "", "hello-reader");
    for (user, namespace, expected) in [("alice", "", true), ("alice", "c1", true), ("bob", "c1", false)] {
        let question = UserRight {
            object: role.clone(),
            namespace: namespace.into(),
        };
        let user = json!({"username": user, "groups": ["system:authenticated"]}).to_string();
        let may = is_allowed(client.clone(), user.as_str().into(), question).await;
        assert_eq!(may, Some(expected), "{user} {namespace:?}");
    }
    used.await;
    policies.shutdown().await;
    tide.shutdown().await;
}
