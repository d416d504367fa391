//! kubectl as people type it: transcripts in `kubectl/`, replayed command by command and compared with what stands there.
//!
//! A line behind `$ ` is a command for the shell, in a folder of its own with the hub's kubeconfig; lines behind `> ` belong to the
//! command above. Everything else is what the command printed. What differs from run to run is masked. `UPDATE_EXPECT=1` writes down
//! what is printed now.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use devhub::{Builder, DevHub};
use expect_test::expect_file;
use regex::Regex;
use tempfile::TempDir;

use crate::Scene;
use crate::kubectl::require_kubectl;

/// A shell whose kubectl talks to a hub.
struct Shell {
    scene: Scene,
    folder: TempDir,
    masks: Vec<(Regex, &'static str)>,
}

/// What differs from run to run, and what stands for it. The order matters.
const MASKS: [(&str, &str); 10] = [
    (r"https://127\.0\.0\.1:\d+", "<server>"),
    (
        r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
        "<uid>",
    ),
    (
        r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z| [+-]\d{4})",
        "<time>",
    ),
    (r"/tmp/[\w.]*/?(LIVE|MERGED)-\d+", "$1"),
    // Newer kubectls say from where.
    (r#"(" (?:force )?deleted) from \w+ namespace"#, "$1"),
    (
        r#"(resourceVersion: "|Resource Version: +|"resourceVersion": ?")\d+"#,
        "$1<version>",
    ),
    // Errors quote whole objects.
    (
        r#"Invalid value: "\{\\"apiVersion.*\}": "#,
        "Invalid value: <object>: ",
    ),
    // Ages are the last column of a table; header and rows keep their width.
    (r"(?m)( )(\d+[smhd])+$", "$1<age>"),
    (r"(?m)[ \t]+$", ""),
    // Empty lines end what a command printed.
    (r"\n{2,}", "\n"),
];

impl Shell {
    fn on(scene: Scene) -> Self {
        require_kubectl();
        let folder = tempfile::tempdir().expect("a folder");
        let config = folder.path().join("kubeconfig");
        scene.hub.write_kubeconfig(&config).expect("a kubeconfig");
        let masks = MASKS.map(|(pattern, text)| (Regex::new(pattern).expect("a pattern"), text));
        Self {
            scene,
            folder,
            masks: masks.into(),
        }
    }

    /// Runs a command and returns all that it prints, and how it ended if it failed.
    fn run(&self, command: &str) -> String {
        let output = Command::new("sh")
            .args(["-c", &format!("exec 2>&1\n{command}")])
            .current_dir(self.folder.path())
            .env("KUBECONFIG", self.folder.path().join("kubeconfig"))
            .env("HOME", self.folder.path())
            .env("KUBECACHEDIR", self.folder.path().join("cache"))
            .env("TZ", "UTC")
            .stdin(Stdio::null())
            .output()
            .expect("a shell");
        let mut said = String::from_utf8_lossy(&output.stdout).into_owned();
        if !said.is_empty() && !said.ends_with('\n') {
            said.push('\n');
        }
        if !output.status.success() {
            let code = output.status.code().unwrap_or(-1);
            writeln!(said, "[exit {code}]").expect("a text grows");
        }
        let folder = self.folder.path().to_string_lossy().into_owned();
        let said = said.trim_start_matches('\n').replace(&folder, "<folder>");
        self.masks.iter().fold(said, |text, (pattern, mask)| {
            pattern.replace_all(&text, *mask).into_owned()
        })
    }

    /// Replays a transcript.
    fn replay(&self, transcript: &str) -> String {
        let mut lines = transcript.lines().peekable();
        let mut replayed = String::new();
        while let Some(line) = lines.next() {
            let Some(command) = line.strip_prefix("$ ") else {
                if line.starts_with('#') || (line.is_empty() && !replayed.ends_with("\n\n")) {
                    replayed.push_str(line);
                    replayed.push('\n');
                }
                continue;
            };
            let mut command = command.to_owned();
            replayed.push_str(line);
            replayed.push('\n');
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                command.push('\n');
                command.push_str(more.get(2..).unwrap_or_default());
                replayed.push_str(more);
                replayed.push('\n');
            }
            replayed.push_str(&self.run(&command));
            // The new output replaces the recorded one, up to the next blank line.
            while lines
                .next_if(|line| !line.is_empty() && !line.starts_with("$ "))
                .is_some()
            {}
        }
        replayed
    }
}

fn hub() -> Builder {
    DevHub::builder().with_service_accounts()
}

/// Replays a transcript whose words are those of servers since a version; older ones are not asked.
async fn check(name: &str, since: u32) {
    let scene = Scene::with(hub()).await;
    if !scene.lacks("a transcript's words", since) {
        check_on(scene, name).await;
    }
}

async fn check_on(scene: Scene, name: &str) {
    let path: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/clients/kubectl")
        .join(name);
    let transcript = std::fs::read_to_string(&path).expect("a transcript");
    let shell = Shell::on(scene);
    let (shell, replayed) = tokio::task::spawn_blocking(move || {
        let replayed = shell.replay(&transcript);
        (shell, replayed)
    })
    .await
    .expect("replayed");
    drop(shell.scene);
    expect_file![path].assert_eq(&replayed);
}

#[tokio::test(flavor = "multi_thread")]
async fn custom_resources() {
    check("custom_resources.txt", 33).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn built_in_kinds() {
    check("built_in_kinds.txt", 33).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn deletion() {
    check("deletion.txt", 20).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn watching() {
    check("watching.txt", 33).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_there_is_on_the_dev_hub() {
    check_on(Scene::of_the_dev_hub(hub()).await, "what_there_is.txt").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn untyped_kinds_on_the_dev_hub() {
    check_on(Scene::of_the_dev_hub(hub()).await, "untyped.txt").await;
}
