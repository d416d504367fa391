//! Texts that could control a terminal, a log or a CI system, in every input of the program.
//!
//! No output may end a line, move a cursor, change the text direction, start a command of a CI system, or be invisible; and no
//! information may be lost.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use kubernetes::field::acts;
use serde_json::{Value, json};

use crate::rig::{PATIENCE, Run, kubectl, tidegate};

/// A word that is seen again, and what follows it.
const WORD: &str = "wörd";

/// What a text may do, and how it is written in a file.
fn hostile() -> Vec<String> {
    // Letter by letter they are tried in `kubernetes::field::text`; here by what they do.
    let acting = "\u{1b}[2J\u{1b}[31mPWN\u{1b}]0;title\u{7}\u{8}\u{7f}\u{9b}2J";
    let breaks = "\nFORGED\rFORGED\r\nFORGED\u{85}FORGED\u{2028}FORGED\u{2029}FORGED";
    let unseen = "\u{202e}\u{2066}\u{200b}\u{feff}\u{ad}\u{e0041}\u{fff9}\u{61c}";
    let commands = "\n::error title=FORGED::FORGED\n##[error]FORGED\nFORGED=1";
    vec![
        // In one text: each costs a process for each command.
        format!("{WORD}{acting}{unseen}{breaks}{commands}"),
        format!("::stop-commands::{WORD}"),
        format!("{WORD}{}", "\u{1b}[31mx".repeat(20_000)),
    ]
}

/// What is wrong with a page; `commands` may be of a CI system.
fn harm(page: &str, commands: bool) -> Option<String> {
    if let Some(letter) = page.chars().find(|letter| *letter != '\n' && acts(*letter)) {
        return Some(format!("it has {letter:?}"));
    }
    page.lines().find_map(|line| {
        let line = line.trim_start();
        let forged =
            line.starts_with("FORGED") || line.starts_with("##[") || line.starts_with("::") && !commands;
        forged.then(|| format!("it has the line {line:?}"))
    })
}

fn harmless(run: &Run, args: &[&str]) {
    let commands = args.windows(2).any(|pair| pair == ["-o", "github"]);
    for (page, commands) in [(&run.stdout, commands), (&run.stderr, false)] {
        let harm = harm(page, commands);
        let shown: String = page.chars().take(2_000).collect();
        assert!(harm.is_none(), "{args:?}: {harm:?} in {shown:?}");
    }
}

/// Runs the binary in a folder and says whether the word came out.
fn tells(folder: &Path, args: &[&str]) -> bool {
    let done = tidegate()
        .args(args)
        .current_dir(folder)
        .env("HOME", folder)
        .env("TIDEGATE_LOG", "debug")
        .env_remove("KUBECONFIG")
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text is printed");
    let run = Run {
        ok: done.status.success(),
        code: done.status.code(),
        stdout: text(&done.stdout),
        stderr: text(&done.stderr),
    };
    assert!(
        run.code.is_some_and(|code| code < 4),
        "{args:?} ends with {:?}",
        run.code
    );
    harmless(&run, args);
    let told = format!("{}{}", run.stdout, run.stderr);
    told.contains(WORD) || told.contains("w%C3%B6rd") || told.contains("w\\u00f6rd")
}

fn addon(name: &str, key: &str) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": name, "labels": {key: name}}, "spec": {key: name, "installStrategy": {"type": name},
        "supportedConfigs": [{"group": key, "resource": name}]}})
}

#[test]
fn check_shows_nothing_that_acts() {
    for text in hostile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put =
            |name: &str, content: &str| std::fs::write(folder.path().join(name), content).expect("writable");
        put("wrong.yaml", &addon(&text, &text).to_string());
        put("broken.yaml", &format!("{}: [\n", json!(text)));
        put("twice.yaml", &format!("{0}: 1\n{0}: 2\n", json!(text)));
        // Raw in the file, where YAML allows it.
        put(
            "raw.yaml",
            &format!(
                "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {{name: a}}\nspec:\n  colour: {text}\n"
            ),
        );
        put("surrogate.yaml", "{\"a\": \"wörd\\ud800FORGED\", \"\\udfff\": 1}");
        let name: String = text.chars().filter(|letter| *letter != '/').take(60).collect();
        put(&format!("{name}.yaml"), "kind: [");
        put(
            "kustomization.yaml",
            &json!({"patches": [{"path": text}]}).to_string(),
        );
        for form in ["table", "json", "sarif", "junit", "github"] {
            assert!(
                tells(folder.path(), &["check", ".", "-o", form]),
                "{form} of {text:?}"
            );
        }
        assert!(tells(folder.path(), &["check", "wrong.yaml", "--diff"]));
        let file = format!("{}/{name}.yaml", folder.path().display());
        for args in [
            &["check", &file][..],
            &["check", "wrong.yaml", "--base", &name],
            &["check", "wrong.yaml", "--facts", &file],
            &["check", "wrong.yaml", "--enforcement", &file],
            &["check", "wrong.yaml", "--policies", &file],
            &["check", "wrong.yaml", "--now", &name],
            &["plan", &file],
            &["render", &name, &file, "--cluster", "x"],
            &["why", "x", "--facts", &file],
            &["policy", "lint", &file],
            &["policy", "test", &file],
            &["explain", &name],
            &["snapshot", "--kubeconfig", &file],
            &["dev", "--dir", "state", "--fault", &name],
            &["serve", "--certificate", &file, "--bind", "127.0.0.1:0"],
            &[&name],
            &["check", "-o", &name],
        ] {
            tells(folder.path(), args);
        }
    }
}

