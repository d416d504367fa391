//! Compares the table of calls with the permissions in the manifests and with the requests: both halves of the program run as their
//! service accounts on a hub with RBAC. No needed request may be forbidden, and a request without a row in the table is a failure.

mod certificate;
mod cluster_labels;
mod everywhere;
mod fit;
mod keys;
mod manifests;
mod reach;
mod recorder;
mod removals;
mod stories;
mod takeover;

use std::collections::BTreeSet;

use devhub::{Authz, Controller, DevHub, TestHub};
use fit::{all_used, assert_fit};
use k8s_openapi::api::authorization::v1::SelfSubjectAccessReview;
use kube::api::PostParams;
use kube::{Api, Client};
use manifests::{files, granted, objects, rules};
use operate::doctor::Right;
use operate::doctor::calls::{Account, Role};
use recorder::{Record, acting_as};
use serde_json::{Value, json};

use crate::kit::hubs;

const GATE: &str = "tidegate-gate";
const CONTROLLERS: &str = "tidegate-controllers";
const CERTIFICATES: &str = "tidegate-certificates";
const OBSERVER: &str = "tidegate-observer";
const EVERYTHING: [&str; 8] = [
    "certificates.yaml",
    "certificates-conversion.yaml",
    "gate.yaml",
    "controllers.yaml",
    "registration.yaml",
    "signing.yaml",
    "hub-permissions.yaml",
    "observe.yaml",
];

/// A hub that asks for rights, with the manifests that are named and the role of a cluster bound in `c1`.
async fn hub(files: &[&str]) -> TestHub {
    let builder = DevHub::builder().authz(Authz::Rbac).controllers(Controller::ALL);
    let builder = hubs::definitions()
        .into_iter()
        .fold(builder, devhub::Builder::crd);
    let hub = TestHub::of(builder).await.expect("the hub starts");
    let namespace = |name: &str, labels: Value| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
    let label = json!({"open-cluster-management.io/cluster-name": "c1"});
    hubs::load(
        &hub,
        [
            namespace("tidegate", json!({})),
            namespace("open-cluster-management-hub", json!({})),
            namespace("c1", label),
        ],
    )
    .await;
    hubs::load(&hub, files.iter().flat_map(|file| objects(file))).await;
    hub
}

/// What the operator binds in the namespace of each cluster.
fn bound_in(namespace: &str) -> Value {
    json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding",
        "metadata": {"name": "tidegate-cluster", "namespace": namespace},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "tidegate-cluster"},
        "subjects": [{"kind": "ServiceAccount", "name": CONTROLLERS, "namespace": "tidegate"}]})
}

const RBAC: &str = "rbac.authorization.k8s.io";

/// The roles that the controllers have in the stories.
const OF_CONTROLLERS: [Role; 7] = [
    Role::Controllers,
    Role::Election,
    Role::Registration,
    Role::Cluster,
    Role::Bindings,
    Role::Signing,
    Role::SigningSecret,
];

#[test]
fn the_manifests_grant_the_table_of_calls_and_nothing_else() {
    for role in Role::ALL {
        let (file, kind, name) = role.manifest();
        let granted = granted(&objects(file), (kind, name));
        let table: BTreeSet<Right> = role.rights().into_iter().collect();
        let missing: Vec<&Right> = table.difference(&granted).collect();
        let beyond: Vec<&Right> = granted.difference(&table).collect();
        assert!(
            missing.is_empty() && beyond.is_empty(),
            "{file} {name}: missing {missing:#?}, beyond {beyond:#?}"
        );
    }
}

#[test]
fn every_role_of_the_manifests_is_in_the_table_of_calls() {
    for file in files() {
        for role in objects(&file) {
            let (Some(kind), Some(name)) = (role["kind"].as_str(), role["metadata"]["name"].as_str()) else {
                continue;
            };
            if !["ClusterRole", "Role"].contains(&kind) || name == "hello-reader" {
                continue;
            }
            let known = Role::ALL
                .iter()
                .any(|one| one.manifest() == (file.as_str(), kind, name));
            assert!(known, "{file}: {kind} {name}");
        }
    }
}

