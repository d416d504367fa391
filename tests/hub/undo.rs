//! The GitOps example with `prune: true`: new content fails on two of five clusters after the old content was pruned, and all of them
//! are rolled back, even if the controllers restart in between.
//!
//! `tests/plans/undo-kept.txt` and `undo-forged.txt` test the same without a hub.

use kube::api::{DeleteParams, DynamicObject, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use store::{Kind, terms};
use tidegate::controllers::TideOptions;

use crate::hub::kstatus::{apply, of};
use crate::kit::hubs;
use crate::kit::manifests::documents;
use crate::kit::stock_on_hub::resource;
use crate::kit::waiting::eventually_or;

const CLUSTERS: usize = 5;
const FAULTS: [&str; 2] = [
    "cluster1=apply-failure,manifest=broken:quota-exceeded",
    "cluster2=apply-failure,manifest=broken:quota-exceeded",
];

fn example(file: &str) -> Vec<Value> {
    documents(&format!("manifests/gitops/example/{file}"))
}

/// A commit that brings the content of this name, of which the manifest has that name.
async fn commit(client: &Client, template: &str, manifest: &str) {
    let mut content = example("content.yaml").remove(0);
    content["metadata"]["name"] = json!(template);
    content["spec"]["agentSpec"]["workload"]["manifests"][1]["metadata"]["name"] = json!(manifest);
    let mut addon = example("addon.yaml").remove(0);
    addon["spec"]["supportedConfigs"][0]["defaultConfig"]["name"] = json!(template);
    apply(client, &content).await;
    apply(client, &addon).await;
}

async fn prune(client: &Client, template: &str) {
    let templates: Api<DynamicObject> = Api::all_with(client.clone(), &of("AddOnTemplate"));
    let pruned = templates.delete(template, &DeleteParams::default()).await;
    pruned.expect("it is pruned");
}

/// Which manifest each cluster is given, and why the add-on is stalled.
async fn standing(client: &Client) -> (Vec<String>, String) {
    let works: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::Work));
    let works = works.list(&ListParams::default()).await.expect("a list").items;
    let manifest = |work: &DynamicObject| {
        let name = work.data.pointer("/spec/workload/manifests/1/metadata/name");
        name.and_then(Value::as_str).unwrap_or_default().to_owned()
    };
    let addons: Api<DynamicObject> = Api::all_with(client.clone(), &of("ClusterManagementAddOn"));
    let addon = addons.get("greeting").await.expect("the add-on");
    let conditions = addon.data.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    let stalled = conditions.find(|one| one["type"] == "Stalled");
    let says = stalled.map_or_else(String::new, |one| {
        format!("{}: {}", one["reason"], one["message"])
    });
    (works.iter().map(manifest).collect(), says)
}

async fn kept(client: &Client) -> usize {
    let all: Api<DynamicObject> = Api::all_with(client.clone(), &resource(Kind::KeptContent));
    let params = ListParams::default().labels(terms::KEPT_CONTENT);
    all.list(&params).await.expect("a list").items.len()
}

async fn goes_back(client: &Client) {
    eventually_or(
        "every cluster is back",
        || standing(client),
        || async {
            let (manifests, says) = standing(client).await;
            let is_named =
                says.contains("\"RolledBack\"") && says.contains("ControllerRevision tidegate/greeting-");
            is_named && manifests == ["greeting"; CLUSTERS]
        },
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rollback_restores_pruned_content() {
    let hub = hubs::hub().await;
    let client = hub.client();
    let fleet = hubs::fleet(client.clone(), CLUSTERS, &FAULTS).await;
    fleet.ready().await.expect("the clusters have joined");
    let set = documents("manifests/examples/02-cluster-set.yaml")
        .into_iter()
        .take(1);
    let own = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "tidegate"}});
    hubs::load(&hub, set.chain([own])).await;
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    for file in ["clusters.yaml", "rollout.yaml"] {
        for object in &example(file) {
            apply(&client, object).await;
        }
    }
    commit(&client, "greeting-v1", "greeting").await;
    eventually_or(
        "what runs well is kept",
        || standing(&client),
        || async { kept(&client).await == 1 },
    )
    .await;

    commit(&client, "greeting-v2", "broken").await;
    prune(&client, "greeting-v1").await;
    goes_back(&client).await;

    // The next one is pruned while no controllers run.
    tide.shutdown().await;
    commit(&client, "greeting-v3", "broken").await;
    prune(&client, "greeting-v2").await;
    let tide = hubs::tide(client.clone(), TideOptions::default()).await;
    eventually_or(
        "the content of the commit has failed",
        || standing(&client),
        || async { standing(&client).await.1.contains("greeting-v3") },
    )
    .await;
    goes_back(&client).await;

    let addons: Api<DynamicObject> = Api::all_with(client.clone(), &of("ClusterManagementAddOn"));
    let deleted = addons.delete("greeting", &DeleteParams::default()).await;
    deleted.expect("it is deleted");
    eventually_or(
        "what is kept goes with the add-on",
        || kept(&client),
        || async { kept(&client).await == 0 },
    )
    .await;
    tide.shutdown().await;
    fleet.shutdown().await;
    hub.shutdown().await;
}
