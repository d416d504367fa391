//! The works that an add-on would have on a cluster, with the origin of every value: rendered by the planner, printed by `render`.

use insight::forecast::{RenderedCluster, Unknown, works, works_notes};
use insight::offline::Hub;
use jiff::Timestamp;
use serde_json::Value;
use store::{Kind, Settings};

const HUB: &str = "
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: cluster1, labels: {a: b}}, spec: {hubAcceptsClient: true}, status: {conditions: [{type: ManagedClusterConditionAvailable, status: 'True', reason: x, message: x, lastTransitionTime: '2026-11-20T00:00:00Z'}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: cluster2, labels: {a: b}}, spec: {hubAcceptsClient: true}, status: {conditions: [{type: ManagedClusterConditionAvailable, status: 'True', reason: x, message: x, lastTransitionTime: '2026-11-20T00:00:00Z'}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1, kind: ManagedCluster, metadata: {name: cluster3}, spec: {hubAcceptsClient: true}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: Placement, metadata: {name: two, namespace: default, uid: p, generation: 1}, spec: {}, status: {numberOfSelectedClusters: 2, decisionGroups: [{decisionGroupIndex: 0, decisionGroupName: '', decisions: [two-1], clusterCount: 2}], conditions: [{type: PlacementSatisfied, status: 'True', reason: x, message: x, lastTransitionTime: '2026-11-20T00:00:00Z'}]}}
---
{apiVersion: cluster.open-cluster-management.io/v1beta1, kind: PlacementDecision, metadata: {name: two-1, namespace: default, labels: {cluster.open-cluster-management.io/placement: two, cluster.open-cluster-management.io/decision-group-index: '0', cluster.open-cluster-management.io/decision-group-name: ''}}, status: {decisions: [{clusterName: cluster1, reason: ''}, {clusterName: cluster2, reason: ''}]}}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: metrics, uid: u}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: metrics}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {namespace: default, name: common}}
  installStrategy:
    type: Placements
    placements:
    - name: two
      namespace: default
      configs: [{group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: default, name: placed}]
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: metrics}
spec:
  addonName: metrics
  agentSpec:
    workload:
      manifests:
      - {apiVersion: v1, kind: ConfigMap, metadata: {name: metrics, namespace: '{{INSTALL_NAMESPACE}}'}, data: {level: '{{LEVEL}}', cluster: '{{CLUSTER_NAME}}'}}
      - {apiVersion: v1, kind: Secret, metadata: {name: metrics, namespace: '{{INSTALL_NAMESPACE}}'}, stringData: {token: hush-hush-hush}}
  registration: []
---
{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: AddOnDeploymentConfig, metadata: {name: common, namespace: default}, spec: {customizedVariables: [{name: LEVEL, value: info}]}}
---
{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: AddOnDeploymentConfig, metadata: {name: placed, namespace: default}, spec: {customizedVariables: [{name: LEVEL, value: warn}], agentInstallNamespace: agents}}
---
{apiVersion: addon.open-cluster-management.io/v1alpha1, kind: AddOnDeploymentConfig, metadata: {name: own, namespace: default}, spec: {customizedVariables: [{name: LEVEL, value: debug}], registries: [{source: a.example, mirror: b.example}]}}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: metrics, namespace: cluster2, uid: i}
spec:
  installNamespace: elsewhere
  configs: [{group: addon.open-cluster-management.io, resource: addondeploymentconfigs, namespace: default, name: own}]
";

