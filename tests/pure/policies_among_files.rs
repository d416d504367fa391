//! Policies among the checked files: enforced for everything in the same sync, and checked themselves.

use admission::Rulebook;
use admission::policy::{InForce, Origin, PolicySet, Source};
use insight::offline::Hub;
use lint::check::{Background, File, MissingFacts, Outcome, Threshold, check, lint, outcome};
use lint::report::Report;
use serde_json::{Value, json};
use store::Kind;

const OURS: &str = "apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata: {name: prefix}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [addondeploymentconfigs]}
  validations:
    - id: name
      expression: object.metadata.name.startsWith('addon-')
      message: must begin with addon-
";

const UPSTREAM: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: prefix}
spec:
  paramKind: {apiVersion: v1, kind: ConfigMap}
  matchConstraints:
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [addondeploymentconfigs]}
  validations:
    - expression: object.metadata.name.startsWith(params.data.prefix)
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: prefix}
spec:
  policyName: prefix
  validationActions: [Deny]
  paramRef: {name: prefix, namespace: policies, parameterNotFoundAction: Deny}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: prefix, namespace: policies}
data: {prefix: addon-}
";

const CONFIG: &str = "apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: other, namespace: default}
spec: {}
";

fn checked(files: &[(&str, &str)], background: &Background) -> (Report, Outcome) {
    let file = |(path, text): &(&str, &str)| File {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    let files: Vec<File> = files.iter().map(file).collect();
    let report = check(&files, background, MissingFacts::Warn);
    let ended = outcome(&report, Threshold::Error, MissingFacts::Warn);
    (report, ended)
}

fn told(files: &[(&str, &str)], background: &Background) -> (Vec<String>, Outcome) {
    let (report, ended) = checked(files, background);
    let line = |one: &lint::report::Finding| {
        format!(
            "{:?} {}:{}:{} {} [{}]",
            one.severity, one.spot.file, one.spot.line, one.spot.column, one.message, one.rule
        )
    };
    (report.findings.iter().map(line).collect(), ended)
}

#[test]
fn a_policy_of_the_same_files_is_in_force_for_them() {
    let none = Background::default();
    assert_eq!(told(&[("c.yaml", CONFIG)], &none), (Vec::new(), Outcome::Clean));
    let (ours, ended) = told(&[("c.yaml", CONFIG), ("p.yaml", OURS)], &none);
    assert_eq!(
        ours,
        ["Error c.yaml:2:7 must begin with addon- [policy/prefix/name]"]
    );
    assert_eq!(ended, Outcome::Findings);
    let (upstream, ended) = told(&[("c.yaml", CONFIG), ("p.yaml", UPSTREAM)], &none);
    assert_eq!(
        upstream,
        [
            "Error c.yaml:2:7 failed expression: object.metadata.name.startsWith(params.data.prefix) \
             [policy/prefix/0]"
        ]
    );
    assert_eq!(ended, Outcome::Findings);
}

#[test]
fn the_hubs_own_policies_are_in_force_and_a_file_takes_the_place_of_one() {
    let mut hub = Hub::default();
    let document: Vec<Value> = serde_saphyr::from_multiple(OURS).expect("YAML");
    hub.put(document[0].clone());
    let background = Background {
        hub,
        ..Background::default()
    };
    let (found, _) = told(&[("c.yaml", CONFIG)], &background);
    assert_eq!(found.len(), 1, "{found:?}");
    let milder = OURS.replace("'addon-'", "'o'");
    assert_eq!(
        told(&[("c.yaml", CONFIG), ("p.yaml", &milder)], &background),
        (Vec::new(), Outcome::Clean)
    );
    // The operator's folder comes first, as at the gate.
    let mut strict = document[0].clone();
    strict["spec"]["validations"][0]["message"] = json!("the operator says no");
    let source = Source {
        origin: Origin::File("folder.yaml".to_owned()),
        document: strict,
    };
    let rulebook = Rulebook {
        policies: PolicySet::load(&[source], &[], &PolicySet::default()).set,
        ..Rulebook::default()
    };
    let background = Background {
        rulebook,
        ..background
    };
    let (found, _) = told(&[("c.yaml", CONFIG), ("p.yaml", &milder)], &background);
    assert_eq!(
        found,
        ["Error c.yaml:2:7 the operator says no [policy/prefix/name]"]
    );
}

#[test]
fn a_policy_that_does_not_compile_is_reported_at_its_position() {
    let broken = OURS
        .replace("object.metadata", "objct.metadata")
        .replace("id: name", "idd: name");
    let (found, ended) = told(&[("c.yaml", CONFIG), ("p.yaml", &broken)], &Background::default());
    assert_eq!(
        found,
        [
            "Error p.yaml:9:12 unknown field; did you mean \"id\"? [policy/compile]",
            "Error p.yaml:10:33 undeclared reference to 'objct' (in container ''); did you mean \"object\"? [policy/compile]"
        ],
        "a fault of form hides no other"
    );
    assert_eq!(ended, Outcome::BrokenPolicy);
    let broken = OURS.replace("object.metadata", "objct.metadata");
    let (found, ended) = told(&[("c.yaml", CONFIG), ("p.yaml", &broken)], &Background::default());
    assert_eq!(
        found,
        [
            "Error p.yaml:10:33 undeclared reference to 'objct' (in container ''); did you mean \"object\"? [policy/compile]"
        ]
    );
    assert_eq!(ended, Outcome::BrokenPolicy);
    // An API server may be able to do more than this program.
    let foreign = UPSTREAM.replace("startsWith(params.data.prefix)", "startsWith(authorizer.x)");
    let (found, ended) = told(
        &[("c.yaml", CONFIG), ("p.yaml", &foreign)],
        &Background::default(),
    );
    assert!(
        found.len() == 1
            && found[0].starts_with("Unknown p.yaml:10:61 this policy cannot be evaluated here: "),
        "{found:?}"
    );
    assert_eq!(ended, Outcome::Clean);
}

#[test]
fn only_kubernetes_two_kinds_may_share_a_name() {
    let mutating = UPSTREAM
        .replace("Validating", "Mutating")
        .replace("  validationActions: [Deny]\n", "")
        .replace("  validations:\n    - expression: object.metadata.name.startsWith(params.data.prefix)", "  reinvocationPolicy: Never\n  \
             mutations:\n    - patchType: ApplyConfiguration\n      applyConfiguration: {expression: 'Object{}'}");
    let set = |texts: &[&str]| {
        let documents = texts
            .iter()
            .flat_map(|text| serde_saphyr::from_multiple::<Value>(text).expect("YAML"));
        let documents: Vec<Value> = documents.collect();
        let source = |document: &Value| Source {
            origin: Origin::Hub,
            document: document.clone(),
        };
        let sources: Vec<Source> = documents.iter().map(source).collect();
        let loaded = PolicySet::load(&sources, &documents, &PolicySet::default());
        let refused = loaded.reports.iter().filter(|one| one.in_force != InForce::This);
        (loaded.set.len(), refused.count())
    };
    assert_eq!(set(&[UPSTREAM, &mutating]), (2, 0));
    assert_eq!(set(&[UPSTREAM, OURS]), (1, 1));
    assert_eq!(set(&[&mutating, OURS]), (1, 1));
}

#[test]
fn two_policies_of_one_name_in_two_folders_are_a_fault_unless_they_are_the_same() {
    let none = Background::default();
    let other = OURS.replace("must begin with addon-", "must begin with add");
    let (found, ended) = told(&[("a/p.yaml", OURS), ("b/p.yaml", &other)], &none);
    assert_eq!(
        found,
        [
            "Error b/p.yaml:3:18 Duplicate value: \"prefix\": a/p.yaml:1 already has a policy of this name [policy/compile]"
        ]
    );
    assert_eq!(ended, Outcome::BrokenPolicy);
    let linted = lint(
        &[("a/p.yaml", OURS), ("b/p.yaml", &other)].map(|(path, text)| File {
            path: path.to_owned(),
            text: text.to_owned(),
        }),
        None,
    );
    assert!(linted.is_broken(), "the linter refuses them too");
    assert_eq!(
        told(&[("a/p.yaml", OURS), ("b/p.yaml", OURS)], &none),
        (Vec::new(), Outcome::Clean)
    );
}

#[test]
fn a_work_in_a_namespace_that_is_no_cluster_is_warned_of_where_the_clusters_are_known() {
    let work = "apiVersion: work.open-cluster-management.io/v1
kind: ManifestWork
metadata: {name: w, namespace: clster1}
spec: {workload: {manifests: []}}
";
    let place = |found: &[String]| {
        found
            .iter()
            .filter(|one| one.contains("naming/unknown-cluster"))
            .cloned()
            .collect::<Vec<_>>()
    };
    let (alone, _) = told(&[("w.yaml", work)], &Background::default());
    assert_eq!(
        place(&alone),
        [] as [&str; 0],
        "files alone say nothing about clusters"
    );
    let mut hub = Hub::default();
    hub.put(
        json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
        "metadata": {"name": "cluster1", "uid": "c", "resourceVersion": "1"}, "spec": {}}),
    );
    hub.complete(Kind::Cluster);
    let background = Background {
        hub,
        ..Background::default()
    };
    let (found, ended) = told(&[("w.yaml", work)], &background);
    assert_eq!(
        place(&found),
        ["Warning w.yaml:3:32 \"clster1\": no ManagedCluster has this name [naming/unknown-cluster]"]
    );
    assert_eq!(ended, Outcome::Clean);
    let right = work.replace("clster1", "cluster1");
    let (found, _) = told(&[("w.yaml", &right)], &background);
    assert_eq!(place(&found), [] as [&str; 0]);
}

