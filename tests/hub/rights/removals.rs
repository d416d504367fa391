//! Every install strategy and every way in which an add-on is removed from a cluster, with the account of each installation.
//!
//! At the end everything must be deleted on the hub, and no request may have been forbidden.

use std::collections::BTreeSet;
use std::time::Duration;

use devhub::{Authz, Controller, DevHub, TestHub};
use operate::doctor::Right;
use operate::doctor::calls::{Account, Role};
use serde_json::{Value, json};
use store::Settings;
use tidegate::controllers::TideOptions;

use super::fit::assert_granted;
use super::manifests::{given, objects};
use super::recorder::{Record, acting_as};
use super::stories::{ADDON, Admin};
use super::{CONTROLLERS, OF_CONTROLLERS};
use crate::kit::hubs;
use crate::kit::waiting::{eventually, eventually_or};

const CLUSTERS: &str = "cluster.open-cluster-management.io";

/// How an add-on leaves its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// The placement decides for no cluster any more.
    Decision,
    /// The cluster loses the label that selects it.
    Label,
    /// The placement is deleted, and the add-on names it no longer.
    Placement,
    /// The install strategy becomes another one that selects nothing.
    Strategy,
    /// The cluster opts out.
    OptOut,
    /// The cluster is deleted.
    Cluster,
    /// A user deletes the ManagedClusterAddOn.
    Instance,
    /// The add-on is deleted.
    AddOn,
}

/// An add-on by its name, which its cluster has too, with its strategy and its end.
const STORIES: [(&str, &str, End); 13] = [
    ("p-decision", "Placements", End::Decision),
    ("p-placement", "Placements", End::Placement),
    ("p-strategy", "Placements", End::Strategy),
    ("p-optout", "Placements", End::OptOut),
    ("p-cluster", "Placements", End::Cluster),
    ("p-addon", "Placements", End::AddOn),
    ("l-label", "ClusterLabelSelector", End::Label),
    ("l-optout", "ClusterLabelSelector", End::OptOut),
    ("l-cluster", "ClusterLabelSelector", End::Cluster),
    ("l-addon", "ClusterLabelSelector", End::AddOn),
    ("m-instance", "Manual", End::Instance),
    ("m-cluster", "Manual", End::Cluster),
    ("m-addon", "Manual", End::AddOn),
];

/// Returns a placement that is not decided, and the object that will decide it.
pub(super) fn placement(name: &str) -> [Value; 2] {
    let of = format!("{CLUSTERS}/v1beta1");
    let label = json!({(format!("{CLUSTERS}/placement")): name});
    [
        json!({"apiVersion": of, "kind": "Placement", "metadata": {"name": name, "namespace": "default"}, "spec": {}}),
        json!({"apiVersion": of, "kind": "PlacementDecision",
            "metadata": {"name": format!("{name}-decision-1"), "namespace": "default", "labels": label}}),
    ]
}

/// Decides a placement.
pub(super) async fn decide(admin: &Admin, placement: &str, clusters: &[&str]) {
    let path = format!("/apis/{CLUSTERS}/v1beta1/namespaces/default");
    let decisions: Vec<Value> = clusters
        .iter()
        .map(|name| json!({"clusterName": name, "reason": ""}))
        .collect();
    let decision = format!("{path}/placementdecisions/{placement}-decision-1/status");
    admin
        .merge(&decision, json!({"status": {"decisions": decisions}}))
        .await;
    let counted = json!({"status": {"numberOfSelectedClusters": clusters.len()}});
    admin
        .merge(&format!("{path}/placements/{placement}/status"), counted)
        .await;
}

/// Everything that one story begins with.
fn before(name: &str, strategy: &str) -> Vec<Value> {
    let version = format!("{ADDON}/v1alpha1");
    let label = json!({"open-cluster-management.io/cluster-name": name});
    let strategy = match strategy {
        "Placements" => json!({"type": strategy, "placements": [{"name": name, "namespace": "default"}]}),
        "ClusterLabelSelector" => {
            json!({"type": strategy, "labelSelector": {"matchLabels": {"story": name}}})
        }
        _ => json!({"type": strategy}),
    };
    let manifest =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}});
    let mut all = vec![
        json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": label}}),
        json!({"apiVersion": format!("{CLUSTERS}/v1"), "kind": "ManagedCluster",
            "metadata": {"name": name, "labels": {"story": name}, "finalizers": ["example.com/story"]},
            "spec": {"hubAcceptsClient": true}}),
        json!({"apiVersion": version, "kind": "AddOnTemplate", "metadata": {"name": name}, "spec": {"addonName": name,
            "agentSpec": {"workload": {"manifests": [manifest]}}}}),
        json!({"apiVersion": version, "kind": "ClusterManagementAddOn", "metadata": {"name": name}, "spec": {
            "supportedConfigs": [{"group": ADDON, "resource": "addontemplates", "defaultConfig": {"name": name}}],
            "installStrategy": strategy}}),
    ];
    if strategy["type"] == "Manual" {
        all.push(json!({"apiVersion": version, "kind": "ManagedClusterAddOn",
            "metadata": {"name": name, "namespace": name}, "spec": {}}));
    }
    if strategy["type"] == "Placements" {
        all.extend(placement(name));
    }
    all
}