/// A role is bound only to the account in the table; `one-process.yaml` is the documented exception.
#[test]
fn every_role_is_bound_to_the_account_of_the_table() {
    let mut bound = BTreeSet::new();
    for file in files().into_iter().filter(|file| file != "one-process.yaml") {
        for binding in objects(&file) {
            let text = |at: &str| binding.pointer(at).and_then(Value::as_str).unwrap_or_default();
            let (kind, name) = (text("/roleRef/kind"), text("/roleRef/name"));
            for subject in binding["subjects"].as_array().into_iter().flatten() {
                let role = Role::ALL.into_iter().find(|role| {
                    let (_, of, called) = role.manifest();
                    (of, called) == (kind, name)
                });
                let role = role.unwrap_or_else(|| panic!("{file}: {kind} {name} is in no table"));
                assert_eq!(subject["name"], role.account().name(), "{file}: {kind} {name}");
                bound.insert(role);
            }
        }
    }
    // Bound by an administrator, in namespaces of add-ons.
    let by_hand = BTreeSet::from([Role::Bindings]);
    let all: BTreeSet<Role> = Role::ALL.into_iter().collect();
    assert_eq!(all.difference(&bound).copied().collect::<BTreeSet<_>>(), by_hand);
    for account in Account::ALL {
        let made = files()
            .iter()
            .flat_map(|file| objects(file))
            .any(|object| object["kind"] == "ServiceAccount" && object["metadata"]["name"] == account.name());
        assert!(made, "{} is made by no file", account.name());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_controllers_need_what_they_are_granted_and_nothing_else() {
    let hub = hub(&EVERYTHING).await;
    hubs::load(&hub, [bound_in("c1")]).await;
    let record = Record::default();
    let client = acting_as(CONTROLLERS, &hub.client(), &record);
    stories::of_the_controllers(&hub, client).await;
    assert_fit(&record, &OF_CONTROLLERS);
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_gate_needs_what_it_is_granted_and_writes_nothing() {
    let hub = hub(&EVERYTHING).await;
    let record = Record::default();
    let client = acting_as(GATE, &hub.client(), &record);
    let used = all_used(&record, &[Role::Gate]);
    stories::of_the_gate(&hub, client, used).await;
    assert_fit(&record, &[Role::Gate]);
    let writes = record.calls().into_iter().filter(|call| {
        !["get", "list", "watch"].contains(&call.verb.as_str()) && call.resource != "subjectaccessreviews"
    });
    assert_eq!(writes.count(), 0, "{:#?}", record.calls());
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_is_kept_by_one_account_and_read_by_the_other() {
    let hub = hub(&EVERYTHING).await;
    let record = Record::default();
    let [gate, certificates] = [GATE, CERTIFICATES].map(|account| acting_as(account, &hub.client(), &record));
    certificate::of_a_certificate(&hub, gate, certificates).await;
    assert_fit(
        &record,
        &[
            Role::CertificatesWritten,
            Role::CertificatesRead,
            Role::Certificates,
            Role::CertificatesOfConversion,
        ],
    );
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_keeper_without_its_rights_says_which_one_it_lacks() {
    let hub = hub(&EVERYTHING).await;
    let record = Record::default();
    // The webhook's account reads the Secret, the controllers' account the configurations.
    for (account, expected) in [
        (GATE, "cannot read MutatingWebhookConfiguration tidegate-mutate"),
        (CONTROLLERS, "cannot read Secret tidegate/tidegate-tls"),
    ] {
        certificate::without_rights(acting_as(account, &hub.client(), &record), expected).await;
    }
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_that_observe_read_and_write_nothing() {
    let hub = hub(&EVERYTHING).await;
    let record = Record::default();
    let client = acting_as(OBSERVER, &hub.client(), &record);
    let used = all_used(&record, &[Role::Observer]);
    stories::of_the_observers(&hub, client, used).await;
    assert_fit(&record, &[Role::Observer]);
    let mut calls = record.calls().into_iter();
    assert!(
        calls.all(|call| ["get", "list", "watch"].contains(&call.verb.as_str())),
        "{:#?}",
        record.calls()
    );
    hub.shutdown().await;
}

/// Verb, group, resource, subresource, namespace, name.
type Act = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

/// What neither account may ever do.
const NEVER: [Act; 28] = [
    ("create", "", "secrets", "", "tidegate", ""),
    ("update", "", "secrets", "", "tidegate", "other"),
    (
        "create",
        "",
        "serviceaccounts",
        "token",
        "kube-system",
        "clusterrole-aggregation-controller",
    ),
    ("create", "", "serviceaccounts", "token", "tidegate", CONTROLLERS),
    ("create", "", "serviceaccounts", "", "kube-system", ""),
    ("delete", "", "serviceaccounts", "", "kube-system", "default"),
    ("patch", "", "serviceaccounts", "", "kube-system", "default"),
    ("get", "", "secrets", "", "kube-system", "any"),
    ("list", "", "secrets", "", "", ""),
    (
        "get",
        "",
        "secrets",
        "",
        "open-cluster-management-hub",
        "signer-secret",
    ),
    ("list", "", "secrets", "", "open-cluster-management-hub", ""),
    ("get", "", "secrets", "", "c1", "any"),
    (
        "update",
        "coordination.k8s.io",
        "leases",
        "",
        "kube-system",
        "kube-scheduler",
    ),
    (
        "update",
        "coordination.k8s.io",
        "leases",
        "",
        "kube-system",
        "kube-controller-manager",
    ),
    ("update", "coordination.k8s.io", "leases", "", "tidegate", "other"),
    ("create", "coordination.k8s.io", "leases", "", "kube-system", ""),
    ("create", RBAC, "rolebindings", "", "kube-system", ""),
    ("create", RBAC, "roles", "", "kube-system", ""),
    ("delete", RBAC, "rolebindings", "", "kube-system", "any"),
    ("create", RBAC, "clusterrolebindings", "", "", ""),
    ("create", RBAC, "clusterroles", "", "", ""),
    ("bind", RBAC, "clusterroles", "", "", "cluster-admin"),
    ("bind", RBAC, "clusterroles", "", "c1", "tidegate-cluster"),
    ("escalate", RBAC, "clusterroles", "", "", ""),
    ("impersonate", "", "users", "", "", "admin"),
    (
        "approve",
        "certificates.k8s.io",
        "signers",
        "",
        "",
        "kubernetes.io/kube-apiserver-client-kubelet",
    ),
    (
        "sign",
        "certificates.k8s.io",
        "signers",
        "",
        "",
        "kubernetes.io/kube-apiserver-client",
    ),
    ("create", "", "pods", "", "tidegate", ""),
];

/// What the account may do, so that a question that is put wrongly is noticed.
const MAY: [Act; 4] = [
    ("create", RBAC, "rolebindings", "", "c1", ""),
    (
        "update",
        "coordination.k8s.io",
        "leases",
        "",
        "tidegate",
        "leader",
    ),
    (
        "get",
        "",
        "secrets",
        "",
        "open-cluster-management-hub",
        "hello-ca",
    ),
    ("bind", RBAC, "clusterroles", "", "c1", "hello-reader"),
];

async fn can(client: &Client, (verb, group, resource, subresource, namespace, name): Act) -> bool {
    let review = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": {
        "resourceAttributes": {"verb": verb, "group": group, "resource": resource, "subresource": subresource,
            "namespace": namespace, "name": name}}});
    let review: SelfSubjectAccessReview = serde_json::from_value(review).expect("a review");
    let api: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = api
        .create(&PostParams::default(), &review)
        .await
        .expect("an answer");
    answer.status.expect("a status").allowed
}

#[tokio::test(flavor = "multi_thread")]
async fn neither_account_can_take_over_the_hub() {
    let hub = hub(&EVERYTHING).await;
    hubs::load(&hub, [bound_in("c1")]).await;
    let (gate, controllers) = (
        acting_as(GATE, &hub.client(), &Record::default()),
        acting_as(CONTROLLERS, &hub.client(), &Record::default()),
    );
    for act in NEVER {
        assert!(!can(&gate, act).await, "the gate can {act:?}");
        assert!(!can(&controllers, act).await, "the controllers can {act:?}");
    }
    for act in MAY {
        assert!(can(&controllers, act).await, "the controllers cannot {act:?}");
        assert!(!can(&gate, act).await, "the gate can {act:?}");
    }
    // In one process the account of the controllers reads what the gate reads, and nothing more.
    hubs::load(&hub, objects("one-process.yaml")).await;
    for act in NEVER {
        assert!(!can(&controllers, act).await, "one process can {act:?}");
    }
    hub.shutdown().await;
}

#[test]
fn nothing_is_granted_by_a_star_or_to_all_users() {
    for file in files() {
        for rule in rules(&file) {
            let lists = [
                &rule.api_groups,
                &rule.resources,
                &rule.resource_names,
                &Some(rule.verbs.clone()),
            ];
            let mut words = lists.into_iter().flatten().flatten();
            assert!(words.all(|word| !word.contains('*')), "{file}: {rule:?}");
            let named = rule.resource_names.is_some();
            let risky = ["approve", "sign", "bind", "escalate", "impersonate"];
            let risky = rule.verbs.iter().any(|verb| risky.contains(&verb.as_str()));
            let secret = rule
                .resources
                .iter()
                .flatten()
                .any(|resource| resource == "secrets");
            assert!(!(risky || secret) || named, "{file}: {rule:?}");
        }
        for object in objects(&file) {
            for subject in object["subjects"].as_array().into_iter().flatten() {
                assert_eq!(subject["kind"], "ServiceAccount", "{file}");
                assert_eq!(subject["namespace"], "tidegate", "{file}");
            }
        }
    }
}
