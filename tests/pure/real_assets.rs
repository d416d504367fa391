//! The script that builds a real API server, as far as it can be tested without a build.

use std::process::{Command, Output};

use crate::kit::manifests::repository;

fn script(arguments: &[&str]) -> Output {
    let path = repository("tests/scripts/real/assets.sh");
    let mut command = Command::new("bash");
    command.arg(path).args(arguments);
    command.output().expect("bash runs")
}

#[test]
fn the_script_is_bash_and_tells_how_it_is_used() {
    let path = repository("tests/scripts/real/assets.sh");
    let read = Command::new("bash")
        .arg("-n")
        .arg(path)
        .status()
        .expect("bash runs");
    assert!(read.success(), "it is no bash");
    let told = script(&["--help"]);
    let text = String::from_utf8_lossy(&told.stdout);
    assert!(
        told.status.success() && text.contains("KUBEBUILDER_ASSETS="),
        "{text}"
    );
}

#[test]
fn what_it_cannot_do_it_says_in_a_line_before_it_touches_anything() {
    for (arguments, wanted) in [
        (vec![], "which folder?"),
        (vec!["--mirror"], "--mirror wants the address of an archive"),
        (vec!["--fast", "x"], "no such flag: --fast"),
        (vec!["a", "b"], "one folder only, not \"a\" and \"b\""),
    ] {
        let ended = script(&arguments);
        let said = String::from_utf8_lossy(&ended.stderr);
        assert_eq!(ended.status.code(), Some(1), "{said}");
        assert!(said.contains(wanted), "{arguments:?}: {said}");
    }
}

#[test]
fn programs_that_are_there_are_not_built_again() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().expect("a folder");
    let assets = folder.path().join("assets");
    std::fs::create_dir(&assets).expect("writable");
    for name in ["etcd", "kube-apiserver"] {
        let path = assets.join(name);
        std::fs::write(&path, format!("#!/bin/sh\necho {name} of a test\n")).expect("writable");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("ours");
    }
    let told = script(&[&folder.path().to_string_lossy()]);
    let text = String::from_utf8_lossy(&told.stdout).into_owned();
    let said = String::from_utf8_lossy(&told.stderr).into_owned();
    assert!(
        told.status.success() && text.starts_with("export KUBEBUILDER_ASSETS="),
        "{text}{said}"
    );
    assert!(
        said.contains("kube-apiserver of a test, etcd of a test"),
        "{said}"
    );
}