async fn end(admin: &Admin, name: &str, end: End) {
    let addon = format!("/apis/{ADDON}/v1alpha1/clustermanagementaddons/{name}");
    let cluster = format!("/apis/{CLUSTERS}/v1/managedclusters/{name}");
    match end {
        End::Decision => decide(admin, name, &[]).await,
        End::Label => {
            admin
                .merge(&cluster, json!({"metadata": {"labels": {"story": null}}}))
                .await;
        }
        End::Placement => {
            let path = format!("/apis/{CLUSTERS}/v1beta1/namespaces/default");
            admin.delete(&format!("{path}/placements/{name}")).await;
            admin
                .delete(&format!("{path}/placementdecisions/{name}-decision-1"))
                .await;
            let none = json!({"spec": {"installStrategy": {"placements": []}}});
            admin.merge(&addon, none).await;
        }
        End::Strategy => {
            let nowhere = json!({"type": "ClusterLabelSelector", "placements": null,
                "labelSelector": {"matchLabels": {"story": "none"}}});
            admin
                .merge(&addon, json!({"spec": {"installStrategy": nowhere}}))
                .await;
        }
        End::OptOut => {
            let out = json!({(store::terms::OPT_OUT): name});
            admin
                .merge(&cluster, json!({"metadata": {"annotations": out}}))
                .await;
        }
        End::Cluster => admin.delete(&cluster).await,
        End::Instance => {
            let path = format!("/apis/{ADDON}/v1alpha1/namespaces/{name}/managedclusteraddons/{name}");
            admin.delete(&path).await;
        }
        End::AddOn => admin.delete(&addon).await,
    }
}

/// What of an add-on is on its cluster: its instance and its works.
async fn left(admin: &Admin, name: &str) -> Vec<String> {
    let mut left = Vec::new();
    for path in [
        format!("/apis/{ADDON}/v1alpha1/namespaces/{name}/managedclusteraddons"),
        format!("/apis/work.open-cluster-management.io/v1/namespaces/{name}/manifestworks"),
    ] {
        let list = admin.get(&path).await.unwrap_or_default();
        let items = list["items"].as_array().cloned().unwrap_or_default();
        left.extend(
            items
                .iter()
                .map(|item| format!("{} {}", item["metadata"]["name"], item["status"]["conditions"])),
        );
    }
    left
}

/// The objects of a kit that are about rights.
fn rights_of(kit: Vec<Value>) -> Vec<Value> {
    const KINDS: [&str; 6] = [
        "Namespace",
        "ServiceAccount",
        "ClusterRole",
        "ClusterRoleBinding",
        "Role",
        "RoleBinding",
    ];
    kit.into_iter()
        .filter(|object| KINDS.iter().any(|kind| object["kind"] == *kind))
        .collect()
}

