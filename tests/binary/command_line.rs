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

/// Every command with all words before its name.
fn commands_of(words: &[&str]) -> Vec<Vec<String>> {
    let help = run(&[words, &["--help"]].concat());
    assert!(help.ok, "{words:?}: {}", help.stderr);
    let own = words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    let mut found = vec![own.clone()];
    let list = help.stdout.split_once("Commands:\n").map_or("", |(_, list)| list);
    for line in list.lines().take_while(|line| line.starts_with("  ")) {
        let name = line.trim_start().split(' ').next().unwrap_or_default();
        // Longer descriptions continue below, further to the right.
        if line.starts_with("   ") || name == "help" {
            continue;
        }
        let words = [&own[..], &[name.to_owned()]].concat();
        found.extend(commands_of(&words.iter().map(String::as_str).collect::<Vec<_>>()));
    }
    found
}

#[test]
fn the_help_of_a_command_is_short_and_shared_flags_are_on_one_page() {
    let commands = commands_of(&[]);
    assert!(commands.len() > 35, "{commands:?}");
    for command in commands
        .iter()
        .filter(|command| !command.is_empty() && **command != ["serve"])
    {
        let words: Vec<&str> = command.iter().map(String::as_str).collect();
        let help = run(&[&words[..], &["--help"]].concat());
        let lines = help.stdout.lines().count();
        assert!(lines <= 40, "{words:?}: {lines} lines");
        assert!(
            !help.stdout.contains("--kubeconfig <"),
            "{words:?}: {}",
            help.stdout
        );
        assert!(
            help.stdout.contains("tidegate help "),
            "{words:?}: {}",
            help.stdout
        );
    }
    let shared = run(&["options"]);
    for flag in [
        "--kubeconfig",
        "--context",
        "--color",
        "--settings",
        "--decision-grace",
        "--compat",
    ] {
        assert!(shared.stdout.contains(flag), "{flag}: {}", shared.stdout);
    }
    let why = [
        "why",
        "hello",
        "--kubeconfig",
        "/nowhere",
        "--decision-grace",
        "1m",
        "--color",
        "never",
    ];
    let accepted = run(&why);
    assert!(accepted.stderr.contains("/nowhere"), "{}", accepted.stderr);
    let serve = run(&["serve", "--help"]);
    assert!(serve.stdout.contains("--kubeconfig <") && serve.stdout.contains("--decision-grace <"));
}

#[test]
fn shared_flags_may_be_between_a_command_and_its_subcommand() {
    for words in [
        &["rollout", "--kubeconfig", "/nowhere", "list"][..],
        &["rollout", "-n", "a", "--kubeconfig=/nowhere", "status", "x"],
        &[
            "-n",
            "a",
            "rollout",
            "--compat",
            "ocm",
            "pause",
            "x",
            "--kubeconfig",
            "/nowhere",
        ],
        &["definitions", "--kubeconfig", "/nowhere", "plan"],
        &["dev", "--kubeconfig", "/nowhere", "fault"],
    ] {
        let tried = run(words);
        assert!(tried.stderr.contains("/nowhere"), "{words:?}: {}", tried.stderr);
        assert!(!tried.stderr.contains("Usage:"), "{words:?}: {}", tried.stderr);
    }
}

#[test]
fn why_without_arguments_lists_what_can_be_named() {
    let tried = run(&["why"]);
    assert_eq!(tried.code, Some(2), "{}", tried.stderr);
    for words in [
        "tidegate why NAME",
        "tidegate why --cluster NAME",
        "tidegate rollout list",
    ] {
        assert!(tried.stderr.contains(words), "{words}: {}", tried.stderr);
    }
}

#[test]
fn verbs_for_a_whole_rollout_refuse_a_placement() {
    for verb in ["undo", "retry"] {
        let tried = run(&["rollout", verb, "hello", "--placement", "default/all"]);
        assert_eq!(tried.code, Some(2), "{verb}: {}", tried.stderr);
        assert!(tried.stderr.contains("--placement"), "{verb}: {}", tried.stderr);
    }
    let tried = run(&[
        "rollout",
        "pause",
        "hello",
        "--placement",
        "default/all",
        "--kubeconfig",
        "/nowhere",
    ]);
    assert!(tried.stderr.contains("/nowhere"), "{}", tried.stderr);
}

#[test]
fn generated_files_are_what_the_binary_prints() {
    for (topic, files) in [
        ("cli", &["docs/cli.md"][..]),
        ("output", &["docs/reference/output.schema.json"]),
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
