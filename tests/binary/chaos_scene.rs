//! A hub with clusters, a connection to it, and the controllers; and the state of the hub without values that differ between runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use devhub::{DevHub, TestHub};
use fleetbench::{Counter, Proxy};
use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions};

use crate::addresses::free_address;
use crate::reads::Reader;
use crate::replicas::Program;
use crate::rig::{kubectl, on_cluster, repository, state_of, tidegate};
use crate::roads::{Road, striking};

/// How large and how long a form is.
pub(crate) struct Form {
    pub(crate) clusters: usize,
    pub(crate) outage: Duration,
    pub(crate) kills: u32,
    pub(crate) patience: Duration,
}

pub(crate) fn form() -> Form {
    if std::env::var_os("TIDEGATE_CHAOS").is_some_and(|form| form == "long") {
        return Form {
            clusters: 30,
            outage: Duration::from_secs(90),
            kills: 40,
            patience: Duration::from_mins(10),
        };
    }
    Form {
        clusters: 3,
        outage: Duration::from_secs(8),
        kills: 6,
        patience: Duration::from_mins(2),
    }
}

/// A hub with clusters, a way to it, and the controllers at the end of the way.
pub(crate) struct Scene {
    pub(crate) hub: TestHub,
    fleet: Fleet,
    pub(crate) kubeconfig: PathBuf,
    reader: Reader,
    pub(crate) road: Road,
    pub(crate) program: Program,
    folder: tempfile::TempDir,
    _proxy: Option<Proxy>,
}

/// Our definitions as a hub takes them.
pub(crate) fn definitions() -> impl Iterator<Item = Value> {
    let all = api::crds().into_iter();
    all.map(|crd| serde_json::to_value(crd).expect("plain data"))
}

/// Starts the controllers.
pub(crate) fn controllers(kubeconfig: &Path) -> Program {
    controllers_with(kubeconfig, &[])
}

/// Starts the controllers in an environment.
pub(crate) fn controllers_with(kubeconfig: &Path, environment: &[(&str, String)]) -> Program {
    // The log of those that were killed stays.
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(kubeconfig.with_extension("log"))
        .expect("writable");
    let child = tidegate()
        .args(["serve", "--only", "controllers", "--kubeconfig"])
        .arg(kubeconfig)
        .args(["--metrics", &free_address().to_string()])
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the binary starts");
    Program(child)
}

impl Scene {
    /// A hub in this process, with faults of its own, whose answers to the controllers are struck or not.
    pub(crate) async fn start((faults, strikes): (&str, bool), of_clusters: &[&str]) -> Self {
        let faults = devhub::Faults::parse(faults).expect("faults");
        let builder = definitions().fold(DevHub::builder().faults(faults), devhub::Builder::crd);
        let hub = TestHub::of(builder).await.expect("the hub starts");

        let folder = tempfile::tempdir().expect("a folder");
        let kubeconfig = folder.path().join("kubeconfig");
        let text = hub.kubeconfig();
        std::fs::write(&kubeconfig, &text).expect("writable");
        let rest = text.split("https://").nth(1).expect("an address");
        let direct = rest
            .split(['"', '\n', ',', '/'])
            .next()
            .expect("an address")
            .trim();
        let (road, address) = Road::start(direct.to_owned()).await;
        let far = folder.path().join("far");
        let proxy = if strikes {
            let proxy = Proxy::start(striking(hub.client()), Counter::default());
            Some(proxy.await.expect("a proxy"))
        } else {
            None
        };
        let way = proxy
            .as_ref()
            .map_or_else(|| text.replace(direct, &address), Proxy::kubeconfig);
        std::fs::write(&far, way).expect("writable");
        let options = FleetOptions {
            clusters: form().clusters,
            faults: Faults::parse(of_clusters).expect("faults"),
            ..FleetOptions::default()
        };
        let fleet = Fleet::start(hub.client(), options)
            .await
            .expect("the clusters start");
        let scene = Self {
            program: controllers(&far),
            hub,
            fleet,
            reader: Reader::of(&kubeconfig),
            kubeconfig,
            road,
            folder,
            _proxy: proxy,
        };
        let examples = repository("manifests/examples").to_string_lossy().into_owned();
        scene.insist(&["apply", "-f", &examples], "");
        scene.arrives("InstallSucceed");
        scene
    }

    pub(crate) fn far(&self) -> PathBuf {
        self.folder.path().join("far")
    }

    /// Does something until the hub takes it.
    pub(crate) fn insist(&self, words: &[&str], stdin: &str) {
        self.until(&words.join(" "), || kubectl(&self.kubeconfig, words, stdin).ok);
    }

    pub(crate) fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let begun = Instant::now();
        while !holds() {
            assert!(
                begun.elapsed() < form().patience,
                "still not so: {what}\n{}",
                self.last_words()
            );
            std::thread::sleep(Duration::from_millis(200));
        }
    }

    /// The end of the log, and what is on the hub.
    fn last_words(&self) -> String {
        let log = std::fs::read_to_string(self.far().with_extension("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().rev().take(30).collect();
        let on_hub = [
            "placements",
            "placementdecisions",
            "managedclusters",
            "clustermanagementaddons",
            "managedclusteraddons",
        ];
        let on_hub = on_hub.map(|resource| kubectl(&self.kubeconfig, &["get", resource, "-A"], "").stdout);
        format!("{}\n{}", lines.join("\n"), on_hub.join("\n"))
    }

    pub(crate) fn list(&self, resource: &str) -> Value {
        self.reader.get(&[resource, "-A"]).unwrap_or_default()
    }

    /// Edits the configuration of every cluster.
    pub(crate) fn edit(&self, greeting: &str) {
        let patch =
            json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": greeting}]}}).to_string();
        let place = [
            "patch",
            "addondeploymentconfig",
            "helloworld",
            "-n",
            "open-cluster-management",
        ];
        self.insist(&[&place[..], &["--type", "merge", "-p", &patch]].concat(), "");
    }

    /// Waits until every cluster reports it, and is available.
    pub(crate) fn arrives(&self, reason: &str) {
        let all = |list: &Value| {
            (1..=form().clusters).all(|number| {
                let found = on_cluster(list, "helloworld", &format!("cluster{number}"));
                found.is_some_and(|one| {
                    state_of(one, "Progressing").1 == reason && state_of(one, "Ready").0 == "True"
                })
            })
        };
        self.until(&format!("every cluster says {reason}"), || {
            all(&self.list("managedclusteraddons"))
        });
    }

    /// What is on the hub, without times, revisions and names that are drawn.
    pub(crate) fn canonical(&self) -> BTreeMap<String, Value> {
        let mut all = BTreeMap::new();
        for resource in ["managedclusteraddons", "manifestworks", "clustermanagementaddons"] {
            let list = self.list(resource);
            for item in list["items"].as_array().expect("a list") {
                let place = format!(
                    "{resource} {} {}",
                    item["metadata"]["namespace"], item["metadata"]["name"]
                );
                let states = item["status"]["conditions"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                let states: BTreeMap<String, Value> = states
                    .iter()
                    .map(|one| (one["type"].to_string(), json!([one["status"], one["reason"]])))
                    .collect();
                let hashes = item["status"]["configReferences"].clone();
                all.insert(
                    place,
                    json!({"spec": item["spec"], "states": states, "configs": hashes}),
                );
            }
        }
        all
    }

    pub(crate) async fn end(self) {
        drop(self.program);
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}
