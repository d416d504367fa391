//! `tidegate check` on metadata that no API server accepts.

use lint::check::{Background, File, MissingFacts, check};

fn found(text: &str) -> Vec<String> {
    let file = File {
        path: "o.yaml".to_owned(),
        text: text.to_owned(),
    };
    let report = check(&[file], &Background::default(), MissingFacts::Skip);
    let line = |one: &lint::report::Finding| {
        // Kubernetes' message about a pattern is long, and the same everywhere.
        let words: String = one.message.chars().take(70).collect();
        let hint = one
            .hint
            .as_ref()
            .map(|hint| format!("; {hint}"))
            .unwrap_or_default();
        format!(
            "{:?} {} {}: {words}{hint} [{}]",
            one.severity, one.spot.line, one.path, one.rule
        )
    };
    let own = report
        .findings
        .iter()
        .filter(|one| one.rule.starts_with("metadata/"));
    own.map(line).collect()
}

#[test]
fn placeholders_and_other_names_that_no_api_server_accepts_are_errors() {
    let text = r#"apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: "config-<cluster-name>", namespace: "${CLUSTER}"}
spec: {}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: my_template, labels: {"bad label!": "x y"}, annotations: {"no blanks": x}}
spec: {addonName: x, agentSpec: {workload: {manifests: []}}}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {namespace: default}
spec: {}
"#;
    assert_eq!(
        found(text),
        [
            "Error 3 metadata.name: Invalid value: \"config-<cluster-name>\": a lowercase RFC 1123 subdomain; replace the placeholder [metadata/value]",
            "Error 3 metadata.namespace: Invalid value: \"${CLUSTER}\": a lowercase RFC 1123 label must consist o; replace the placeholder [metadata/value]",
            "Error 8 metadata.name: Invalid value: \"my_template\": a lowercase RFC 1123 subdomain must cons [metadata/value]",
            "Error 8 metadata.labels[bad label!]: Invalid value: \"bad label!\": name part must consist of alphanumeric ch [metadata/value]",
            "Error 8 metadata.labels[bad label!]: Invalid value: \"x y\": a valid label must be an empty string or consist [metadata/value]",
            "Error 8 metadata.annotations[no blanks]: Invalid value: \"no blanks\": name part must consist of alphanumeric cha [metadata/value]",
            "Error 13 metadata.name: Required value: name or generateName is required [metadata/value]",
        ]
    );
}

#[test]
fn scopes_types_finalizers_and_owners_are_checked() {
    let text = r#"apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata: {name: hello}
spec: {}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: hello, namespace: default, labels: {on: true, version: 1}}
spec: {}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: world, namespace: default, finalizers: [a b], ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o}]}
spec: {}
---
apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: w, namespace: "{{CLUSTER}}"}
spec: {workload: {manifests: []}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: Wrong_Name}
spec: {policyName: x, validationActions: [Deny]}
---
apiVersion: v1
kind: Service
metadata: {name: "Not_Judged"}
"#;
    assert_eq!(
        found(text),
        [
            "Warning 3 metadata.namespace: the object is created in the namespace that the client selects [metadata/no-namespace]",
            "Error 8 metadata.labels[on]: Invalid value: true: must be a string; write it in quotes [metadata/value]",
            "Error 8 metadata.labels[version]: Invalid value: 1: must be a string; write it in quotes [metadata/value]",
            "Error 13 metadata.namespace: Forbidden: not allowed on this type [metadata/value]",
            "Error 13 metadata.finalizers: Invalid value: \"a b\": name part must consist of alphanumeric character [metadata/value]",
            "Error 13 metadata.ownerReferences.uid: Invalid value: \"\": must not be empty [metadata/value]",
            "Error 18 metadata.namespace: Invalid value: \"{{CLUSTER}}\": a lowercase RFC 1123 label must consist ; replace the placeholder [metadata/value]",
            "Error 23 metadata.name: Invalid value: \"Wrong_Name\": a lowercase RFC 1123 subdomain must consi [metadata/value]",
        ]
    );
}

#[test]
fn sound_metadata_is_no_finding() {
    let text = r#"apiVersion: addon.open-cluster-management.io/v1beta1
kind: ManagedClusterAddOn
metadata:
  name: hello
  namespace: cluster1
  labels: {app.kubernetes.io/name: hello, empty: ""}
  annotations: {example.com/note: any text at all <not a placeholder>}
  finalizers: [example.com/hold]
  ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: o, uid: "1"}]
spec: {}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {generateName: settings-, namespace: default}
spec: {}
"#;
    assert_eq!(found(text), [""; 0]);
}
