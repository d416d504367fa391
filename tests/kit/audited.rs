//! A dev hub with invalid objects, the controllers, and an audit with short intervals.

use std::sync::Arc;
use std::time::Duration;

use api::v1alpha1::ManagedClusterAddOn;
use arc_swap::ArcSwap;
use audit::{ReportKind, Rulebook};
use devhub::TestHub;
use kube::api::{DynamicObject, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use serde_json::{Value, json};
use tidegate::controllers::{AuditOptions, AuditPace, Auditor, Reports, Tide, TideOptions, tap};
use tidegate::telemetry::Metrics;
use tokio::sync::watch;

use super::{hubs, manifests, policies};

const ADDON: &str = "addon.open-cluster-management.io/v1alpha1";

/// Longer than a turn of the audit, by far.
pub(crate) const A_WHILE: Duration = Duration::from_millis(800);

/// A tide and an audit.
pub(crate) struct Audited {
    client: Client,
    tide: Tide,
    auditor: Auditor,
    metrics: Metrics,
    pub(crate) rulebook: Arc<ArcSwap<Rulebook>>,
}

impl Audited {
    pub(crate) async fn start(client: Client) -> Self {
        // The sender is dropped: the audit stays the leader.
        let (_always, leading) = watch::channel(true);
        Self::led(client, leading).await
    }

    /// Starts an audit that writes while `leading` is true.
    pub(crate) async fn led(client: Client, leading: watch::Receiver<bool>) -> Self {
        let (tap, sightings) = tap();
        let options = TideOptions {
            tap: Some(tap),
            ..TideOptions::default()
        };
        let tide = Tide::start(client.clone(), options)
            .await
            .expect("the controllers start");
        let (metrics, rulebook) = (Metrics::default(), Arc::new(ArcSwap::default()));
        let options = AuditOptions {
            facts: tide.facts(),
            rulebook: Arc::clone(&rulebook),
            leading,
            metrics: metrics.clone(),
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
        let auditor = Auditor::start(client.clone(), options, sightings);
        Self {
            client,
            tide,
            auditor,
            metrics,
            rulebook,
        }
    }

    pub(crate) async fn stop(self) {
        self.auditor.shutdown().await;
        self.tide.shutdown().await;
    }

    pub(crate) fn metrics(&self) -> String {
        self.metrics.text()
    }

    /// Returns the value of a metric without labels.
    pub(crate) fn count(&self, name: &str) -> u64 {
        let text = self.metrics();
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|value| value.trim().parse().ok())
            .unwrap_or_default()
    }

    /// Returns how many reports were written or removed.
    pub(crate) fn writes(&self) -> u64 {
        let text = self.metrics();
        let lines = text
            .lines()
            .filter(|line| line.starts_with("tidegate_writes_total{"));
        lines
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok())
            .sum()
    }

    pub(crate) fn api(&self, resource: &str, namespace: &str) -> Api<DynamicObject> {
        api(self.client.clone(), resource, namespace)
    }

    pub(crate) fn instances(&self, namespace: &str) -> Api<ManagedClusterAddOn> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Returns our report of a namespace.
    pub(crate) async fn report(&self, resource: &str, namespace: &str) -> Option<Value> {
        let found = self.api(resource, namespace).get("tidegate-audit").await.ok()?;
        serde_json::to_value(found).ok()
    }
}

/// Returns where reports of a resource are.
pub(crate) fn api(client: Client, resource: &str, namespace: &str) -> Api<DynamicObject> {
    let form = ReportKind::ALL
        .into_iter()
        .find(|form| form.resource() == resource)
        .expect("a kind of report");
    let (group, version) = form.api();
    let address = ApiResource {
        group: group.to_owned(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: form.kind().to_owned(),
        plural: resource.to_owned(),
    };
    if namespace.is_empty() {
        Api::all_with(client, &address)
    } else {
        Api::namespaced_with(client, namespace, &address)
    }
}

pub(crate) async fn store(hub: &TestHub, object: &Value) {
    hub.preload(object).await.expect("an object is accepted");
}

/// Serves kinds of reports from now on.
pub(crate) async fn reports(hub: &TestHub, file: &str) {
    define(hub, file, |_| {}).await;
}

/// The same, with definitions that are changed first.
pub(crate) async fn define(hub: &TestHub, file: &str, change: impl Fn(&mut Value)) {
    let definitions = manifests::documents(&format!("manifests/reports/{file}"));
    let kind = kube::core::GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    let api: Api<DynamicObject> = Api::all_with(hub.client(), &ApiResource::from_gvk(&kind));
    for mut definition in definitions {
        change(&mut definition);
        let definition = serde_json::from_value(definition).expect("an object");
        api.create(&PostParams::default(), &definition)
            .await
            .expect("a definition is accepted");
    }
}

pub(crate) fn addon(name: &str) -> Value {
    json!({"apiVersion": ADDON, "kind": "ClusterManagementAddOn", "metadata": {"name": name}, "spec": {}})
}

pub(crate) fn instance(name: &str) -> Value {
    json!({"apiVersion": ADDON, "kind": "ManagedClusterAddOn", "metadata": {"name": name, "namespace": "c1"}, "spec": {}})
}

/// A cluster, an add-on, an instance of an add-on that does not exist, and a template that no gate would let in.
pub(crate) fn objects() -> Vec<Value> {
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x", "namespace": "n"},
        "data": {"text": "{{NAME"}});
    vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "c1"}}),
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "c1"}, "spec": {"hubAcceptsClient": true}}),
        addon("hello"),
        instance("helo"),
        json!({"apiVersion": ADDON, "kind": "AddOnTemplate", "metadata": {"name": "old"},
            "spec": {"addonName": "hello", "agentSpec": {"workload": {"manifests": [manifest]}}, "registration": []}}),
    ]
}

/// A rulebook with one policy about instances.
pub(crate) fn policy(name: &str, expression: &str) -> Rulebook {
    let document = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": name}, "spec": {
        "matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["CREATE"],
            "resources": ["managedclusteraddons"]}]},
        "validations": [{"id": "a", "expression": expression, "message": "needs labels"}]}});
    policies::rulebook(&[document])
}

/// Starts an audit of a hub with something wrong on it.
pub(crate) async fn started() -> (TestHub, Audited) {
    let hub = hubs::hub().await;
    for object in objects() {
        store(&hub, &object).await;
    }
    let audited = Audited::start(hub.client()).await;
    (hub, audited)
}
