//! The script that runs stories on a hub of real programs, as far as it can be tested without these programs.

use std::process::Command;

use crate::kit::manifests::repository;

/// Runs the script with these variables set to a folder that does not exist; returns its exit status and its standard error, or output.
fn script(arguments: &[&str], set: &[&str]) -> (Option<i32>, String) {
    let mut command = Command::new("bash");
    command.arg(repository("tests/scripts/real-hub")).args(arguments);
    for name in ["KUBEBUILDER_ASSETS", "OCM_BIN", "OCM_SOURCE"] {
        if set.contains(&name) {
            command.env(name, "/nowhere");
        } else {
            command.env_remove(name);
        }
    }
    let ended = command.output().expect("bash runs");
    let text = if ended.status.success() {
        ended.stdout
    } else {
        ended.stderr
    };
    (ended.status.code(), String::from_utf8_lossy(&text).into_owned())
}

fn refused(line: &str) -> (Option<i32>, String) {
    (Some(2), format!("real-hub: {line}\n"))
}

#[test]
fn the_help_names_the_programs_that_it_needs() {
    let (status, text) = script(&["--help"], &[]);
    assert_eq!(status, Some(0));
    for name in [
        "KUBEBUILDER_ASSETS",
        "OCM_BIN",
        "OCM_SOURCE",
        "TIDEGATE",
        "--clusters N",
    ] {
        assert!(text.contains(name), "{text}");
    }
}

#[test]
fn without_the_programs_nothing_runs_and_one_line_names_what_is_missing() {
    let ended = script(&["install"], &["KUBEBUILDER_ASSETS", "OCM_BIN", "OCM_SOURCE"]);
    assert_eq!(
        ended,
        refused("/nowhere/etcd does not exist or cannot be executed")
    );
    for (arguments, expected) in [
        (
            vec![],
            "nothing was run: KUBEBUILDER_ASSETS OCM_BIN OCM_SOURCE must be set (see --help)",
        ),
        (vec!["--fast"], "unknown flag: --fast (see --help)"),
        (
            vec!["--clusters", "two"],
            "--clusters must be a number from 3 to 9, not \"two\"",
        ),
        (vec!["instal"], "there is no story \"instal\""),
    ] {
        assert_eq!(script(&arguments, &[]), refused(expected));
    }
}

#[test]
fn every_story_that_it_names_exists_and_is_bash() {
    let text = std::fs::read_to_string(repository("tests/scripts/real-hub")).expect("the script");
    let mut files = Vec::new();
    for (list, folder) in [("shared=(", "tests/stories"), ("real=(", "tests/stories/real")] {
        let (_, rest) = text.split_once(list).expect("a list");
        let (names, _) = rest.split_once(')').expect("its end");
        files.extend(
            names
                .split_whitespace()
                .map(|name| repository(&format!("{folder}/{name}.sh"))),
        );
    }
    let stories = std::fs::read_dir(repository("tests/stories/real"))
        .expect("the folder")
        .count();
    assert_eq!(
        files.len(),
        stories + 8,
        "a story of tests/stories/real is not in the list"
    );
    for file in files {
        let read = Command::new("bash")
            .arg("-n")
            .arg(&file)
            .status()
            .expect("bash runs");
        assert!(read.success(), "{}", file.display());
    }
}
