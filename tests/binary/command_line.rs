//! Flags, exit statuses, and how the program starts and ends.

use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

use crate::rig::{Dev, repository, run};

#[test]
fn it_gets_ready_and_ends_cleanly_on_either_signal() {
    for signal in ["TERM", "INT"] {
        let mut dev = Dev::start(&["--clusters", "5"]);
        let mode = std::fs::metadata(&dev.kubeconfig)
            .expect("the kubeconfig is there")
            .permissions()
            .mode()
            & 0o777;
        assert_eq!(mode, 0o600, "the kubeconfig holds a credential");
        assert!(dev.state().is_dir());
        let status = dev.end(signal);
        assert_eq!(
            status.code(),
            Some(0),
            "SIG{signal} ends it with status 0, not {status}"
        );
    }
}

#[test]
fn what_cannot_start_says_why_in_one_line_with_status_two() {
    let taken = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("it has an address").port().to_string();
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("occupied");
    std::fs::write(&file, "x").expect("writable");
    let (state, file) = (
        folder.path().join("s").to_string_lossy().into_owned(),
        file.to_string_lossy().into_owned(),
    );
    for (flags, said) in [
        (vec!["--port", &port, "--dir", &state], port.as_str()),
        (vec!["--dir", &file], file.as_str()),
        (vec!["--dir", &state, "--fault", "nonsense"], "nonsense"),
        (vec!["--dir", &state, "--fault", "cluster1=explode"], "explode"),
        (vec!["--dir", &state, "--clusters", "many"], "many"),
    ] {
        let ended = run(&[&["dev"], &flags[..]].concat());
        assert_eq!(ended.code, Some(2), "{flags:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(said), "{flags:?}: {}", ended.stderr);
        assert!(!ended.stdout.contains("READY"), "{flags:?}");
        let usage = flags.contains(&"many");
        assert!(
            usage || ended.stderr.trim().lines().count() == 1,
            "one line: {}",
            ended.stderr
        );
    }
}

#[test]
fn help_tells_what_it_is_and_how_to_begin() {
    let help = run(&["--help"]);
    assert!(help.ok);
    for said in [
        "dev",
        "crds",
        "webhook",
        "tidegate dev --clusters 5",
        "kubectl get",
        "Exit status",
    ] {
        assert!(help.stdout.contains(said), "--help does not say {said:?}");
    }
    let bare = run(&[]);
    assert_eq!(bare.code, Some(2), "without words it shows its help and fails");
}

#[test]
fn generated_files_are_what_the_binary_prints() {
    for (topic, files) in [
        ("rules", &["docs/rules/README.md"][..]),
        ("cli", &["docs/cli.md"]),
        (
            "webhooks",
            &[
                "manifests/webhook/mutating.yaml",
                "manifests/webhook/validating.yaml",
            ],
        ),
    ] {
        let printed = run(&["reference", topic]);
        assert!(printed.ok, "{}", printed.stderr);
        let documents: Vec<&str> = printed
            .stdout
            .split("---\n")
            .filter(|text| !text.is_empty())
            .collect();
        match files {
            [file] => same_as_committed(file, &printed.stdout),
            _ => files
                .iter()
                .zip(&documents)
                .for_each(|(file, text)| same_as_committed(file, text)),
        }
        assert!(
            files.len() == 1 || files.len() == documents.len(),
            "{topic}: {} documents",
            documents.len()
        );
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let crds = run(&["crds", "--output", &folder.path().to_string_lossy()]);
    assert!(crds.ok, "{}", crds.stderr);
    let mut seen = Vec::new();
    for entry in std::fs::read_dir(folder.path())
        .expect("the folder is there")
        .flatten()
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        same_as_committed(
            &format!("manifests/crds/ours/{name}"),
            &std::fs::read_to_string(entry.path()).expect("text"),
        );
        seen.push(name);
    }
    let committed = std::fs::read_dir(repository("manifests/crds/ours"))
        .expect("committed")
        .count();
    assert_eq!(seen.len(), committed, "no file is left over: {seen:?}");
}

fn same_as_committed(file: &str, printed: &str) {
    let path = repository(file);
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("a file has a folder")).expect("writable");
        std::fs::write(&path, printed).expect("writable");
        return;
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == printed,
        "{file} is not what the binary prints; UPDATE_EXPECT=1 rewrites it"
    );
}
