//! The status code for changes that no API server stores.
//!
//! Force modes (`kubectl apply --force`, Argo CD's `Force`, Flux's `force`) delete an object whose change gets code 422, and create it
//! again. So no change of a kind with a webhook may get 422: the webhook denies it earlier, with 403. The changes are generated from the
//! CRDs: every field with every value that its schema rejects, and every error in the metadata.

mod faults;

use std::collections::{BTreeMap, BTreeSet};

use admission::{Operation, Webhook};
use faults::{Fault, of_metadata, of_spec, sample};
use serde_json::{Value, json};
use store::Facts;

use crate::hub::bypass::rig::{Ask, Rig, address, ask, collection};
use crate::kit::asked::Asked;
use crate::kit::hubs::definitions;
use crate::kit::search;

/// The kinds whose changes the mutating webhook receives.
const KINDS: [&str; 7] = [
    "AddOnDeploymentConfig",
    "AddOnHubConfig",
    "AddOnPolicy",
    "AddOnTemplate",
    "ClusterManagementAddOn",
    "ManagedClusterAddOn",
    "ManagedClustersUpgrade",
];
/// Of how many faults one is tried, usually.
const ONE_OF: usize = 9;

/// Returns the definitions of Open Cluster Management, and those of ours that it has not got.
fn theirs() -> Vec<Value> {
    let folder = std::fs::read_dir("tests/data/ocm-crds").expect("a folder");
    let theirs = folder.map(|file| {
        let text = std::fs::read_to_string(file.expect("a file").path()).expect("a text");
        serde_saphyr::from_str::<Value>(&text).expect("YAML")
    });
    let theirs: Vec<Value> = theirs.collect();
    let names: BTreeSet<String> = theirs
        .iter()
        .map(|crd| crd["metadata"]["name"].to_string())
        .collect();
    let ours = definitions().into_iter();
    let ours = ours.filter(|crd| !names.contains(&crd["metadata"]["name"].to_string()));
    theirs.iter().cloned().chain(ours).collect()
}

/// A kind in one version.
struct Served {
    kind: String,
    api_version: String,
    is_namespaced: bool,
    spec: Value,
}

fn served(definitions: &[Value]) -> Vec<Served> {
    let of_kind = |crd: &&Value| {
        crd["spec"]["names"]["kind"]
            .as_str()
            .is_some_and(|kind| KINDS.contains(&kind))
    };
    let mut all = Vec::new();
    for crd in definitions.iter().filter(of_kind) {
        for version in crd["spec"]["versions"].as_array().expect("versions") {
            if version["served"] == true {
                let (group, name) = (&crd["spec"]["group"], &version["name"]);
                all.push(Served {
                    kind: crd["spec"]["names"]["kind"].as_str().expect("a kind").to_owned(),
                    api_version: format!(
                        "{}/{}",
                        group.as_str().expect("a group"),
                        name.as_str().expect("a name")
                    ),
                    is_namespaced: crd["spec"]["scope"] == "Namespaced",
                    spec: version["schema"]["openAPIV3Schema"]["properties"]["spec"].clone(),
                });
            }
        }
    }
    all
}

impl Served {
    fn version(&self) -> &str {
        self.api_version
            .split_once('/')
            .map_or("", |(_, version)| version)
    }

