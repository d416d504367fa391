//! What other repositories use from this one: the GitHub Action, the pre-commit hooks, run as those run them, and schemas for editors.
//!
//! Their findings and exit status are those of `tidegate check`. GitHub and pre-commit themselves do not run here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::programs::Program;
use crate::rig::{repository, tidegate};

const RIGHT: &str = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: fine}\nspec: {installStrategy: {type: Manual}}\n";
const WRONG: &str = "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: ClusterManagementAddOn\nmetadata: {name: fine}\nspec: {installStrategy: {type: Manually}}\n";

fn read(file: &str) -> Value {
    let text = std::fs::read_to_string(repository(file)).expect("it is there");
    serde_saphyr::from_str(&text).expect("it is YAML")
}

fn program() -> String {
    tidegate().get_program().to_string_lossy().into_owned()
}

/// A repository with one manifest under an odd name.
fn folder(manifest: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("-o json.yaml"), manifest).expect("writable");
    folder
}

fn text(output: &Output) -> String {
    format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// Puts values into the places that GitHub fills.
fn filled(template: &str, values: &BTreeMap<String, String>) -> String {
    let mut text = template.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("${{{{ {name} }}}}"), value);
    }
    assert!(!text.contains("${{"), "not filled: {text}");
    text
}

/// Runs the steps of the action as a composite action's are run; returns the last one's outcome.
fn act(inputs: &[(&str, &str)], at: &Path) -> Output {
    let action = read("action.yml");
    let mut values = BTreeMap::from([
        (
            "github.action_path".to_owned(),
            repository("").to_string_lossy().into_owned(),
        ),
        // The releases are in a folder.
        ("github.server_url".to_owned(), format!("file://{}", at.display())),
        ("github.action_repository".to_owned(), "owner/tidegate".to_owned()),
    ]);
    for (name, input) in action["inputs"].as_object().expect("inputs") {
        let default = input["default"].as_str().expect("a default").to_owned();
        values.insert(format!("inputs.{name}"), default);
    }
    for (name, value) in inputs {
        let before = values.insert(format!("inputs.{name}"), (*value).to_owned());
        assert!(before.is_some(), "the action has no input {name}");
    }
    let mut last = None;
    for step in action["runs"]["steps"].as_array().expect("steps") {
        let outputs = at.join("outputs");
        std::fs::write(&outputs, "").expect("writable");
        let mut command = Command::new("bash");
        command.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c"]);
        command.arg(step["run"].as_str().expect("a script"));
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            command.env(name, filled(value.as_str().expect("text"), &values));
        }
        command.env("GITHUB_OUTPUT", &outputs).env("RUNNER_TEMP", at);
        let output = command.current_dir(at).output();
        last = Some(output.expect("bash is there"));
        let written = std::fs::read_to_string(&outputs).expect("readable");
        std::fs::remove_file(&outputs).expect("removed");
        for (name, value) in written.lines().filter_map(|line| line.split_once('=')) {
            let step = step["id"].as_str().expect("a step with outputs has an id");
            values.insert(format!("steps.{step}.outputs.{name}"), value.to_owned());
        }
    }
    last.expect("a step")
}

#[test]
fn the_action_annotates_what_the_gate_would_refuse_and_fails() {
    let at = folder(WRONG);
    let output = act(&[("tidegate", &program()), ("sarif", "out.sarif")], at.path());
    let told = text(&output);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("::error file=") && told.contains("schema/value"),
        "{told}"
    );
    let sarif = std::fs::read_to_string(at.path().join("out.sarif")).expect("SARIF");
    assert!(sarif.contains("schema/value"), "{sarif}");
    let lenient = act(&[("tidegate", &program()), ("fail-on", "never")], at.path());
    assert_eq!(lenient.status.code(), Some(0), "{}", text(&lenient));
    let fine = folder(RIGHT);
    let output = act(&[("tidegate", &program())], fine.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}

const CURL: Program = Program::new("curl", "apt-get install curl");

