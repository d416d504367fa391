//! The commands of `docs/first-hour.md`, in an empty folder, with only the binary and kubectl.
//!
//! Each must have the documented result. `docs/casts/record` records the same page.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::programs::Program;
use crate::rig::{PATIENCE, Run, repository, tidegate};
use crate::serve::until;

/// The recorder is written in it.
const PYTHON: Program = Program::new("python3", "apt-get install python3");

/// What a command has to come to.
enum Outcome<'a> {
    /// It succeeds.
    Done,
    /// It prints this, with any exit status: `why` and `status` report problems with theirs.
    Says(&'a str),
    /// It fails and prints this.
    Refused(&'a str),
}

/// The commands of a page's console blocks, each with what is promised behind it.
fn commands(page: &str) -> Vec<(&str, Outcome<'_>)> {
    let blocks = page
        .split("```console\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    let lines = blocks
        .flat_map(str::lines)
        .filter_map(|line| line.strip_prefix("$ "));
    lines
        .map(|line| match line.split_once("   # ") {
            None => (line, Outcome::Done),
            Some((command, promise)) => {
                let outcome = match promise.split_once(": ") {
                    Some(("says", words)) => Outcome::Says(words),
                    Some(("refused", words)) => Outcome::Refused(words),
                    Some(_) | None => Outcome::Says("a promise is \"says: …\" or \"refused: …\""),
                };
                (command.trim_end(), outcome)
            }
        })
        .collect()
}

/// A folder with the binary on the path and, after `start`, a development hub.
pub(crate) struct Terminal {
    dev: Option<Child>,
    folder: tempfile::TempDir,
}

impl Terminal {
    pub(crate) fn open() -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(folder.path().join("bin")).expect("writable");
        let program = env!("CARGO_BIN_EXE_tidegate");
        std::os::unix::fs::symlink(program, folder.path().join("bin/tidegate")).expect("writable");
        Self { dev: None, folder }
    }

    pub(crate) fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts the development hub, as in the first terminal, and waits until it is ready.
    pub(crate) fn start(&mut self, arguments: &[&str]) {
        let out = self.folder.path().join("dev.out");
        let dev = tidegate()
            .args(arguments)
            .current_dir(self.folder.path())
            .env("HOME", self.folder.path())
            .stdout(std::fs::File::create(&out).expect("writable"))
            .stderr(Stdio::null())
            .spawn()
            .expect("the binary starts");
        self.dev = Some(dev);
        until("the hub is ready", || {
            std::fs::read_to_string(&out).is_ok_and(|text| text.contains("READY"))
        });
    }

    pub(crate) fn types(&self, command: &str) -> Run {
        let path = std::env::var("PATH").unwrap_or_default();
        let folder: &Path = self.folder.path();
        let ran = Command::new("bash")
            .args(["-o", "pipefail", "-c", command])
            .current_dir(folder)
            .env("HOME", folder)
            .env("KUBECONFIG", folder.join(".tidegate/kubeconfig"))
            .env("PATH", format!("{}:{path}", folder.join("bin").display()))
            .output();
        Run::from(ran.expect("bash is there"))
    }

    /// Runs a command until it comes to what is promised: what only looks may look again, everything else has one try.
    fn promises(&self, command: &str, outcome: &Outcome<'_>) {
        let looks = ["tidegate why", "tidegate rollout status", "kubectl get"];
        let again = looks.iter().any(|look| command.starts_with(look));
        let begun = Instant::now();
        loop {
            let ran = self.types(command);
            let said = format!("{}{}", ran.stdout, ran.stderr);
            let is_kept = match outcome {
                Outcome::Done => ran.ok,
                Outcome::Says(words) => said.contains(words),
                Outcome::Refused(words) => !ran.ok && said.contains(words),
            };
            if is_kept {
                return;
            }
            assert!(again && begun.elapsed() < PATIENCE, "{command}: {said}");
            std::thread::sleep(Duration::from_millis(300));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        if let Some(dev) = &mut self.dev {
            dev.kill().ok();
            dev.wait().ok();
        }
    }
}

#[test]
fn every_command_of_the_first_hour_does_what_the_page_says() {
    let page = std::fs::read_to_string(repository("docs/first-hour.md")).expect("the page");
    let all = commands(&page);
    assert!(all.len() > 20, "they are found: {}", all.len());
    let mut terminal = Terminal::open();
    terminal.start(&["dev", "--clusters", "6"]);
    for (command, outcome) in &all {
        terminal.promises(command, outcome);
    }
}

/// Runs a section of the page of recordings as its recorder does, terminal and keys included; skipped without Python.
fn recorded(name: &str) {
    if PYTHON.is_missing() {
        return;
    }
    let ran = Command::new("python3")
        .arg(repository("docs/casts/record"))
        .args(["--check", name, env!("CARGO_BIN_EXE_tidegate")])
        .output()
        .expect("python3 starts");
    assert!(
        ran.status.success(),
        "{name}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
}

#[test]
fn what_the_recording_of_the_check_shows_happens() {
    recorded("check");
}

#[test]
fn what_the_recording_of_policies_shows_happens() {
    recorded("policy");
}

#[test]
fn what_the_recording_of_a_rollout_shows_happens() {
    recorded("rollout");
}

#[test]
fn every_section_of_the_page_is_recorded_and_no_recording_is_large() {
    let page = std::fs::read_to_string(repository("docs/casts/README.md")).expect("the page");
    let sections = page.lines().filter_map(|line| line.strip_prefix("## "));
    for name in sections.chain(["first-hour"]) {
        let cast = std::fs::read_to_string(repository(&format!("docs/casts/{name}.cast"))).expect(name);
        assert!(cast.len() < 100_000, "{name}: {}", cast.len());
        let recorded = cast.matches("\\u001b[1m$ ").count();
        let of_page = if name == "first-hour" {
            std::fs::read_to_string(repository("docs/first-hour.md")).expect("the page")
        } else {
            let (_, rest) = page.split_once(&format!("\n## {name}\n")).expect("the section");
            rest.split("\n## ").next().unwrap_or_default().to_owned()
        };
        let typed = commands(&of_page).len();
        assert_eq!(recorded, typed, "record {name} again");
    }
}