/// A policy whose every text is hostile.
fn policy(text: &str) -> Value {
    json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnPolicy", "metadata": {"name": text},
        "spec": {"matchConstraints": {"resourceRules": [{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]}]},
            "validations": [{"id": text, "expression": "false", "message": text, "suggestion": text, "fieldPath": "spec"}]}})
}

#[test]
fn policies_show_nothing_that_acts() {
    for text in hostile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let put = |name: &str, content: &Value| {
            std::fs::write(folder.path().join(name), content.to_string()).expect("writable");
        };
        let mut broken = policy(&text);
        broken["spec"]["validations"][0]["expression"] = json!(format!("'{text}' +"));
        let named = |name: &str| {
            let mut policy = policy(&text);
            policy["metadata"]["name"] = json!(name);
            policy["spec"]["validations"][0]["id"] = json!("v");
            policy
        };
        put("policy.yaml", &policy(&text));
        put("named.yaml", &named("p"));
        put("broken.yaml", &broken);
        put("object.yaml", &addon("a", "b"));
        put("wrong.yaml", &addon(&text, &text));
        let case = json!({"name": text, "object": addon(&text, &text), "expect": {"allow": true, "deny": [{"id": text, "message": text}]}});
        put(
            "p.test.yaml",
            &json!({"kind": "PolicyTest", "policies": ["policy.yaml"], "cases": [case]}),
        );
        put(
            "n.test.yaml",
            &json!({"kind": "PolicyTest", "policies": ["named.yaml"], "cases": [case]}),
        );
        put(
            "m.test.yaml",
            &json!({"kind": "PolicyTest", "policies": [text], "cases": []}),
        );
        let mut told = 0;
        for args in [
            &["policy", "lint", "policy.yaml"][..],
            &["policy", "lint", "broken.yaml"],
            &["policy", "lint", "named.yaml"],
            &["policy", "test", "p.test.yaml"],
            &["policy", "test", "p.test.yaml", "-o", "json"],
            &["policy", "test", "n.test.yaml"],
            &["policy", "test", "m.test.yaml"],
            &[
                "policy",
                "bench",
                "named.yaml",
                "--object",
                "wrong.yaml",
                "--rounds",
                "1",
            ],
            &[
                "policy",
                "bench",
                "policy.yaml",
                "--object",
                "wrong.yaml",
                "--rounds",
                "1",
            ],
            &["policy", "export", "--native", "named.yaml"],
            &["policy", "export", "--native", "policy.yaml"],
            &["check", "object.yaml", "--policies", "named.yaml"],
            &["check", "object.yaml", "--policies", "policy.yaml"],
            &["check", "object.yaml", "named.yaml", "broken.yaml"],
        ] {
            told += usize::from(tells(folder.path(), args));
        }
        assert!(told >= 4, "{told} of {text:?}");
    }
}

