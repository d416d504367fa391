//! Rows for the work agent: what a work does to a cluster and what its status then says.

use super::*;
use crate::{
    fault::{ActiveFaults, Faults, Troubles},
    openshift::{AgentRights, Operator, Times},
    wire::{FeedbackValue, FieldValue, Meta},
};
use serde_json::{Map, json};
use std::time::Duration;

fn deployment(name: &str) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "ns"}, "spec": {"replicas": 2}})
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "ns"}})
}

/// A work in its cluster, with whatever goes wrong there.
struct Bench {
    work: ManifestWork,
    cluster: VirtualCluster,
    active_faults: ActiveFaults,
    now: i64,
}

impl Bench {
    fn new(spec: Value) -> Self {
        let meta = Meta {
            name: "w".to_owned(),
            namespace: "c1".to_owned(),
            generation: 1,
            finalizers: vec![finalizer::WORK.to_owned()],
            ..Meta::default()
        };
        let spec = serde_json::from_value(spec).expect("a spec in wire form");
        let work = ManifestWork {
            meta,
            spec,
            status: WorkStatus::default(),
        };
        Self {
            work,
            cluster: VirtualCluster::new(3),
            active_faults: ActiveFaults::default(),
            now: 0,
        }
    }

    fn of(manifests: &[Value]) -> Self {
        Self::new(json!({"workload": {"manifests": manifests}}))
    }

    fn with_fault(mut self, text: &str) -> Self {
        self.active_faults = ActiveFaults::new(&Faults::parse([text]).expect("a fault"));
        self
    }

    fn change(&mut self, spec: Value) {
        self.work.spec = serde_json::from_value(spec).expect("a spec in wire form");
        self.work.meta.generation += 1;
    }

    /// Lets the agent act once, and the hub store what it reports.
    fn act(&mut self) -> AgentWrite {
        self.now += 60;
        let at = Duration::from_secs(self.now.unsigned_abs());
        let effects = self
            .active_faults
            .effects("c1", "w", self.work.meta.generation, at);
        let now = Timestamp::from_second(self.now).expect("a time");
        self.cluster.live(now, Troubles::default());
        let Look { answer, .. } = answer(&self.work, &mut self.cluster, &effects, now);
        if let AgentWrite::Report(status) = &answer {
            self.work.status = status.clone();
        }
        answer
    }

    fn conditions(&self) -> Vec<String> {
        said(&self.work.status.conditions)
    }

    fn manifest_conditions(&self, ordinal: usize) -> Vec<String> {
        said(&self.work.status.resource_status.manifests[ordinal].conditions)
    }

    fn names(&self) -> Vec<&str> {
        self.cluster.keys().map(|key| key.name.as_str()).collect()
    }
}

fn said(conditions: &[Condition]) -> Vec<String> {
    let text = |c: &Condition| {
        let generation = c
            .observed_generation
            .map(|generation| format!("@{generation}"))
            .unwrap_or_default();
        format!(
            "{}{generation}={:?} {}: {}",
            c.kind, c.status, c.reason, c.message
        )
    };
    conditions.iter().map(text).collect()
}

#[test]
fn takes_hold_before_it_applies_anything() {
    let mut bench = Bench::of(&[config_map("a")]);
    bench.work.meta.finalizers.clear();
    assert_eq!(bench.act(), AgentWrite::TakeHold);
    assert_eq!(bench.names(), Vec::<&str>::new());
}

#[test]
fn an_applied_work_says_so_once() {
    let mut bench = Bench::of(&[deployment("agent"), config_map("settings")]);
    assert!(matches!(bench.act(), AgentWrite::Report(_)));
    assert_eq!(
        bench.conditions(),
        [
            "Applied@1=True AppliedManifestWorkComplete: Apply manifest work complete",
            "Available@1=True ResourcesAvailable: All resources are available",
        ]
    );
    assert_eq!(
        bench.manifest_conditions(0),
        [
            "Applied@1=True AppliedManifestComplete: Apply manifest complete",
            "Available=True ResourceAvailable: Resource is available",
            "StatusFeedbackSynced=True NoStatusFeedbackSynced: ",
        ]
    );
    let meta = &bench.work.status.resource_status.manifests[0].resource_meta;
    assert_eq!(
        serde_json::to_value(meta).expect("metadata is JSON"),
        json!({"ordinal": 0, "group": "apps", "version": "v1", "kind": "Deployment", "resource": "deployments", "name": "agent", "namespace": "ns"})
    );
    assert_eq!(
        bench.act(),
        AgentWrite::Nothing,
        "nothing to say about an unchanged work"
    );
}

