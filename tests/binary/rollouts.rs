//! Rollouts that once stalled permanently, with the real binary: each completes, or a condition reports why it does not.
//!
//! The plan scripts and the simulator test the order and limits. Nothing here waits for a clock: every test ends with an observed state.

use serde_json::{Value, json};

use crate::rig::CMA_V1ALPHA1;
use crate::rig::Dev;

const GROUP: &str = "addon.open-cluster-management.io";

fn object(kind: &str, name: &str, spec: &Value) -> String {
    let metadata = json!({"name": name, "namespace": "default"});
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": kind, "metadata": metadata, "spec": spec})
        .to_string()
}

/// A busy machine may keep the gate from its answer; a refusal that stays is one.
fn applied(dev: &Dev, manifest: &str) {
    dev.until_run("it is stored", &["apply", "-f", "-"], manifest, |run| run.ok);
}

fn config(dev: &Dev, name: &str, greeting: &str) {
    let variables = json!([{"name": "GREETING", "value": greeting}]);
    let spec = json!({"customizedVariables": variables, "agentInstallNamespace": ""});
    applied(dev, &object("AddOnDeploymentConfig", name, &spec));
}

fn addon(dev: &Dev, install: &str, strategy: &Value, more: &Value) {
    let placement = json!({"name": "everywhere", "namespace": "default", "rolloutStrategy": strategy});
    let default = json!({"name": "aa-cfg", "namespace": "default"});
    let mut spec = json!({
        "supportedConfigs": [
            {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "aa-v1"}},
            {"group": GROUP, "resource": "addondeploymentconfigs", "defaultConfig": default}],
        "installStrategy": {"type": install, "placements": [placement]}});
    for (field, value) in more.as_object().into_iter().flatten() {
        spec[field] = value.clone();
    }
    applied(dev, &object("ClusterManagementAddOn", "aa", &spec));
}

/// A hub with an add-on on all clusters.
fn started(clusters: &str, flags: &[&str], strategy: &Value) -> Dev {
    let dev = Dev::start(&[&["--clusters", clusters, "--no-demo"], flags].concat());
    let set = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta2", "kind": "ManagedClusterSetBinding",
        "metadata": {"name": "global", "namespace": "default"}, "spec": {"clusterSet": "global"}});
    applied(&dev, &set.to_string());
    let placement = json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "Placement",
        "metadata": {"name": "everywhere", "namespace": "default"}, "spec": {"clusterSets": ["global"]}});
    applied(&dev, &placement.to_string());
    let data = json!({"greeting": "{{GREETING}}"});
    let manifest = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "aa", "namespace": "default"}, "data": data});
    let spec = json!({"addonName": "aa", "agentSpec": {"workload": {"manifests": [manifest]}}});
    applied(&dev, &object("AddOnTemplate", "aa-v1", &spec));
    config(&dev, "aa-cfg", "one");
    addon(&dev, "Placements", strategy, &json!({}));
    let count: usize = clusters.parse().expect("a number");
    let ready = format!("{count} of {count} clusters are ready");
    dev.until("every cluster is ready", &["cma", "aa"], |found| {
        condition(found, "Ready").is_some_and(|said| said["message"] == ready.as_str())
    });
    dev
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let mut all = object["status"]["conditions"].as_array()?.iter();
    all.find(|one| one["type"] == kind)
}

/// Whether a cluster runs with the present content of its configuration.
fn upgrades(dev: &Dev, cluster: &str) {
    let listed = dev.read(&[CMA_V1ALPHA1, "aa"]);
    let defaults = listed["status"]["defaultconfigReferences"].as_array().cloned();
    let wanted = defaults.unwrap_or_default().into_iter();
    let wanted: Vec<Value> = wanted
        .map(|one| one["desiredConfig"]["specHash"].clone())
        .collect();
    dev.until(
        &format!("{cluster} has the edit"),
        &["mca", "aa", "-n", cluster],
        |found| {
            let references = found["status"]["configReferences"].as_array();
            let same = |one: &Value| {
                let hash = &one["lastAppliedConfig"]["specHash"];
                wanted.contains(hash) && *hash == one["desiredConfig"]["specHash"]
            };
            references.is_some_and(|all| !all.is_empty() && all.iter().all(same))
        },
    );
}