/// `manifests/rbac`, and what the program installs. `tests/pure/install_kit.rs` shows that `manifests/deploy` and the chart install the same
/// as the program.
fn all_kits() -> [(&'static str, Vec<Value>); 4] {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
    let mut separate = vec![namespace];
    separate.extend(
        ["gate.yaml", "controllers.yaml", "registration.yaml"]
            .into_iter()
            .flat_map(objects),
    );
    let program = |flags: &str| rights_of(crate::pure::install_kit::printed(flags));
    [
        ("manifests/rbac", separate),
        ("two workloads", program("--webhooks without")),
        (
            "two workloads with cert-manager",
            program("--webhooks without --certificates cert-manager"),
        ),
        ("one workload", program("--webhooks without --workloads one")),
    ]
}

/// The kits whose controllers have different rights.
fn kits() -> Vec<(&'static str, Vec<Value>)> {
    let mut seen: BTreeSet<BTreeSet<Right>> = BTreeSet::new();
    let is_new = |(_, kit): &(&str, Vec<Value>)| seen.insert(given(kit, CONTROLLERS));
    all_kits().into_iter().filter(is_new).collect()
}

#[test]
fn every_kit_grants_the_controllers_what_the_table_of_calls_has() {
    let mut needed: BTreeSet<Right> = BTreeSet::new();
    for role in [
        Role::Controllers,
        Role::Election,
        Role::Registration,
        Role::RecordKeysRead,
    ] {
        needed.extend(role.rights());
    }
    for (name, kit) in kits() {
        let given = given(&kit, CONTROLLERS);
        let missing: Vec<&Right> = needed.difference(&given).collect();
        assert!(missing.is_empty(), "{name}: {missing:#?}");
    }
}

/// One workload has one account, and can separate nothing; every other kit keeps the webhooks from the controllers and from the process
/// with the open port.
#[test]
fn every_kit_but_one_workload_keeps_the_webhooks_from_all_accounts_but_one() {
    for (name, kit) in all_kits() {
        for account in [Account::Gate, Account::Controllers] {
            let given = given(&kit, account.name());
            let reserved = account.must_not_have().into_iter();
            let has: Vec<Right> = reserved.filter(|right| given.contains(right)).collect();
            let is_one = name.contains("one") && account == Account::Controllers;
            assert!(has.is_empty() || is_one, "{name}: {account:?} has {has:#?}");
        }
    }
}

async fn hub(kit: &[Value]) -> TestHub {
    let builder = DevHub::builder().authz(Authz::Rbac).controllers(Controller::ALL);
    let builder = hubs::definitions()
        .into_iter()
        .fold(builder, devhub::Builder::crd);
    let hub = TestHub::of(builder).await.expect("the hub starts");
    hubs::load(&hub, kit.iter().cloned()).await;
    hub
}

/// Every strategy and every end, beside each other on one hub.
async fn told(kit: &str, rights: &[Value]) {
    let hub = hub(rights).await;
    let admin = Admin(hub.client());
    let record = Record::default();
    let client = acting_as(CONTROLLERS, &hub.client(), &record);
    for (name, strategy, _) in STORIES {
        hubs::load(&hub, before(name, strategy)).await;
        if strategy == "Placements" {
            decide(&admin, name, &[name]).await;
        }
    }
    let settings = Settings {
        decision_grace: Duration::from_secs(1),
        ..Settings::default()
    };
    let options = TideOptions {
        settings,
        ..TideOptions::default()
    };
    let tide = hubs::tide(client, options).await;
    for (name, ..) in STORIES {
        let there = || async { left(&admin, name).await.len() == 2 };
        eventually_or(&format!("{kit}: {name} comes"), || left(&admin, name), there).await;
    }
    for (name, _, how) in STORIES {
        end(&admin, name, how).await;
    }
    for (name, ..) in STORIES {
        let gone = || async { left(&admin, name).await.is_empty() };
        eventually_or(&format!("{kit}: {name} goes"), || left(&admin, name), gone).await;
    }
    assert_granted(&record, &[&OF_CONTROLLERS[..], &[Role::Gate]].concat());
    tide.shutdown().await;
    hub.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn every_strategy_gives_and_every_end_takes_as_the_account_of_every_kit() {
    for (kit, rights) in kits() {
        told(kit, &rights).await;
    }
}

/// The webhook only warns about a placement that does not exist, so there are such add-ons. Webhook and controllers have accounts of
/// their own.
#[tokio::test(flavor = "multi_thread")]
async fn an_add_on_that_names_a_missing_placement_stops_no_other_as_the_documented_account() {
    for withheld in [false, true] {
        let (_, mut rights) = kits().swap_remove(0);
        let rules = rights
            .iter_mut()
            .filter_map(|object| object.get_mut("rules")?.as_array_mut());
        for rule in rules.flatten() {
            let about = rule["resources"].as_array().cloned().unwrap_or_default();
            if withheld && about.contains(&json!("placements")) {
                rule["verbs"] = json!(["list", "watch"]);
            }
        }
        let hub = hub(&rights).await;
        let admin = Admin(hub.client());
        let record = Record::default();
        let client = acting_as(CONTROLLERS, &hub.client(), &record);
        hubs::load(&hub, before("other", "ClusterLabelSelector")).await;
        let typo = before("typo", "Placements").into_iter().filter(|one| {
            let kind = one["kind"].as_str().unwrap_or_default();
            !kind.starts_with("Placement")
        });
        hubs::load(&hub, typo).await;
        let tide = hubs::tide(client, TideOptions::default()).await;
        eventually("the other add-on comes", || async {
            left(&admin, "other").await.len() == 2
        })
        .await;
        let path = format!("/apis/{ADDON}/v1alpha1/clustermanagementaddons/typo");
        let ready = || async {
            let addon = admin.get(&path).await.unwrap_or_default();
            let all = addon["status"]["conditions"]
                .as_array()
                .cloned()
                .unwrap_or_default();
            let ready = all
                .into_iter()
                .find(|one| one["type"] == "Ready")
                .unwrap_or_default();
            format!("{} {}", ready["reason"], ready["message"])
        };
        let expected = if withheld {
            "ReadFailed"
        } else {
            "PlacementNotFound"
        };
        eventually_or(expected, ready, || async { ready().await.contains(expected) }).await;
        let forbidden = record.forbidden();
        assert_eq!(forbidden.is_empty(), !withheld, "{forbidden:#?}");
        assert!(
            !withheld || ready().await.contains("Placement default/typo"),
            "{}",
            ready().await
        );
        tide.shutdown().await;
        hub.shutdown().await;
    }
}