#[test]
fn a_new_generation_is_observed_without_moving_times() {
    let mut bench = Bench::of(&[config_map("a")]);
    bench.act();
    bench.change(json!({"workload": {"manifests": [config_map("a"), config_map("b")]}}));
    bench.act();
    assert_eq!(
        bench.conditions()[0],
        "Applied@2=True AppliedManifestWorkComplete: Apply manifest work complete"
    );
    assert_eq!(
        bench.work.status.conditions[0].last_transition_time,
        "1970-01-01T00:01:00Z"
    );
}

#[test]
fn a_manifest_that_leaves_the_work_leaves_the_cluster() {
    let mut bench = Bench::of(&[config_map("a"), config_map("b")]);
    bench.act();
    bench.change(json!({"workload": {"manifests": [config_map("b")]}}));
    bench.act();
    assert_eq!(bench.names(), ["b"]);
    assert_eq!(bench.work.status.resource_status.manifests.len(), 1);
}

#[test]
fn a_failure_to_apply_tells_which_manifest_and_why() {
    let mut bench = Bench::of(&[deployment("agent"), config_map("settings")])
        .with_fault("c1=apply-failure,manifest=agent,for=90s:quota exceeded");
    bench.act();
    assert_eq!(
        bench.conditions(),
        [
            "Applied@1=False AppliedManifestWorkFailed: Failed to apply manifest work",
            "Available@1=False ResourcesNotAvailable: 1 of 2 resources are not available",
        ]
    );
    assert_eq!(
        bench.manifest_conditions(0),
        [
            "Applied@1=False AppliedManifestFailed: Failed to apply manifest: quota exceeded",
            "Available=False ResourceNotAvailable: Resource is not available",
        ]
    );
    assert_eq!(bench.names(), ["settings"]);
    bench.act();
    bench.act();
    assert_eq!(
        bench.conditions()[0],
        "Applied@1=True AppliedManifestWorkComplete: Apply manifest work complete",
        "healed"
    );
    assert_eq!(bench.names(), ["settings", "agent"]);
}

#[test]
fn a_failed_upgrade_leaves_the_old_object_available() {
    let mut bench = Bench::of(&[config_map("a")]).with_fault("c1=apply-failure,from=2:no");
    bench.act();
    bench.change(json!({"workload": {"manifests": [config_map("a")]}}));
    bench.act();
    assert_eq!(
        bench.conditions(),
        [
            "Applied@2=False AppliedManifestWorkFailed: Failed to apply manifest work",
            "Available@2=True ResourcesAvailable: All resources are available",
        ]
    );
}

#[test]
fn an_unavailable_workload_reports_no_replicas() {
    let configs = json!([{
        "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "ns", "name": "*"},
        "feedbackRules": [{"type": "WellKnownStatus"}],
    }]);
    let spec = json!({"workload": {"manifests": [deployment("agent")]}, "manifestConfigs": configs});
    let mut bench = Bench::new(spec.clone());
    bench.act();
    assert_eq!(
        values(&bench),
        ["ReadyReplicas=2", "Replicas=2", "AvailableReplicas=2"]
    );

    let mut bench = Bench::new(spec).with_fault("c1=unavailable:crash loop");
    bench.act();
    assert_eq!(
        values(&bench),
        ["Replicas=2"],
        "counts of zero are left out, as Kubernetes does"
    );
    assert_eq!(
        bench.conditions(),
        [
            "Applied@1=True AppliedManifestWorkComplete: Apply manifest work complete",
            "Available@1=False ResourcesNotAvailable: 1 of 1 resources are not available",
        ]
    );
    assert_eq!(
        bench.manifest_conditions(0)[1],
        "Available=False ResourceNotAvailable: crash loop"
    );
}