#[test]
fn an_object_that_two_files_define_differently_is_reported() {
    let none = Background::default();
    let other = CONFIG.replace("spec: {}", "spec: {agentInstallNamespace: agents}");
    let service =
        "apiVersion: v1\nkind: Service\nmetadata: {name: s, namespace: d}\nspec: {type: ClusterIP}\n";
    let strange = service.replace("ClusterIP", "NodePort");
    let files = [
        ("a.yaml", CONFIG),
        ("b.yaml", other.as_str()),
        ("c.yaml", service),
        ("d.yaml", strange.as_str()),
        ("e.yaml", service),
    ];
    let (found, ended) = told(&files, &none);
    assert_eq!(
        found,
        [
            "Warning b.yaml:3:18 \"other\": a.yaml:1 defines this object differently; the one that is applied last \
             is stored [metadata/defined-twice]",
            "Warning d.yaml:3:18 \"s\": c.yaml:1 defines this object differently; the one that is applied last \
             is stored [metadata/defined-twice]"
        ]
    );
    assert_eq!(ended, Outcome::Clean);
}

const DEPLOYMENTS: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-latest}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}]
  validations:
  - expression: object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-latest}
spec: {policyName: no-latest, validationActions: [Deny]}
";

fn linted(text: &str) -> Vec<String> {
    let file = File {
        path: "p.yaml".to_owned(),
        text: text.to_owned(),
    };
    let found = lint(&[file], None).report.findings;
    let line = |one: &lint::report::Finding| {
        format!(
            "{:?} {}:{} {} [{}]",
            one.severity, one.spot.line, one.spot.column, one.message, one.rule
        )
    };
    found.iter().map(line).collect()
}