#[test]
fn the_action_downloads_a_release_and_checks_its_digest() {
    if CURL.is_missing() {
        return;
    }
    let at = folder(WRONG);
    let release = at.path().join("owner/tidegate/releases/download/v9.9.9");
    std::fs::create_dir_all(&release).expect("a folder");
    let packed = Command::new("bash")
        .args([
            "-ec",
            "cd \"$1\"; mkdir files; ln -s \"$2\" files/tidegate; for platform in linux-amd64 linux-arm64 darwin-amd64 darwin-arm64; do \
             tar -chzf tidegate-9.9.9-$platform.tar.gz -C files tidegate; done; sha256sum *.tar.gz >SHA256SUMS",
            "pack",
        ])
        .args([release.as_os_str(), tidegate().get_program()])
        .output()
        .expect("bash is there");
    assert!(packed.status.success(), "{}", text(&packed));
    let output = act(&[("version", "9.9.9")], at.path());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(text(&output).contains("::error file="), "{}", text(&output));
    let sums = std::fs::read_to_string(release.join("SHA256SUMS")).expect("digests");
    let other: Vec<String> = sums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(_, name)| format!("{}  {name}", "0".repeat(64)))
        .collect();
    std::fs::write(release.join("SHA256SUMS"), other.join("\n")).expect("writable");
    let refused = Command::new(repository("ci/download"))
        .args(["9.9.9", "again"])
        .env(
            "RELEASES",
            format!("file://{}/owner/tidegate/releases/download", at.path().display()),
        )
        .current_dir(at.path())
        .output()
        .expect("the script starts");
    assert_eq!(refused.status.code(), Some(1));
    assert!(
        text(&refused).contains("its SHA-256 is not the one in SHA256SUMS"),
        "{}",
        text(&refused)
    );
}

#[test]
fn a_missing_program_is_reported_with_the_fix() {
    let at = folder(RIGHT);
    let output = act(&[("tidegate", "no-such-program")], at.path());
    let told = text(&output);
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(
        told.contains("no-such-program: not found") && told.contains("PATH"),
        "{told}"
    );
}

#[test]
fn schemas_for_editors_are_printed_or_written_and_fit_the_examples() {
    let at = tempfile::tempdir().expect("a folder");
    let run = |words: &[&str]| {
        tidegate()
            .args(words)
            .current_dir(at.path())
            .output()
            .expect("it ends")
    };
    let printed = run(&["crds", "--json-schema"]);
    let one: Value = serde_json::from_slice(&printed.stdout).expect("JSON and nothing else");
    let written = run(&["crds", "--json-schema", "--output", "made/schemas"]);
    assert!(written.status.success(), "{}", text(&written));
    let all = std::fs::read_to_string(at.path().join("made/schemas/all.json")).expect("written");
    assert_eq!(one, serde_json::from_str::<Value>(&all).expect("JSON"));
    for name in [
        "clustermanagementaddon_v1beta1",
        "addonpolicy_v1alpha1",
        "manifestwork_v1",
    ] {
        assert!(
            at.path().join(format!("made/schemas/{name}.json")).exists(),
            "{name}"
        );
    }
    let both = run(&["crds", "--json-schema", "--for-hub-without-ocm"]);
    assert_eq!(both.status.code(), Some(2), "{}", text(&both));
}

/// Runs a hook of pre-commit: its entry is a script of this repository, or a program on the PATH.
fn hook(id: &str, arguments: &[&str], at: &Path) -> Output {
    let hooks = read(".pre-commit-hooks.yaml");
    let mut hooks = hooks.as_array().expect("a list").iter();
    let hook = hooks.find(|hook| hook["id"] == id).expect("a hook");
    assert_eq!(hook["pass_filenames"], false, "files are judged together");
    let entry = hook["entry"].as_str().expect("an entry");
    let mut words = entry.split_whitespace();
    let first = words.next().expect("a word");
    let is_script = hook["language"] == "script";
    assert!(
        is_script || hook["language"] == "system",
        "a language that needs nothing installed"
    );
    let program = if is_script {
        repository(first)
    } else {
        first.into()
    };
    let beside = tidegate();
    let beside = Path::new(beside.get_program()).parent().expect("a folder");
    let path = format!(
        "{}:{}",
        beside.display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut command = Command::new(program);
    let command = command
        .args(words)
        .args(arguments)
        .env("PATH", path)
        .current_dir(at);
    command.output().expect("the hook starts")
}

#[test]
fn the_hooks_check_the_repository_or_the_given_files() {
    let at = folder(WRONG);
    let output = hook("tidegate-check", &[], at.path());
    assert_eq!(output.status.code(), Some(1), "{}", text(&output));
    assert!(
        text(&output).contains("^^^^^^^^"),
        "with carets: {}",
        text(&output)
    );
    let output = hook("tidegate-check", &["--fail-on", "never"], at.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    std::fs::create_dir(at.path().join("fine")).expect("a folder");
    std::fs::write(at.path().join("fine/a.yaml"), RIGHT).expect("writable");
    let output = hook("tidegate-check", &["fine"], at.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
    let policies = repository("policies").to_string_lossy().into_owned();
    let output = hook("tidegate-policy-test", &[&policies], at.path());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output));
}