fn values(bench: &Bench) -> Vec<String> {
    let text = |value: &FeedbackValue| {
        let shown = match &value.field_value {
            FieldValue::Integer { integer } => integer.to_string(),
            FieldValue::String { string } => format!("\"{string}\""),
            FieldValue::Boolean { boolean } => boolean.to_string(),
            FieldValue::JsonRaw { json_raw } => json_raw.clone(),
        };
        format!("{}={shown}", value.name)
    };
    bench
        .work
        .status
        .resource_status
        .manifests
        .iter()
        .flat_map(|m| m.status_feedback.values.iter().map(text))
        .collect()
}

#[test]
fn well_known_feedback_of_each_kind() {
    let feedback = |manifest: Value, group: &str, resource: &str| {
        let configs = json!([{
            "resourceIdentifier": {"group": group, "resource": resource, "name": "x"},
            "feedbackRules": [{"type": "WellKnownStatus"}],
        }]);
        let mut bench =
            Bench::new(json!({"workload": {"manifests": [manifest]}, "manifestConfigs": configs}));
        bench.act();
        (values(&bench).join(" "), bench.manifest_conditions(0)[2].clone())
    };
    let object = |api_version: &str, kind: &str, spec: Value| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}, "spec": spec});
    let synced = "StatusFeedbackSynced=True StatusFeedbackSynced: ".to_owned();
    assert_eq!(
        feedback(object("apps/v1", "DaemonSet", json!({})), "apps", "daemonsets"),
        (
            "NumberReady=3 DesiredNumberScheduled=3 NumberAvailable=3".to_owned(),
            synced.clone()
        )
    );
    assert_eq!(
        feedback(
            object("batch/v1", "Job", json!({"completions": 4})),
            "batch",
            "jobs"
        ),
        ("JobComplete=\"True\" JobSucceeded=4".to_owned(), synced.clone())
    );
    assert_eq!(
        feedback(object("v1", "Pod", json!({"restartPolicy": "Never"})), "", "pods"),
        (
            "PodReady=\"False\" PodPhase=\"Succeeded\"".to_owned(),
            synced.clone()
        )
    );
    assert_eq!(
        feedback(
            object("apps/v1", "Deployment", json!({"replicas": 0})),
            "apps",
            "deployments"
        ),
        (String::new(), synced)
    );
    let (seen, condition) = feedback(object("v1", "ConfigMap", json!({})), "", "configmaps");
    assert_eq!(
        (seen.as_str(), condition.as_str()),
        (
            "",
            "StatusFeedbackSynced=False StatusFeedbackSyncFailed: Sync status feedback failed with error \
             cannot find the wellknown statuses for resource with gvk v1, Kind=ConfigMap"
        )
    );
}

#[test]
fn json_paths_are_reported_with_their_type() {
    let configs = json!([{
        "resourceIdentifier": {"group": "apps", "resource": "deployments", "namespace": "ns", "name": "agent"},
        "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [
            {"name": "available", "path": ".status.conditions[?(@.type==\"Available\")].status"},
            {"name": "replicas", "path": ".spec.replicas"},
            {"name": "metadata", "path": ".metadata"},
            {"name": "kinds", "path": ".status.conditions[*].type"},
            {"name": "nothing", "path": ".spec.paused"},
            {"name": "other", "path": ".spec.replicas", "version": "v2"},
        ]}],
    }]);
    let mut bench =
        Bench::new(json!({"workload": {"manifests": [deployment("agent")]}, "manifestConfigs": configs}));
    bench.act();
    assert_eq!(
        values(&bench),
        [
            "available=\"True\"",
            "replicas=2",
            "metadata={\"generation\":1,\"name\":\"agent\",\"namespace\":\"ns\"}",
            "kinds=[\"Available\",\"Progressing\"]",
        ]
    );
    assert_eq!(
        bench.manifest_conditions(0)[2],
        "StatusFeedbackSynced=False StatusFeedbackSyncFailed: Sync status feedback failed with error \
         version set in the path other is not matched for the related resource"
    );
}