#[test]
fn the_linter_warns_of_metadata_that_no_object_has() {
    let expression = "object.spec.template.spec.containers.all(c, !c.image.endsWith(':latest'))";
    let found = linted(&DEPLOYMENTS.replace(expression, "object.metadata.lables.owner != ''"));
    assert!(
        found
            .iter()
            .any(|one| one.contains("undefined field 'lables'; did you mean \"labels\"?")),
        "{found:?}"
    );
    let broken = linted(&DEPLOYMENTS.replace(expression, "object.metadata.name =="));
    assert!(
        broken
            .iter()
            .any(|one| one.contains("Syntax error: unexpected end of the expression [")),
        "{broken:?}"
    );
}

#[test]
fn the_linter_warns_of_resources_that_the_webhook_is_not_called_for() {
    assert_eq!(
        linted(DEPLOYMENTS),
        [
            "Warning 6:102 the webhook is not called for deployments of apps: the policy is never evaluated for them [policy/lint]"
        ]
    );
    let others =
        "{apiGroups: [apps], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [deployments]}";
    for heard in [
        "{apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [DELETE], resources: [addontemplates]}",
        "{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*']}",
        "{apiGroups: [cluster.open-cluster-management.io], apiVersions: [v1beta1], operations: [CREATE], resources: [managedclustersupgrades/*]}",
    ] {
        let found = linted(&DEPLOYMENTS.replace(others, heard));
        assert!(
            found.iter().all(|one| !one.contains("never evaluated")),
            "{heard}: {found:?}"
        );
    }
    for deaf in [
        "{apiGroups: [''], apiVersions: [v1], operations: ['*'], resources: [pods]}",
        "{apiGroups: ['*'], apiVersions: ['*'], operations: ['*'], resources: ['*/status']}",
        "{apiGroups: [cluster.open-cluster-management.io], apiVersions: ['*'], operations: [DELETE], resources: [placements]}",
    ] {
        let found = linted(&DEPLOYMENTS.replace(others, deaf));
        assert!(
            found.iter().any(|one| one.contains("never evaluated")),
            "{deaf}: {found:?}"
        );
    }
}

