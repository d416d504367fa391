//! The default install namespace does not depend on the webhook's watch: a webhook that has not observed an add-on yet sets the same
//! namespace as one that has, because it reads the hub.
//!
//! `tests/rules/defaults.md` tests when a default is set.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use admission::{Endpoint, configurations};
use arc_swap::ArcSwap;
use devhub::TestHub;
use futures::FutureExt as _;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::{Value, json};
use store::Facts;
use tidegate::controllers;
use tidegate::server::{Authority, ExistenceReader, Gate, GateOptions, Limits};

use crate::kit::hubs::hub;

const ADDON: &str = "addon.open-cluster-management.io";
const CLUSTER: &str = "cluster.open-cluster-management.io";
const DEFAULT: &str = "open-cluster-management-agent-addon";

/// A hub whose webhook has listed it while it was empty, and has received no events since.
struct Behind {
    hub: TestHub,
    gate: Gate,
}

impl Behind {
    async fn start() -> Self {
        let hub = hub().await;
        let authority = Authority::generate().expect("an authority");
        let issued = authority.issue(["127.0.0.1"]).expect("a certificate");
        let client = hub.client();
        let options = GateOptions {
            metrics: tidegate::telemetry::Metrics::default(),
            witness: Some(ExistenceReader::new(move |object| {
                controllers::ask(client.clone(), object).boxed()
            })),
            bind: SocketAddr::from((Ipv4Addr::LOCALHOST, 0)),
            certificate: issued.certificate().clone(),
            name: None,
            callers: tidegate::server::Callers::default(),
            health: tidegate::server::Health::default(),
            facts: Arc::new(ArcSwap::from_pointee(Facts::default().completed())),
            rulebook: Arc::default(),
        };
        let limits = Limits {
            confirm: Duration::from_mins(1),
            decision: Duration::from_mins(1),
            ..Limits::default()
        };
        let gate = Gate::start_with(options, limits).await.expect("the gate starts");
        let endpoint = Endpoint::Url(format!("https://{}", gate.address()));
        for guard in configurations(&endpoint, Some(authority.ca_pem())) {
            hub.preload(&guard).await.expect("the gate is registered");
        }
        for cluster in ["c1", "c2", "c3"] {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cluster}});
            hub.preload(&namespace).await.expect("a namespace");
        }
        Self { hub, gate }
    }

    /// Applies an add-on with these placements (name and install namespace), whether it exists or not.
    async fn addon(&self, name: &str, placements: &[(&str, &str)]) {
        let placements = placements.iter().map(|(name, namespace)| {
            json!({"namespace": "default", "name": name, "addonSpec": {"installNamespace": namespace}})
        });
        let placements: Vec<Value> = placements.collect();
        let addon = json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ClusterManagementAddOn",
            "metadata": {"name": name},
            "spec": {"installStrategy": {"type": "Placements", "placements": placements}}});
        let params = PatchParams::apply("git").force();
        let resource = resource("ClusterManagementAddOn");
        let api: Api<DynamicObject> = Api::all_with(self.hub.client(), &resource);
        api.patch(name, &params, &Patch::Apply(&addon))
            .await
            .expect("an add-on");
    }

    async fn decide(&self, placement: &str, clusters: &[&str]) {
        let decisions: Vec<Value> = clusters
            .iter()
            .map(|name| json!({"clusterName": name, "reason": ""}))
            .collect();
        let decision = json!({"apiVersion": format!("{CLUSTER}/v1beta1"), "kind": "PlacementDecision",
            "metadata": {"name": format!("{placement}-decision-1"), "namespace": "default",
                "labels": {"cluster.open-cluster-management.io/placement": placement}}});
        self.hub.preload(&decision).await.expect("a decision");
        let gvk = GroupVersionKind::gvk(CLUSTER, "v1beta1", "PlacementDecision");
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.hub.client(), "default", &ApiResource::from_gvk(&gvk));
        let status = Patch::Merge(json!({"status": {"decisions": decisions}}));
        let name = format!("{placement}-decision-1");
        let written = api.patch_status(&name, &PatchParams::default(), &status).await;
        written.expect("a status");
    }

    /// Applies an instance that names no namespace by server-side apply; returns the one that it has then.
    async fn applied(&self, name: &str, cluster: &str, dry_run: bool) -> String {
        let mut params = PatchParams::apply("git").force();
        params.dry_run = dry_run;
        let found = self
            .api(cluster)
            .patch(name, &params, &Patch::Apply(&bare(name, cluster)))
            .await;
        namespace(&found.expect("an instance"))
    }

    /// The same by client-side apply.
    async fn created(&self, name: &str, cluster: &str) -> String {
        let mut object = bare(name, cluster);
        let last = object.to_string();
        object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": last});
        let object = serde_json::from_value(object).expect("an object");
        let found = self.api(cluster).create(&PostParams::default(), &object).await;
        namespace(&found.expect("an instance"))
    }

    fn api(&self, cluster: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.hub.client(), cluster, &resource("ManagedClusterAddOn"))
    }

    async fn stop(self) {
        self.gate.shutdown().await;
        self.hub.shutdown().await;
    }
}

fn resource(kind: &str) -> ApiResource {
    ApiResource::from_gvk(&GroupVersionKind::gvk(ADDON, "v1alpha1", kind))
}

fn bare(name: &str, cluster: &str) -> Value {
    json!({"apiVersion": format!("{ADDON}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": name, "namespace": cluster}, "spec": {}})
}

fn namespace(found: &DynamicObject) -> String {
    let namespace = found
        .data
        .pointer("/spec/installNamespace")
        .and_then(Value::as_str);
    namespace.unwrap_or_default().to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_gate_that_has_not_seen_the_add_on_fills_in_its_namespace() {
    let behind = Behind::start().await;
    // As Flux does it: everything dry, and then everything.
    assert_eq!(
        behind.applied("hello", "c1", true).await,
        DEFAULT,
        "there is no add-on yet"
    );
    behind.addon("hello", &[("all", "placed-here")]).await;
    assert_eq!(behind.applied("hello", "c1", false).await, "placed-here");
    assert_eq!(behind.applied("hello", "c2", true).await, "placed-here");
    assert_eq!(behind.created("hello", "c2").await, "placed-here");
    // What the add-on says now counts, not what it said a moment ago.
    behind.addon("hello", &[("all", "moved")]).await;
    assert_eq!(behind.applied("hello", "c3", false).await, "moved");
    assert_eq!(
        behind.applied("hello", "c1", false).await,
        "placed-here",
        "what is stored stays"
    );
    behind.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn where_placements_differ_the_hub_is_asked_for_their_decisions() {
    let behind = Behind::start().await;
    behind
        .addon("hello", &[("all", "everywhere"), ("canary", "canary-ns")])
        .await;
    behind.decide("all", &["c1", "c2"]).await;
    behind.decide("canary", &["c2"]).await;
    assert_eq!(behind.applied("hello", "c1", false).await, "everywhere");
    assert_eq!(behind.created("hello", "c2").await, "canary-ns");
    assert_eq!(
        behind.applied("hello", "c3", false).await,
        DEFAULT,
        "no placement selects it"
    );
    behind.stop().await;
}
