//! The stories of `tests/stories/`, each told by its script with the real `kubectl` against the real binary.
//!
//! A hub is started for every story. With `TIDEGATE_REAL_HUB=yes` the one that KUBECONFIG names is used instead: asked for
//! by a second variable, so that a test run never touches a hub that the developer merely happens to be logged in to.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use crate::kubectl::require_kubectl;
use crate::rig::repository;

/// Hubs that run side by side; more would only make each other slow.
const SIDE_BY_SIDE: usize = 2;

#[test]
fn every_story_ends_as_it_is_told() {
    let folder = repository("tests/stories");
    let mut stories: Vec<String> = std::fs::read_dir(&folder)
        .expect("the folder of stories")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "sh"))
        .filter_map(|path| Some(path.file_stem()?.to_string_lossy().into_owned()))
        .collect();
    stories.sort();
    assert!(stories.len() >= 10, "the stories are gone: {stories:?}");

    let side_by_side = if is_real_hub() { 1 } else { SIDE_BY_SIDE };
    let (waiting, failed) = (Mutex::new(stories.into_iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..side_by_side {
            scope.spawn(|| {
                while let Some(story) = next(&waiting) {
                    if let Err(said) = tell(&folder, &story) {
                        failed.lock().expect("no thread panics").push(said);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panics");
    assert!(failed.is_empty(), "{}", failed.join("\n"));
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

fn next(waiting: &Mutex<impl Iterator<Item = String>>) -> Option<String> {
    waiting.lock().expect("no thread panics").next()
}

fn tell(folder: &Path, story: &str) -> Result<(), String> {
    require_kubectl();
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
