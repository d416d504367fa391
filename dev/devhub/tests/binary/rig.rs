//! The binary as a process, and kubectl as its client.
//!
//! Decides how a program is started, waited for and ended by its own id; never what is expected of it.

use std::io::{BufRead as _, BufReader, Read as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

use crate::kubectl::require_kubectl;

/// A running `devhub`.
pub(crate) struct Running {
    child: Child,
    pub(crate) line: String,
}

/// A folder of its own for every test.
pub(crate) struct Rig {
    pub(crate) folder: TempDir,
}

impl Rig {
    pub(crate) fn new() -> Self {
        require_kubectl();
        Self {
            folder: tempfile::tempdir().expect("a folder"),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("writable");
        std::fs::write(&path, text).expect("writable");
        path
    }

    pub(crate) fn kubeconfig(&self) -> PathBuf {
        self.path("hub/kubeconfig")
    }

    fn command(&self, folder: &str, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_devhub"));
        command.args(["--dir", &self.path(folder).display().to_string()]);
        command.args(words).current_dir(self.folder.path());
        command
    }

    /// Starts the program and waits for its line.
    pub(crate) fn start(&self, words: &[&str]) -> Running {
        let mut child = self
            .command("hub", words)
            .stdout(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        let out = child.stdout.as_mut().expect("stdout is piped");
        BufReader::new(out).read_line(&mut line).expect("a line");
        assert!(line.starts_with("READY "), "{line:?}");
        Running { child, line }
    }

    /// Runs the program to its end.
    pub(crate) fn run(&self, words: &[&str]) -> Output {
        self.run_in("hub", words)
    }

    /// Runs the program in another folder until it ends by itself.
    pub(crate) fn run_in(&self, folder: &str, words: &[&str]) -> Output {
        self.command(folder, words).output().expect("the program runs")
    }

    /// Runs kubectl; returns whether it succeeded and all that it said.
    pub(crate) fn kubectl(&self, words: &str) -> (bool, String) {
        let output = Command::new("kubectl")
            .env("KUBECONFIG", self.kubeconfig())
            .env("HOME", self.folder.path())
            .arg("--cache-dir")
            .arg(self.path("cache"))
            .args(words.split_whitespace())
            .output()
            .expect("kubectl starts");
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).trim().to_owned(),
        )
    }

    pub(crate) fn says(&self, words: &str, expected: &str) {
        let (succeeded, said) = self.kubectl(words);
        assert!(succeeded && said.contains(expected), "kubectl {words}: {said}");
    }

    pub(crate) fn refuses(&self, words: &str, expected: &str) {
        let (succeeded, said) = self.kubectl(words);
        assert!(!succeeded && said.contains(expected), "kubectl {words}: {said}");
    }
}

impl Running {
    /// Sends a signal and returns the exit status, or the negative number of the signal that ended the program.
    pub(crate) fn end(mut self, signal: &str) -> i32 {
        let id = self.child.id().to_string();
        let sent = Command::new("kill").args([signal, &id]).status();
        assert!(sent.expect("kill runs").success());
        let status = self.child.wait().expect("the program ends");
        let mut rest = String::new();
        let out = self.child.stdout.as_mut().expect("stdout is piped");
        out.read_to_string(&mut rest).expect("text");
        assert_eq!(rest, "", "nothing is printed behind the line");
        status
            .code()
            .unwrap_or_else(|| status.signal().map_or(i32::MIN, |signal| -signal))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Ends what a failed test left running; one that has ended already has no id any more.
        self.child.kill().unwrap_or_default();
        self.child.wait().map(|_| ()).unwrap_or_default();
    }
}

/// Returns who may read a file.
pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    let metadata = std::fs::metadata(path).expect("it is there");
    metadata.permissions().mode() & 0o777
}