const LEVEL: &str = "apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicy
metadata: {name: add-level}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [addondeploymentconfigs]}]
  reinvocationPolicy: Never
  variables:
  - {name: all, expression: \"['a']\"}
  mutations:
  - patchType: ApplyConfiguration
    applyConfiguration:
      expression: >-
        EXPRESSION
---
apiVersion: admissionregistration.k8s.io/v1beta1
kind: MutatingAdmissionPolicyBinding
metadata: {name: add-level}
spec: {policyName: add-level}
";

#[test]
fn a_list_in_an_apply_configuration_is_refused_when_the_policy_is_loaded() {
    let faults = |expression: &str| -> Vec<String> {
        let found = linted(&LEVEL.replace("EXPRESSION", expression));
        found
            .into_iter()
            .filter(|one| one.contains("[policy/compile]"))
            .collect()
    };
    let list = r#"[Object.spec.customizedVariables{name: "LEVEL", value: "4"}]"#;
    for expression in [
        format!("Object{{spec: Object.spec{{customizedVariables: {list}}}}}"),
        format!("Object{{spec: Object.spec{{customizedVariables: true ? {list} : []}}}}"),
        format!("Object{{spec: Object.spec{{customizedVariables: [] + {list}}}}}"),
        format!("true ? Object{{}} : Object{{spec: Object.spec{{customizedVariables: {list}}}}}"),
        "Object{spec: Object.spec{customizedVariables: object.spec.customizedVariables.filter(v, v.name != 'A')}}".to_owned(),
        "Object{spec: Object.spec{customizedVariables: object.spec.customizedVariables.map(v, v)}}".to_owned(),
        "Object{spec: Object.spec{customizedVariables: variables.all}}".to_owned(),
        "Object{metadata: Object.metadata{annotations: {'a': ['b']}}}".to_owned(),
    ] {
        let found = faults(&expression);
        assert_eq!(found.len(), 1, "{expression}: {found:?}");
        assert!(found[0].contains("lists cannot be merged; use patchType \"JSONPatch\""), "{found:?}");
    }
    for expression in [
        "Object{}",
        "Object{spec: Object.spec{agentInstallNamespace: variables.all[0]}}",
        "Object{metadata: Object.metadata{labels: {'a': variables.all.join(',')}}}",
        "Object{metadata: Object.metadata{labels: {'a': ['b'].exists(x, x == 'b') ? 'yes' : 'no'}}}",
    ] {
        assert_eq!(faults(expression), [""; 0], "{expression}");
    }
}