    /// An object that every API server stores.
    fn good(&self) -> Value {
        let mut object = json!({"apiVersion": self.api_version, "kind": self.kind,
            "metadata": {"name": "forced", "labels": {"a": "b"}}, "spec": sample(&self.spec)});
        if self.is_namespaced {
            object["metadata"]["namespace"] = json!("default");
        }
        match self.kind.as_str() {
            "AddOnPolicy" => {
                let rule = json!({"apiGroups": ["addon.open-cluster-management.io"], "apiVersions": ["v1alpha1"],
                    "operations": ["CREATE"], "resources": ["managedclusteraddons"]});
                object["spec"] = json!({"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]});
            }
            "ManagedClustersUpgrade" => {
                object["spec"] = json!({"placement": [{"name": "p", "namespace": "default"}], "clusterVersion": {"channel": "stable-4.12", "version": "4.12.0"}});
            }
            "AddOnTemplate" => {
                let map = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default"}});
                object["spec"] =
                    json!({"addonName": "forced", "agentSpec": {"workload": {"manifests": [map]}}});
            }
            _ => {}
        }
        object
    }
}

/// What was found.
#[derive(Default)]
struct Tally {
    statuses: BTreeMap<u16, usize>,
    invalid: Vec<String>,
    /// Refusals that name another field.
    strange: Vec<String>,
}

/// Tells whether a refusal names the field of a fault, what is above it or what is in it.
fn names(answer: &Value, fault: &Fault) -> bool {
    let causes = answer["details"]["causes"].as_array().into_iter().flatten();
    let mut fields = causes.filter_map(|cause| cause["field"].as_str());
    let place = fault.place();
    fields.any(|field| field == "object" || field.starts_with(&place) || place.starts_with(field))
}

/// Sends every fault of a kind as a change of a stored object.
async fn force(rig: &Rig, served: &Served, tally: &mut Tally) {
    let good = served.good();
    let (status, stored) = rig
        .send(&ask("POST", collection(&good, served.version()), &good))
        .await;
    if status != 201 {
        tally
            .invalid
            .push(format!("{} {}: {stored}", served.kind, served.api_version));
        return;
    }
    let at = address(&good, served.version());
    let faults: Vec<Fault> = of_metadata()
        .into_iter()
        .chain(of_spec(&served.spec, &good["spec"]))
        .collect();
    for (number, fault) in faults.iter().enumerate() {
        if !search::is_full() && number % ONE_OF != served.kind.len() % ONE_OF {
            continue;
        }
        let (_, live) = rig.send(&ask("GET", at.clone(), &Value::Null)).await;
        let mut changed = live.clone();
        fault.apply(&mut changed);
        let patch = Ask {
            content: "application/merge-patch+json",
            ..ask("PATCH", at.clone(), &fault.patch())
        };
        for way in [ask("PUT", at.clone(), &changed), patch] {
            let (status, answer) = rig.send(&way).await;
            *tally.statuses.entry(status).or_default() += 1;
            if status == 422 {
                let message = answer["message"].as_str().unwrap_or_default();
                tally.invalid.push(format!(
                    "{} {} {} {fault}: {message}",
                    way.method, served.api_version, served.kind
                ));
            }
            if status == 403 && !names(&answer, fault) {
                tally
                    .strange
                    .push(format!("{} {} {fault}: {answer}", way.method, served.api_version));
            }
            if status == 200 {
                // The next change begins with the good object again.
                rig.send_past(&ask("DELETE", at.clone(), &Value::Null)).await;
                let free = json!({"metadata": {"finalizers": null}});
                let free = Ask {
                    content: "application/merge-patch+json",
                    ..ask("PATCH", at.clone(), &free)
                };
                rig.send_past(&free).await;
                let (status, stored) = rig
                    .send(&ask("POST", collection(&good, served.version()), &good))
                    .await;
                assert_eq!(status, 201, "{stored}");
            }
        }
    }
    rig.send_past(&ask("DELETE", at, &Value::Null)).await;
}

async fn search_among(definitions: Vec<Value>) -> Tally {
    let kinds = served(&definitions);
    let rig = Rig::with_definitions(definitions).await;
    rig.close_the_gate().await;
    let mut tally = Tally::default();
    for served in &kinds {
        force(&rig, served, &mut tally).await;
    }
    rig.stop().await;
    tally
}

#[expect(clippy::print_stdout, reason = "how many were tried is said")]
fn judge(name: &str, tally: &Tally) {
    println!("{name}: {:?}", tally.statuses);
    assert!(
        tally.statuses.get(&403).is_some_and(|count| *count > 50),
        "{:?}",
        tally.statuses
    );
    let strange = tally.strange.join("\n");
    assert!(
        strange.is_empty(),
        "{} refused for another reason:\n{strange}",
        tally.strange.len()
    );
    let invalid = tally.invalid.join("\n");
    assert!(
        invalid.is_empty(),
        "{} answered with 422:\n{invalid}",
        tally.invalid.len()
    );
}

/// Manifests of which no tree is built: too many values, and too deep.
fn unreadable_manifests() -> [Value; 2] {
    let many = vec![json!(vec![json!({"a": 0}); 4_500]); 13];
    let deep = (0..200).fold(json!(1), |inner, _| json!([inner]));
    [many.into(), deep]
}

/// The metadata of a change is judged in the same way where the rest of the object is too large or too deep to be read.
#[test]
fn the_metadata_of_an_object_that_cannot_be_read_is_judged_as_that_of_any_other() {
    let kinds = served(&definitions());
    let template = kinds
        .iter()
        .find(|served| served.kind == "AddOnTemplate")
        .expect("a kind");
    let small = template.good();
    let mut refused = 0;
    for content in unreadable_manifests() {
        let mut large = small.clone();
        large["spec"]["agentSpec"]["workload"]["manifests"][0]["x"] = content;
        let told = |old: &Value, fault: Option<&Fault>| {
            let mut object = old.clone();
            object["metadata"]["labels"]["more"] = json!("x");
            if let Some(fault) = fault {
                fault.apply(&mut object);
            }
            let asked = Asked {
                operation: Operation::Update,
                old: Some(old.clone()),
                ..Asked::create(object)
            };
            let verdict = asked.at(Webhook::Mutate, &Facts::default());
            let lines = verdict.violations().iter().map(ToString::to_string);
            lines.collect::<Vec<_>>()
        };
        assert!(told(&large, None).is_empty(), "{:?}", told(&large, None));
        for fault in of_metadata() {
            let expected = told(&small, Some(&fault));
            assert_eq!(told(&large, Some(&fault)), expected, "{fault}");
            refused += usize::from(!expected.is_empty());
        }
    }
    assert!(refused > 30, "{refused}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_change_of_our_definitions_is_answered_in_a_way_that_force_modes_delete_for() {
    judge("our definitions", &search_among(definitions()).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nor_is_one_of_open_cluster_managements_definitions_in_either_version() {
    judge("OCM's definitions", &search_among(theirs()).await);
}