#[test]
fn dumps_show_nothing_that_acts() {
    for text in hostile() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let api = "addon.open-cluster-management.io/v1alpha1";
        let condition = |kind: &str| json!({"type": kind, "status": "False", "reason": text, "message": text, "lastTransitionTime": "2026-01-01T00:00:00Z"});
        let objects = json!([
            {"apiVersion": api, "kind": "ClusterManagementAddOn", "metadata": {"name": "hello"}, "spec": {"installStrategy": {"type": "Manual"}}},
            {"apiVersion": api, "kind": "ManagedClusterAddOn", "metadata": {"name": "hello", "namespace": "c1"}, "spec": {},
                "status": {"conditions": [condition("Available"), condition("Progressing")]}},
            {"apiVersion": api, "kind": "ClusterManagementAddOn", "metadata": {"name": text}, "spec": {"installStrategy": {"type": "Manual"}}},
            {"apiVersion": api, "kind": "ManagedClusterAddOn", "metadata": {"name": text, "namespace": text}, "spec": {}},
            {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": "c1"},
                "spec": {"hubAcceptsClient": true}, "status": {"conditions": [condition("ManagedClusterConditionAvailable")]}},
            {"apiVersion": "cluster.open-cluster-management.io/v1", "kind": "ManagedCluster", "metadata": {"name": text},
                "spec": {"hubAcceptsClient": true}},
        ]);
        let dump = json!({"kind": "TidegateSnapshot", "format": 1, "takenAt": "2026-01-02T00:00:00Z", "objects": objects,
            "complete": ["ManagedCluster", "ClusterManagementAddOn", "ManagedClusterAddOn"]});
        std::fs::write(folder.path().join("hub.json"), dump.to_string()).expect("writable");
        std::fs::write(folder.path().join("change.yaml"), addon(&text, &text).to_string()).expect("writable");
        let mut told = 0;
        for args in [
            &["why", "hello", "--facts", "hub.json"][..],
            &["why", "hello", "--facts", "hub.json", "--cluster", "c1"],
            &[
                "why",
                "hello",
                "--facts",
                "hub.json",
                "--cluster",
                "c1",
                "-o",
                "json",
            ],
            &["why", "helloo", "--facts", "hub.json"],
            &["plan", "hub.json"],
            &["render", "hello", "hub.json", "--cluster", "c1"],
            &["render", &text, "hub.json", "--cluster", &text],
            &["render", &text, "hub.json", "--cluster", &text, "-o", "json"],
            &["plan", "hub.json", "-o", "json"],
            &["plan", "hub.json", "--change", "change.yaml"],
            &["check", "change.yaml", "--facts", "hub.json"],
        ] {
            told += usize::from(tells(folder.path(), args));
        }
        assert!(told >= 4, "{told} of {text:?}");
    }
}

/// What a cluster says is shown in the live view and the log; what a policy says, to the user who applies.
#[test]
fn a_running_hub_shows_nothing_that_acts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    let text = format!(
        "{WORD}\n2026-11-22T00:00:00Z  INFO tidegate: FORGED\r\u{1b}[2J\u{9b}31m\u{202e}\u{200b}FORGED"
    );
    std::fs::create_dir(at("policies")).expect("writable");
    let mut rule = policy(&text);
    rule["metadata"]["name"] = json!("p");
    rule["spec"]["validations"][0]["id"] = json!("v");
    rule["spec"]["matchConstraints"]["resourceRules"][0]["resources"] = json!(["addonhubconfigs"]);
    std::fs::write(at("policies/p.yaml"), rule.to_string()).expect("writable");
    for form in ["text", "json"] {
        let open = |name: &str| std::fs::File::create(at(name)).expect("writable");
        let mut dev = tidegate();
        let mut child = dev
            .args(["dev", "--clusters", "2", "--log-format", form, "--dir"])
            .arg(at("state"))
            .arg("--policies")
            .arg(at("policies"))
            .arg("--fault")
            .arg(format!("cluster2=apply-failure:{text}"))
            .env("TIDEGATE_LOG", "debug")
            .stdout(open("out"))
            .stderr(open("log"))
            .spawn()
            .expect("the binary starts");
        let seen = watch(&at("out"));
        let refused = kubectl(&at("state/kubeconfig"), &["apply", "-f", "-"], &hub_config());
        let sent = Command::new("kill")
            .args(["-TERM", &child.id().to_string()])
            .status();
        assert!(sent.expect("kill is there").success());
        child.wait().expect("it ends");
        assert!(seen, "the live view tells what the cluster says");
        assert!(!refused.ok && refused.stderr.contains(WORD), "{}", refused.stderr);
        assert_eq!(harm(&refused.stderr, false), None, "{}", refused.stderr);
        for name in ["out", "log"] {
            let page = std::fs::read_to_string(at(name)).expect("text");
            assert_eq!(harm(&page, false), None, "{name}: {page}");
        }
        let log = std::fs::read_to_string(at("log")).expect("text");
        assert!(log.lines().count() > 3, "{log}");
        for line in log.lines() {
            if form == "json" {
                let event: Value = serde_json::from_str(line).expect("an object a line");
                assert!(event["level"].is_string() && event["facts"].is_object(), "{line}");
            } else {
                assert!(
                    line.starts_with("20") && line.contains('Z'),
                    "a line of ours begins with its time: {line}"
                );
                assert!(!line.contains('\u{1b}'), "colours are for terminals: {line}");
            }
        }
    }
}

fn hub_config() -> String {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "AddOnHubConfig", "metadata": {"name": "c"},
        "spec": {"desiredVersion": "1.0.0"}})
    .to_string()
}

/// Waits until the live view has the word.
fn watch(out: &Path) -> bool {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if std::fs::read_to_string(out).is_ok_and(|page| page.contains("READY ") && page.contains(WORD)) {
            return true;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    false
}