#[test]
fn a_deleted_work_takes_with_it_what_it_owns_alone() {
    let cases = [
        (json!({}), vec!["shared"]),
        (json!({"propagationPolicy": "Foreground"}), vec!["shared"]),
        (json!({"propagationPolicy": "Orphan"}), vec!["a", "b", "shared"]),
        (
            json!({"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": [
                {"group": "", "resource": "configmaps", "namespace": "ns", "name": "b"},
            ]}}),
            vec!["b", "shared"],
        ),
    ];
    for (option, left) in cases {
        let manifests = [config_map("a"), config_map("b"), config_map("shared")];
        let mut bench = Bench::new(json!({"workload": {"manifests": manifests}, "deleteOption": option}));
        bench.act();
        let shared = bench
            .cluster
            .keys()
            .find(|key| key.name == "shared")
            .cloned()
            .expect("it was applied");
        bench.cluster.claim(&shared, "another", Ownership::Owned);
        bench.work.meta.terminating = true;
        assert_eq!(bench.act(), AgentWrite::LetGo);
        assert_eq!(bench.names(), left, "{option}");
        bench.work.meta.finalizers = vec!["example.com/other".to_owned()];
        assert_eq!(bench.act(), AgentWrite::Nothing);
    }
}

#[test]
fn update_strategies_are_kept() {
    let changed = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "ns"}, "data": {"k": "v"}});
    for (strategy, data, available) in [
        ("Update", json!("v"), true),
        ("CreateOnly", json!(null), true),
        ("ReadOnly", json!(null), false),
    ] {
        let configs = json!([{"resourceIdentifier": {"resource": "configmaps", "namespace": "ns", "name": "a"}, "updateStrategy": {"type": strategy}}]);
        let mut bench =
            Bench::new(json!({"workload": {"manifests": [config_map("a")]}, "manifestConfigs": configs}));
        bench.act();
        bench.change(json!({"workload": {"manifests": [changed]}, "manifestConfigs": configs}));
        bench.act();
        let object = bench
            .cluster
            .keys()
            .next()
            .and_then(|key| bench.cluster.object(key))
            .unwrap_or_default();
        assert_eq!(
            object.pointer("/data/k").cloned().unwrap_or_default(),
            data,
            "{strategy}"
        );
        assert_eq!(
            bench.conditions()[1].starts_with("Available@2=True"),
            available,
            "{strategy}"
        );
    }
}

#[test]
fn an_incomplete_manifest_fails_alone() {
    let mut bench = Bench::of(&[
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {}}),
        config_map("a"),
    ]);
    bench.act();
    assert_eq!(
        bench.manifest_conditions(0),
        [
            "Applied@1=False AppliedManifestFailed: Failed to apply manifest: metadata.name is missing",
            "Available=Unknown IncompletedResourceMeta: Resource meta is incompleted",
        ]
    );
    assert_eq!(
        bench.conditions()[1],
        "Available@1=Unknown ResourcesStatusUnknown: 1 of 2 resources have unknown status"
    );
    assert_eq!(bench.names(), ["a"]);
}

#[test]
fn a_work_without_manifests_is_done() {
    let mut bench = Bench::of(&[]);
    bench.act();
    assert_eq!(
        bench.conditions()[1],
        "Available@1=True ResourcesAvailable: All resources are available"
    );
}

#[test]
fn an_agent_without_rights_fails_first_and_succeeds_when_its_binding_is_there() {
    let version = json!({"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion", "metadata": {"name": "version"}, "spec": {}});
    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "admin-ocm"},
        "roleRef": {"kind": "ClusterRole", "name": "cluster-admin"},
        "subjects": [{"kind": "ServiceAccount", "name": "klusterlet-work-sa", "namespace": "open-cluster-management-agent"}],
    });
    let mut bench = Bench::of(&[version, binding]);
    let installed = semver::Version::new(4, 11, 9);
    let operator = Operator::new(&installed, 3, Times::default(), Timestamp::UNIX_EPOCH);
    bench.cluster = VirtualCluster::new(3).with_openshift(operator, &Map::new(), AgentRights::AsBound);
    bench.act();
    assert!(bench.conditions()[0].starts_with("Applied@1=False"));
    let said = &bench.manifest_conditions(0)[0];
    assert!(
        said.contains("clusterversions.config.openshift.io \"version\" is forbidden"),
        "{said}"
    );
    assert!(bench.manifest_conditions(1)[0].starts_with("Applied@1=True"));
    bench.act();
    assert!(bench.conditions()[0].starts_with("Applied@1=True"));
}