fn hub() -> Hub {
    let mut hub = Hub::default();
    let documents: Vec<Value> = serde_saphyr::from_multiple(HUB).expect("YAML");
    for document in documents {
        hub.put(document);
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    hub
}

fn rendered(hub: &Hub, addon: &str, cluster: &str) -> Result<RenderedCluster, Unknown> {
    let now = Timestamp::from_second(1_795_219_200).unwrap_or_default();
    works(hub, Settings::default(), (addon, cluster), now)
}

/// What is said, without the hashes, and the ConfigMap that the cluster gets.
fn told(cluster: &str) -> (Vec<String>, Value) {
    let rendered = rendered(&hub(), "metrics", cluster).expect("they are known");
    let brief = |line: String| {
        let parts = line.split_once('(').zip(line.split_once("): "));
        let hashed = parts.filter(|_| line.contains(".open-cluster-management.io "));
        hashed.map_or_else(
            || line.clone(),
            |((before, _), (_, after))| format!("{before}#: {after}"),
        )
    };
    let notes = works_notes(&rendered).into_iter().map(brief).collect();
    let work = rendered.works.first().cloned().unwrap_or_default();
    (notes, work["spec"]["workload"]["manifests"].clone())
}

#[test]
fn every_value_names_the_layer_that_says_so() {
    let (notes, manifests) = told("cluster1");
    assert_eq!(
        notes,
        [
            "metrics on cluster1",
            "configurations:",
            "  addondeploymentconfigs.addon.open-cluster-management.io default/placed #: from placement default/two",
            "  addontemplates.addon.open-cluster-management.io metrics #: a default of the add-on",
            "variables:",
            "  CLUSTER_NAME = \"cluster1\": built-in, cannot be overridden",
            "  HUB_KUBECONFIG = \"/managed/hub-kubeconfig/kubeconfig\": built-in",
            "  INSTALL_NAMESPACE = \"agents\": spec.agentInstallNamespace of AddOnDeploymentConfig default/placed (from placement default/two)",
            "  LEVEL = \"warn\": AddOnDeploymentConfig default/placed (from placement default/two)",
        ]
    );
    assert_eq!(manifests[0]["metadata"]["namespace"], "agents");
    assert_eq!(manifests[0]["data"]["level"], "warn");
    assert_eq!(manifests[0]["data"]["cluster"], "cluster1");
    assert_eq!(manifests[1]["stringData"]["token"], "(hidden)");
}

#[test]
fn the_clusters_own_list_comes_last_and_says_so() {
    let (notes, manifests) = told("cluster2");
    let own = "AddOnDeploymentConfig default/own (from the ManagedClusterAddOn)";
    for line in [
        format!("  LEVEL = \"debug\": {own}"),
        "  INSTALL_NAMESPACE = \"elsewhere\": spec.installNamespace of the ManagedClusterAddOn".to_owned(),
        format!("  image mirrors = \"a.example -> b.example\": {own}"),
    ] {
        assert!(notes.contains(&line), "{line}: {notes:#?}");
    }
    assert_eq!(manifests[0]["metadata"]["namespace"], "elsewhere");
    assert_eq!(manifests[0]["data"]["level"], "debug");
}

#[test]
fn a_work_is_what_is_asked_for_and_not_what_a_hub_says_of_it() {
    let rendered = rendered(&hub(), "metrics", "cluster1").expect("they are known");
    let work = &rendered.works[0];
    assert_eq!(work["kind"], "ManifestWork");
    assert_eq!(work["metadata"]["namespace"], "cluster1");
    for name in ["uid", "resourceVersion", "generation", "creationTimestamp"] {
        assert!(work["metadata"].get(name).is_none(), "{name}: {work:#}");
    }
    assert!(work.get("status").is_none(), "{work:#}");
}

#[test]
fn unselected_and_unknown_clusters_are_distinguished() {
    let (notes, manifests) = told("cluster3");
    assert_eq!(notes[0], "The add-on metrics is not installed on cluster3.");
    assert_eq!(manifests, Value::Null);
    for (addon, cluster, said) in [
        (
            "metrisc",
            "cluster1",
            "no ClusterManagementAddOn has the name \"metrisc\"; did you mean \"metrics\"?",
        ),
        (
            "metrics",
            "clsuter1",
            "no ManagedCluster has the name \"clsuter1\"; did you mean \"cluster1\"?",
        ),
        (
            "nope",
            "cluster1",
            "no ClusterManagementAddOn has the name \"nope\"; there is \"metrics\"",
        ),
    ] {
        let unknown = rendered(&hub(), addon, cluster).expect_err("it is unknown");
        assert_eq!(unknown.to_string(), said);
    }
}
