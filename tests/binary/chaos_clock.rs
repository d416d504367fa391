//! The clock of the controllers' machine jumps in the middle of a rollout: no soak time is shortened, and the rollout completes.
//!
//! The binary has no option for its clock: libfaketime shifts the time, and without it the test is skipped. The unit tests of
//! `controllers::runtime::clock` pass times in.

use std::cell::Cell;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::chaos_scene::{Scene, controllers_with, form};
use crate::programs::Program;
use crate::rig::{kubectl, state_of};

const SOAK: Duration = Duration::from_secs(12);

/// The library that shows a program another time than it is.
const LIBFAKETIME: Program = Program::new("libfaketime", "apt-get install faketime");

/// Returns where the library is, if it is installed.
fn library() -> Option<PathBuf> {
    let architectures = std::fs::read_dir("/usr/lib").ok()?.filter_map(Result::ok);
    let mut libraries = architectures.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    libraries.find(|library| library.exists())
}

/// The clusters that have arrived at the change.
fn arrived(scene: &Scene) -> usize {
    let list = scene.list("managedclusteraddons");
    let each = list["items"].as_array().cloned().unwrap_or_default();
    each.iter()
        .filter(|one| state_of(one, "Progressing").1 == "UpgradeSucceed")
        .count()
}

/// The clusters that the change has left for.
fn left_for(scene: &Scene) -> usize {
    let list = scene.list("managedclusteraddons");
    let each = list["items"].as_array().cloned().unwrap_or_default();
    let moved = |one: &&serde_json::Value| {
        ["UpgradeSucceed", "Upgrading"].contains(&state_of(one, "Progressing").1.as_str())
    };
    each.iter().filter(moved).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_cuts_no_soak_short() {
    let Some(library) = library() else {
        LIBFAKETIME.skip();
        return;
    };
    let mut scene = Scene::start(("", false), &[]).await;
    tokio::task::block_in_place(|| jumps(&mut scene, &library));
    scene.end().await;
}

fn jumps(scene: &mut Scene, library: &Path) {
    let time = scene.far().with_extension("time");
    let set = |ahead: &str| std::fs::write(&time, format!("{ahead}\n")).expect("writable");
    set("+0");
    scene.program.signal("KILL");
    let environment = [
        ("LD_PRELOAD", library.to_string_lossy().into_owned()),
        ("FAKETIME_TIMESTAMP_FILE", time.to_string_lossy().into_owned()),
        ("FAKETIME_NO_CACHE", "1".to_owned()),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1".to_owned()),
    ];
    scene.program = controllers_with(&scene.far(), &environment);
    let strategy = json!({"type": "Progressive", "progressive":
        {"maxConcurrency": 1, "minSuccessTime": format!("{}s", SOAK.as_secs())}});
    let patch = json!([{"op": "replace", "path": "/spec/installStrategy/placements/0/rolloutStrategy", "value": strategy}]);
    let words = [
        "patch",
        "clustermanagementaddons.v1alpha1.addon.open-cluster-management.io",
        "helloworld",
        "--type=json",
        "-p",
    ];
    scene.insist(&[&words[..], &[&patch.to_string()]].concat(), "");
    scene.edit("changed");
    // An hour ahead while the first cluster soaks, and an hour back while the second one does.
    for (soaking, ahead) in [(1, "+3600"), (2, "+0")] {
        // It has arrived after the last question that was answered with no: a slow answer makes no soak shorter.
        let begun = Cell::new(Instant::now());
        scene.until("a cluster has arrived", || {
            let asked = Instant::now();
            let has_arrived = arrived(scene) == soaking;
            if !has_arrived {
                begun.set(asked);
            }
            has_arrived
        });
        set(ahead);
        loop {
            let left = left_for(scene);
            let after = begun.get().elapsed();
            if after >= SOAK.saturating_sub(Duration::from_secs(2)) {
                break;
            }
            assert_eq!(
                left, soaking,
                "the soak of cluster {soaking} was cut short after {after:?}"
            );
            std::thread::sleep(Duration::from_millis(300));
        }
        let log = scene.far().with_extension("log");
        let noticed = || {
            let log = std::fs::read_to_string(&log).expect("a log");
            log.matches("the local clock jumped").count()
        };
        scene.until("the jump is noticed", || noticed() >= soaking);
        assert_eq!(noticed(), soaking, "each jump is reported once");
        scene.until("the next one moves", || left_for(scene) > soaking);
    }
    scene.until("all have arrived", || arrived(scene) == form().clusters.min(3));
    let read = kubectl(
        &scene.kubeconfig,
        &["get", "clustermanagementaddons", "helloworld"],
        "",
    );
    assert!(read.ok, "{}", read.stderr);
}
