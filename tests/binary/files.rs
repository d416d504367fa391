//! Files that are read and written: FIFOs, devices, links, huge files, for every flag that takes a file or a folder.
//!
//! The program must answer in time and with little memory.

use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::rig::{Run, repository, tidegate};

/// How long a refusal may take, on a busy machine.
const SOON: Duration = Duration::from_secs(20);

/// Runs the binary with 512 MiB of memory, and ends it when it takes too long.
fn run_soon(folder: &Path, args: &[&str]) -> Run {
    let mut child = Command::new("bash")
        .args(["-c", "ulimit -v 1500000; exec \"$0\" \"$@\""])
        .arg(tidegate().get_program())
        .args(args)
        .current_dir(folder)
        .env_remove("KUBECONFIG")
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("bash is there");
    let begun = Instant::now();
    while child.try_wait().expect("it can be waited for").is_none() {
        let is_late = begun.elapsed() > SOON;
        if is_late {
            child.kill().ok();
        }
        assert!(!is_late, "still reading: {args:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
    Run::from(child.wait_with_output().expect("it has ended"))
}

fn odd_files(folder: &Path) -> Vec<String> {
    let at = |name: &str| folder.join(name);
    let made = Command::new("mkfifo").arg(at("fifo.yaml")).status();
    assert!(made.expect("mkfifo is there").success());
    symlink("/dev/zero", at("zero.yaml")).expect("a link");
    symlink("loop.yaml", at("loop.yaml")).expect("a link");
    let sparse = std::fs::File::create(at("sparse.yaml")).expect("writable");
    sparse.set_len(1 << 40).expect("a sparse file");
    let names = [
        "fifo.yaml",
        "zero.yaml",
        "loop.yaml",
        "sparse.yaml",
        "/dev/zero",
        "/proc/self/environ",
    ];
    names.map(str::to_owned).into()
}

#[test]
fn no_flag_waits_for_a_file_that_never_ends() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let odd = odd_files(folder.path());
    std::fs::write(folder.path().join("a.yaml"), "kind: ConfigMap\n").expect("writable");
    for file in odd.iter().map(String::as_str) {
        for args in [
            &["check", file][..],
            &["check", "-f", file],
            &["check", "a.yaml", "--facts", file],
            &["check", "a.yaml", "--policies", file],
            &["check", "a.yaml", "--enforcement", file],
            &["check", "a.yaml", "--live", "--kubeconfig", file],
            &["policy", "lint", file],
            &["policy", "test", file],
            &["policy", "export", "--native", file],
            &["policy", "bench", file, "--object", "a.yaml"],
            &["policy", "bench", "a.yaml", "--object", file],
            &["plan", file],
            &["render", "x", file, "--cluster", "y"],
            &["plan", "--live", "--kubeconfig", file],
            &["why", "x", "--facts", file],
            &["snapshot", "--kubeconfig", file],
            &[
                "serve",
                "--certificate",
                file,
                "--key",
                file,
                "--bind",
                "127.0.0.1:0",
            ],
            &["serve", "--enforcement", file, "--bind", "127.0.0.1:0"],
            &["dev", "--dir", "state", "--policies", file],
        ] {
            let ended = run_soon(folder.path(), args);
            let passes = file.starts_with("/proc") && args.contains(&"a.yaml") && ended.code.is_some();
            assert!(
                ended.code.is_some_and(|code| code > 0) || passes,
                "{args:?}: {}{}",
                ended.stdout,
                ended.stderr
            );
            let told = format!("{}{}", ended.stdout, ended.stderr);
            assert!(
                file.starts_with("/proc") || told.contains(file),
                "{args:?}: {told}"
            );
        }
    }
}

#[test]
fn folders_with_odd_files_are_read_without_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let inside = folder.path().join("gitops");
    std::fs::create_dir(&inside).expect("writable");
    odd_files(&inside);
    symlink("/proc/self/environ", inside.join("environ.yaml")).expect("a link");
    for link in ["a", "b", "c", "d"] {
        symlink(".", inside.join(link)).expect("a link");
    }
    std::fs::copy(
        repository("manifests/examples/wrong/01-rollout.yaml"),
        inside.join("wrong.yaml"),
    )
    .expect("writable");
    let checked = run_soon(folder.path(), &["check", "gitops"]);
    assert_eq!(checked.code, Some(2), "{}{}", checked.stdout, checked.stderr);
    for said in [
        "a link to a target outside the folder",
        "a FIFO, not a regular file",
        "more than 16 MiB",
        "[rollout/min-success-time]",
        "gitops/environ.yaml",
    ] {
        assert!(checked.stdout.contains(said), "{said}: {}", checked.stdout);
    }
    assert!(!checked.stdout.contains("HOME="), "{}", checked.stdout);
    for args in [
        &["policy", "lint", "gitops"][..],
        &["check", "gitops/wrong.yaml", "--policies", "gitops"],
    ] {
        let told = run_soon(folder.path(), args);
        assert_eq!(
            told.code,
            Some(2),
            "an ignored policy is reported: {}{}",
            told.stdout,
            told.stderr
        );
        assert!(
            told.stderr.contains("gitops/") && told.stderr.trim().lines().count() == 1,
            "{}",
            told.stderr
        );
    }
}

