//! What other repositories use from this one: the GitHub Action, the pre-commit hooks, run as those run them, and schemas for editors.
//!
//! Their findings and exit status are those of `tidegate check`. GitHub and pre-commit themselves do not run here.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

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
    let mut values = BTreeMap::from([(
        "github.action_path".to_owned(),
        repository("").to_string_lossy().into_owned(),
    )]);
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
        let output = command.env("GITHUB_OUTPUT", &outputs).current_dir(at).output();
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