/// Edits the default configuration and waits until the add-on knows the new hash.
fn edit(dev: &Dev) {
    let hashes = |found: &Value| found["status"]["defaultconfigReferences"].clone();
    let before = hashes(&dev.read(&[CMA_V1ALPHA1, "aa"]));
    config(dev, "aa-cfg", "two");
    dev.until("the add-on knows the edit", &[CMA_V1ALPHA1, "aa"], |found| {
        hashes(found) != before
    });
}

#[test]
fn a_tolerated_failure_hands_its_slot_on() {
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": 1, "maxFailures": 2}});
    let dev = started(
        "3",
        &["--fault", "cluster1=apply-failure,from=2:quota"],
        &strategy,
    );
    edit(&dev);
    upgrades(&dev, "cluster2");
    upgrades(&dev, "cluster3");
    dev.until("cluster1 has failed", &["mca", "aa", "-n", "cluster1"], |found| {
        condition(found, "Progressing").is_some_and(|said| said["reason"] == "UpgradeFailed")
    });
}

#[test]
fn a_share_counts_the_clusters_that_have_a_configuration_of_their_own() {
    let dev = started("4", &[], &json!({"type": "All"}));
    config(&dev, "aa-own", "own");
    let own = json!([{"group": GROUP, "resource": "addondeploymentconfigs", "name": "aa-own", "namespace": "default"}]);
    for cluster in ["cluster3", "cluster4"] {
        let patch = json!({"spec": {"configs": own}}).to_string();
        dev.succeed(&["patch", "mca", "aa", "-n", cluster, "--type=merge", "-p", &patch]);
        dev.until("it has its own", &["mca", "aa", "-n", cluster], |found| {
            let references = found["status"]["configReferences"].as_array();
            references.is_some_and(|all| all.iter().any(|one| one["lastAppliedConfig"]["name"] == "aa-own"))
        });
    }
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": "30%"}});
    addon(&dev, "Placements", &strategy, &json!({}));
    edit(&dev);
    upgrades(&dev, "cluster1");
    upgrades(&dev, "cluster2");
}

#[test]
fn a_strategy_that_keeps_its_placements_and_does_not_follow_them_has_no_limit() {
    let strategy = json!({"type": "Progressive", "progressive": {"maxConcurrency": 1}});
    let dev = started("3", &[], &strategy);
    addon(&dev, "Manual", &strategy, &json!({}));
    edit(&dev);
    for cluster in ["cluster1", "cluster2", "cluster3"] {
        upgrades(&dev, cluster);
    }
}

#[test]
fn a_change_whose_placement_does_not_exist_stalls_the_add_on_by_name() {
    let dev = started("2", &[], &json!({"type": "All"}));
    let update = json!({"name": "nowhere", "namespace": "default", "maxConcurrentlyUpdating": 1});
    let config = json!({"group": GROUP, "resource": "addondeploymentconfigs", "name": "aa-cfg", "namespace": "default"});
    let rollout = json!({"type": "RollingUpdateWithPlacement", "rollingUpdateWithPlacement": update});
    let more = json!({"configuration": {"configs": [config], "rolloutStrategy": rollout},
        "supportedConfigs": [
            {"group": GROUP, "resource": "addontemplates", "defaultConfig": {"name": "aa-v1"}},
            {"group": GROUP, "resource": "addondeploymentconfigs"}]});
    addon(&dev, "Placements", &json!({"type": "All"}), &more);
    dev.until("the missing placement is named", &["cma", "aa"], |found| {
        condition(found, "Stalled").is_some_and(|said| {
            let message = said["message"].as_str().unwrap_or_default();
            said["status"] == "True"
                && said["reason"] == "PlacementNotFound"
                && message.contains("placement default/nowhere does not exist")
        })
    });
}
