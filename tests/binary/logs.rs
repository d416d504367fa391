//! The log of the real binary: what tools do not log by default, and the line for every denial.

use std::io::Write as _;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::rig::{kubectl, tidegate};
use super::serve::until;

const NOWHERE: &str = "apiVersion: v1\nkind: Config\nclusters: [{name: a, cluster: {server: 'https://127.0.0.1:9'}}]\n\
    contexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {}}]\ncurrent-context: a\n";

const WRONG: &str = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ManagedClusterAddOn\nmetadata: {name: helloworld, namespace: cluster1}\n\
    spec: {installNamespace: Not_A_Secret}\n";

#[test]
fn a_tool_tells_its_failure_in_a_line_and_nothing_of_its_libraries() {
    let folder = tempfile::tempdir().expect("a folder");
    let kubeconfig = folder.path().join("nowhere");
    std::fs::write(&kubeconfig, NOWHERE).expect("writable");
    for args in [&["why", "x"][..], &["snapshot"], &["definitions", "plan"]] {
        let done = tidegate()
            .args(args)
            .arg("--kubeconfig")
            .arg(&kubeconfig)
            .env_remove("TIDEGATE_LOG")
            .stdin(Stdio::null())
            .output()
            .expect("the binary starts");
        let said = String::from_utf8(done.stderr).expect("text");
        assert!(!done.status.success(), "{args:?}");
        assert_eq!(said.lines().count(), 1, "{args:?}: {said}");
        assert!(
            said.starts_with("tidegate: ") && said.contains("refused"),
            "{args:?}: {said}"
        );
    }
}

/// Starts a hub, has it refuse something, and returns its log.
fn refused(form: &str) -> String {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name);
    let open = |name: &str| std::fs::File::create(at(name)).expect("writable");
    let mut child = tidegate()
        .args([
            "dev",
            "--clusters",
            "1",
            "--log-level",
            "info",
            "--log-format",
            form,
            "--dir",
        ])
        .arg(at("state"))
        // The flag wins.
        .env("TIDEGATE_LOG", "off")
        .stdout(open("out"))
        .stderr(open("log"))
        .spawn()
        .expect("the binary starts");
    let begun = Instant::now();
    let is_ready = || std::fs::read_to_string(at("out")).is_ok_and(|text| text.contains("READY"));
    while !is_ready() && begun.elapsed() < Duration::from_mins(1) {
        std::thread::sleep(Duration::from_millis(50));
    }
    let answer = kubectl(
        &at("state/kubeconfig"),
        &["apply", "--dry-run=server", "-f", "-"],
        WRONG,
    );
    let ended = Command::new("kill")
        .args(["-TERM", &child.id().to_string()])
        .status();
    assert!(ended.expect("kill is there").success());
    child.wait().expect("it ends");
    assert!(
        !answer.ok && answer.stderr.contains("install/namespace"),
        "{}",
        answer.stderr
    );
    std::fs::read_to_string(at("log")).expect("text")
}

#[test]
fn every_refusal_is_a_line_with_who_and_what_and_never_the_object() {
    let log = refused("text");
    let lines: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("request denied"))
        .collect();
    assert_eq!(lines.len(), 1, "{log}");
    for fact in [
        " INFO tidegate::denied: ",
        "kind=ManagedClusterAddOn",
        "name=helloworld",
        "namespace=cluster1",
        "dry_run=true",
        "rules=install/namespace",
        "user=",
    ] {
        assert!(lines[0].contains(fact), "{fact} in {}", lines[0]);
    }
    assert!(!log.contains("Not_A_Secret"), "{log}");
    assert!(!log.contains('\u{1b}'), "no colour in a file");
}

#[test]
fn a_refusal_is_an_object_where_the_log_has_objects() {
    let log = refused("json");
    let events: Vec<serde_json::Value> = log
        .lines()
        .map(|line| serde_json::from_str(line).expect("an object a line"))
        .collect();
    let denied = events.iter().find(|event| event["message"] == "request denied");
    let denied = denied.expect("the denial is logged");
    assert_eq!(denied["target"], "tidegate::denied");
    assert_eq!(denied["facts"]["rules"], "install/namespace");
    assert_eq!(denied["facts"]["dry_run"], true);
}

/// A log that cannot be written, because the disk is full, and one that is not read: neither keeps the gate from answering, nor
/// the program from ending.
#[test]
fn a_slow_log_reader_blocks_no_request() {
    let full_disk = Stdio::from(std::fs::File::create("/dev/full").expect("Linux has it"));
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // As many bytes as a pipe holds: the next one would wait.
    writer.write_all(&vec![b'x'; 65536]).expect("the pipe has space");
    for log in [full_disk, Stdio::from(writer)] {
        let folder = tempfile::tempdir().expect("a folder");
        let state = folder.path().join("state");
        let words = ["dev", "--clusters", "1", "--log-level", "info", "--dir"];
        let mut command = tidegate();
        let out = folder.path().join("out");
        let page = std::fs::File::create(&out).expect("writable");
        command.args(words).arg(&state).stdout(page).stderr(log);
        let mut child = command.spawn().expect("the binary starts");
        until("it is ready", || {
            std::fs::read_to_string(&out).is_ok_and(|text| text.contains("READY"))
        });
        // Its own copy of the log would be open until the end.
        drop(command);
        for _ in 0..3 {
            let answer = kubectl(
                &state.join("kubeconfig"),
                &["apply", "--dry-run=server", "-f", "-"],
                WRONG,
            );
            assert!(
                !answer.ok && answer.stderr.contains("install/namespace"),
                "{}",
                answer.stderr
            );
        }
        let sent = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
        let mut status = None;
        until("the program ends", || {
            status = child.try_wait().expect("it can be waited for");
            status.is_some()
        });
        assert_eq!(status.and_then(|status| status.code()), Some(0));
    }
    drop(reader);
}