#[test]
fn what_a_shell_hands_over_is_read() {
    let wrong = repository("manifests/examples/wrong/01-rollout.yaml");
    let binary = tidegate().get_program().to_string_lossy().into_owned();
    for command in [
        "\"$TIDEGATE\" check <(cat \"$WRONG\")",
        "\"$TIDEGATE\" check -f <(cat \"$WRONG\")",
        "cat \"$WRONG\" | \"$TIDEGATE\" check /dev/stdin",
        "cat \"$WRONG\" | \"$TIDEGATE\" check -f -",
    ] {
        let done = Command::new("bash")
            .args(["-c", command])
            .env("TIDEGATE", &binary)
            .env("WRONG", &wrong)
            .output()
            .expect("bash is there");
        let done = Run::from(done);
        assert_eq!(done.code, Some(1), "{command}: {}{}", done.stdout, done.stderr);
        assert!(
            done.stdout.contains("[rollout/min-success-time]"),
            "{command}: {}",
            done.stdout
        );
    }
    let shown = Command::new("bash")
        .args([
            "-c",
            "\"$TIDEGATE\" check \"$WRONG\" -o json=/dev/stderr -o github",
        ])
        .env("TIDEGATE", &binary)
        .env("WRONG", &wrong)
        .output()
        .expect("bash is there");
    let shown = Run::from(shown);
    assert!(
        shown.stderr.contains("\"summary\"") && shown.stdout.contains("::error"),
        "{}",
        shown.stderr
    );
}

#[test]
fn a_report_takes_its_place_whole_and_through_no_link() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("a.yaml"), "kind: ConfigMap\n").expect("writable");
    std::fs::write(at("victim"), "mine").expect("writable");
    symlink("victim", at("report.json")).expect("a link");
    let args = ["check", "a.yaml", "-o", "json=report.json"];
    let refused = run_soon(folder.path(), &args);
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("report.json") && refused.stderr.contains("a link exists there"),
        "{}",
        refused.stderr
    );
    assert_eq!(std::fs::read_to_string(at("victim")).expect("text"), "mine");
    std::fs::remove_file(at("report.json")).expect("ours");
    assert_eq!(run_soon(folder.path(), &args).code, Some(0));
    let mode = std::fs::metadata(at("report.json"))
        .expect("written")
        .permissions()
        .mode()
        & 0o777;
    assert_eq!(mode & 0o600, 0o600);
    let left = std::fs::read_dir(folder.path()).expect("readable").count();
    assert_eq!(left, 3, "no draft is left");
}
