//! The stories of `tests/stories/`, each a test: its script runs with the real `kubectl` against the real binary.
//!
//! Each story has a hub of its own. With `TIDEGATE_REAL_HUB=yes` the hub of KUBECONFIG is used instead. The second variable prevents
//! that a test run changes a hub that the developer happens to be logged in to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

use crate::each::{self, test_each};
use crate::kubectl::require_kubectl;
use crate::programs::Program;
use crate::rig::repository;

test_each! {
    ends_as_told, "tests/stories", "sh":
    auto_upgrade
    automatic_undo
    canary
    cluster_labels
    dependencies
    disable_some_clusters
    fresh_install
    invalid_version
    notifications
    override_per_cluster
    progressive
    rollback
    rollout_approval
    rollout_check
    rollout_check_prometheus
    rollout_freeze
    rollout_profile
    rollout_window
    third_party
    two_placements
    uninstall
    upgrade_canary_fails
    upgrade_check_prometheus
    upgrade_operators_only
    upgrade_pause_and_join
    upgrade_post_action_fails
    upgrade_stages
    upgrade_with_operators
}

/// What a story with real metrics starts.
const PROMETHEUS: Program = Program::new("prometheus", "apt-get install prometheus");

fn ends_as_told(story: &str) {
    if story.ends_with("-prometheus") && PROMETHEUS.is_missing() {
        return;
    }
    let told = tell(&repository("tests/stories"), story);
    assert!(told.is_ok(), "{}", told.err().unwrap_or_default());
}

#[test]
fn a_story_that_is_not_so_fails() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for file in ["run", "lib.bash"] {
        let from = repository("tests/stories").join(file);
        std::fs::copy(from, folder.path().join(file)).expect("a copy");
    }
    let story = "# flags: --clusters 1\nis cluster7 kubectl get managedclusters -o 'jsonpath={.items[*].metadata.name}'\n";
    std::fs::write(folder.path().join("wrong.sh"), story).expect("writable");
    let said = tell(folder.path(), "wrong").expect_err("cluster7 is not there");
    assert!(said.contains("NOT SO:") && said.contains("cluster1"), "{said}");
}

/// A hub that is there has one story at a time.
static REAL_HUB: Mutex<()> = Mutex::new(());

fn tell(folder: &Path, story: &str) -> Result<(), String> {
    require_kubectl();
    let _alone = is_real_hub().then(|| REAL_HUB.lock().unwrap_or_else(PoisonError::into_inner));
    // The script is read, not executed: a copy that was just written may still be open in a process that another test starts.
    let mut command = Command::new("bash");
    command
        .arg(folder.join("run"))
        .arg(story)
        .env("TIDEGATE", PathBuf::from(env!("CARGO_BIN_EXE_tidegate")))
        .stdin(Stdio::null());
    if !is_real_hub() {
        command.env_remove("KUBECONFIG");
    }
    let told = command
        .output()
        .map_err(|error| format!("the scripts need bash and kubectl: {error}"))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    if told.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", text(&told.stdout), text(&told.stderr)))
}

fn is_real_hub() -> bool {
    std::env::var("TIDEGATE_REAL_HUB").is_ok_and(|value| value == "yes")
}
