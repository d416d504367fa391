//! Chaos: a hub, the connection to it, or the program itself fails in the middle of a change. The final state must be the same as
//! without the failure.
//!
//! Decides that nothing is lost: what is on the hub afterwards is what is there after a calm day. `tests/scripts/chaos/run` runs the long form;
//! `docs/guarantees.md` names the tests of the other failures.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::chaos_scene::{Scene, controllers, form};
use serde_json::{Value, json};

use crate::rig::{Dev, MCA_V1ALPHA1, on_cluster, state_of, tidegate};
use crate::roads::Way;

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
#[expect(clippy::print_stdout, reason = "figures of a run")]
async fn survives(
    name: &str,
    (faults, of_clusters): ((&str, bool), &[&str]),
    wrong: impl FnOnce(&mut Scene),
) {
    let mut scene = Scene::start(faults, of_clusters).await;
    let calm = calm().await;
    tokio::task::block_in_place(|| {
        scene.edit("changed");
        wrong(&mut scene);
        let healed = Instant::now();
        scene.arrives("UpgradeSucceed");
        println!("{name}: settled {:?} after the fault has ended", healed.elapsed());
        // A status may still be written.
        scene.until("the hub is as on a calm day", || &scene.canonical() == calm);
    });
    scene.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outage_of_the_api_server_loses_nothing() {
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
async fn answers_that_break_off_in_the_middle_lose_nothing() {
    survives("torn", (CALM_HUB, &[]), |scene| {
        scene.road.set(Way::Torn);
        std::thread::sleep(form().outage);
        let torn = scene.road.torn();
        assert!(torn > 2, "{torn} answers broke off");
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
async fn a_hanging_namespace_blocks_no_other_cluster() {
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
fn a_conversion_outage_is_reported_and_stops_only_kinds_that_need_it() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster2", "False", "InstallSucceed");
    let converter = json!({"spec": {"conversion": {"webhook": {"clientConfig": {"url": "https://127.0.0.1:9/convert"}}}}});
    for kind in ["clustermanagementaddons", "managedclusteraddons"] {
        let name = format!("{kind}.addon.open-cluster-management.io");
        let patch = converter.to_string();
        dev.succeed(&["patch", "crd", &name, "--type=merge", "-p", &patch]);
    }
    dev.until_run(
        "v1beta1 cannot be read any more",
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
