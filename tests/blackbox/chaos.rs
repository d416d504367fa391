//! Chaos: a hub, the way to it, or the program itself fails in the middle of a change, and all ends as if nothing had happened.
//!
//! Decides that nothing is lost: what is on the hub afterwards is what is there after a calm day. `tests/chaos/run` runs the long form;
//! `docs/reliability.md` says where the other rows of the matrix are tested.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use devhub::{DevHub, TestHub};
use fleetbench::{Counter, Proxy};
use serde_json::{Value, json};
use spokes::{Faults, Fleet, FleetOptions};

use crate::ending::free_address;
use crate::replicas::Program;
use crate::rig::{Dev, MCA_V1ALPHA1, kubectl, on_cluster, repository, state_of, tidegate};
use crate::roads::{Road, Way, striking};

/// How large and how long a form is.
struct Form {
    clusters: usize,
    outage: Duration,
    kills: u32,
    patience: Duration,
}

fn form() -> Form {
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
struct Scene {
    hub: TestHub,
    fleet: Fleet,
    kubeconfig: PathBuf,
    road: Road,
    program: Program,
    folder: tempfile::TempDir,
    _proxy: Option<Proxy>,
}

fn controllers(kubeconfig: &Path) -> Program {
    // The log of those that were killed stays.
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(kubeconfig.with_extension("log"))
        .expect("writable");
    let child = tidegate()
        .args(["serve", "--only", "controllers", "--kubeconfig"])
        .arg(kubeconfig)
        .args(["--metrics", &free_address()])
        .stdout(Stdio::null())
        .stderr(log)
        .spawn()
        .expect("the binary starts");
    Program(child)
}

impl Scene {
    async fn start((faults, strikes): (&str, bool), of_clusters: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let faults = devhub::Faults::parse(faults).expect("faults");
        let definitions = api::crds()
            .into_iter()
            .map(|crd| serde_json::to_value(crd).expect("plain data"));
        let builder = definitions.fold(DevHub::builder().faults(faults), devhub::Builder::crd);
        let hub = TestHub::of(builder).await.expect("the hub starts");
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

    fn far(&self) -> PathBuf {
        self.folder.path().join("far")
    }

    /// Does something until the hub takes it.
    fn insist(&self, words: &[&str], stdin: &str) {
        self.until(&words.join(" "), || kubectl(&self.kubeconfig, words, stdin).ok);
    }

    fn until(&self, what: &str, holds: impl Fn() -> bool) {
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

    fn list(&self, resource: &str) -> Value {
        let run = kubectl(&self.kubeconfig, &["get", resource, "-A", "-o", "json"], "");
        serde_json::from_str(&run.stdout).unwrap_or_default()
    }

    /// Edits the configuration of every cluster.
    fn edit(&self, greeting: &str) {
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

    /// Waits until every cluster says so, and works.
    fn arrives(&self, reason: &str) {
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
    fn canonical(&self) -> BTreeMap<String, Value> {
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

    async fn end(self) {
        drop(self.program);
        self.fleet.shutdown().await;
        self.hub.shutdown().await;
    }
}

/// Faults of the hub, and whether its answers to the controllers are struck.
const CALM_HUB: (&str, bool) = ("", false);

static CALM: tokio::sync::OnceCell<BTreeMap<String, Value>> = tokio::sync::OnceCell::const_new();

/// What is on the hub after a calm day.
async fn calm() -> &'static BTreeMap<String, Value> {
    CALM.get_or_init(|| async {
        let scene = Scene::start(("", false), &[]).await;
        tokio::task::block_in_place(|| {
            scene.edit("changed");
            scene.arrives("UpgradeSucceed");
        });
        let all = tokio::task::block_in_place(|| scene.canonical());
        scene.end().await;
        all
    })
    .await
}

/// Changes the configuration while something goes wrong; asserts that it all ends as on a calm day.
#[expect(clippy::print_stdout, reason = "figures are for docs/reliability.md")]
async fn survives(
    name: &str,
    (faults, of_clusters): ((&str, bool), &[&str]),
    wrong: impl FnOnce(&mut Scene),
) {
    let calm = calm().await;
    let mut scene = Scene::start(faults, of_clusters).await;
    tokio::task::block_in_place(|| {
        scene.edit("changed");
        wrong(&mut scene);
        let healed = Instant::now();
        scene.arrives("UpgradeSucceed");
        println!("{name}: settled {:?} after the fault has ended", healed.elapsed());
        // A status may still be on its way.
        scene.until("the hub is as on a calm day", || &scene.canonical() == calm);
    });
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_gone_for_a_while_loses_nothing() {
    survives("gone", (CALM_HUB, &[]), |scene| {
        scene.road.set(Way::Gone);
        std::thread::sleep(form().outage);
        scene.road.set(Way::Open);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watches_that_fall_silent_lose_nothing() {
    survives("silent", (CALM_HUB, &[]), |scene| {
        scene.road.set(Way::Silent);
        std::thread::sleep(form().outage);
        scene.road.set(Way::Open);
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_server_that_is_slow_loses_nothing() {
    survives("slow", (("delay=150ms", false), &[]), |_| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn conflicts_forgotten_places_and_refusals_lose_nothing() {
    survives("faults", (("", true), &[]), |scene| {
        scene.until("faults strike", || {
            let log = std::fs::read_to_string(scene.far().with_extension("log")).unwrap_or_default();
            log.contains("a fault on purpose")
        });
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn controllers_that_are_killed_again_and_again_lose_nothing() {
    survives("killed", (CALM_HUB, &[]), |scene| {
        for time in 0..form().kills {
            // Another moment of the batch each time.
            std::thread::sleep(Duration::from_millis(u64::from(time) * 130 % 1000));
            scene.program.signal("KILL");
            scene.program = controllers(&scene.far());
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_that_is_slow_loses_nothing() {
    survives("slow agent", (CALM_HUB, &["cluster2=delay:4s"]), |_| {}).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_namespace_that_hangs_holds_up_nobody_else() {
    survives("namespace", (CALM_HUB, &[]), |scene| {
        let held = json!({"apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": "held", "namespace": "hanging", "finalizers": ["example.com/held"]}});
        let space = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "hanging"}});
        let cluster = json!({"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster",
            "metadata": {"name": "hanging"}, "spec": {"hubAcceptsClient": true}});
        scene.insist(&["apply", "-f", "-"], &space.to_string());
        scene.insist(&["apply", "-f", "-"], &held.to_string());
        scene.insist(&["delete", "namespace", "hanging", "--wait=false"], "");
        scene.insist(&["apply", "-f", "-"], &cluster.to_string());
        std::thread::sleep(Duration::from_secs(3));
        scene.insist(&["delete", "managedcluster", "hanging"], "");
    })
    .await;
}

#[test]
fn a_conversion_that_is_down_stops_nobody_who_needs_none_and_is_told() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster2", "False", "InstallSucceed");
    let converter = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"url": "https://127.0.0.1:9/convert"}}}}});
    for kind in ["clustermanagementaddons", "managedclusteraddons"] {
        let name = format!("{kind}.addon.open-cluster-management.io");
        let patch = converter.to_string();
        dev.succeed(&["patch", "crd", &name, "--type=merge", "-p", &patch]);
    }
    dev.until_run(
        "nobody reads v1beta1 any more",
        &["get", "mca", "-A"],
        "",
        |run| !run.ok,
    );
    let output = tidegate()
        .arg("doctor")
        .env("KUBECONFIG", &dev.kubeconfig)
        .output();
    let told = String::from_utf8_lossy(&output.expect("it ends").stdout).into_owned();
    assert!(told.contains("error    ocm/conversion"), "{told}");
    let patch =
        json!({"spec": {"customizedVariables": [{"name": "GREETING", "value": "changed"}]}}).to_string();
    let place = [
        "patch",
        "addondeploymentconfig",
        "helloworld",
        "-n",
        "open-cluster-management",
    ];
    dev.succeed(&[&place[..], &["--type", "merge", "-p", &patch]].concat());
    dev.until("the change arrives", &[MCA_V1ALPHA1, "-A"], |list| {
        ["cluster1", "cluster2"].iter().all(|cluster| {
            on_cluster(list, "helloworld", cluster).is_some_and(|one| {
                state_of(one, "Progressing").1 == "UpgradeSucceed" && state_of(one, "Ready").0 == "True"
            })
        })
    });
}
