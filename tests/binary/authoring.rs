//! Writing a policy with the real binary: created, linted, tested, and tested again at every change. No hub is needed.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

use crate::rig::{Run, tidegate};

fn at(folder: &Path, args: &[&str]) -> Run {
    let ended = tidegate()
        .args(args)
        .current_dir(folder)
        .env_remove("KUBECONFIG")
        .output();
    Run::from(ended.expect("the binary starts"))
}

#[test]
fn what_new_writes_passes_lint_and_test_at_once_and_is_never_overwritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (number, kind) in [
        "ManagedClusterAddOn",
        "ClusterManagementAddOn",
        "addontemplates",
        "AddOnDeploymentConfig",
        "ManagedClustersUpgrade",
    ]
    .into_iter()
    .enumerate()
    {
        let name = format!("owned-{number}");
        let begun = at(
            folder.path(),
            &["policy", "new", &name, "--dir", "rules/mine", "--kind", kind],
        );
        assert_eq!(begun.code, Some(0), "{kind}: {}", begun.stderr);
        let (policy, test) = (
            format!("rules/mine/{name}.yaml"),
            format!("rules/mine/{name}.test.yaml"),
        );
        assert!(
            begun.stdout.contains(&format!("tidegate policy lint {policy}")),
            "{}",
            begun.stdout
        );
        for args in [
            &["policy", "lint", &policy][..],
            &["policy", "test", &test],
            &["policy", "test", &test, "--mutate"],
        ] {
            let run = at(folder.path(), args);
            assert_eq!(run.code, Some(0), "{kind} {args:?}: {}{}", run.stdout, run.stderr);
        }
    }
    let policy = folder.path().join("rules/mine/owned-0.yaml");
    let test = folder.path().join("rules/mine/owned-0.test.yaml");
    // As its comment says, the policy may begin with warnings.
    for (file, old, new) in [(&policy, "[Deny]", "[Warn]"), (&test, "{deny:", "{warn:")] {
        let text = std::fs::read_to_string(file).expect("readable");
        assert!(text.contains(old), "{text}");
        std::fs::write(file, text.replace(old, new)).expect("writable");
    }
    let run = at(folder.path(), &["policy", "test", "rules/mine/owned-0.test.yaml"]);
    assert_eq!(run.code, Some(0), "{}{}", run.stdout, run.stderr);
    let text = std::fs::read_to_string(&policy).expect("readable");
    assert!(
        text.contains("then write warn in the test as well") && text.contains(".?labels.?team"),
        "an expression that reads all labels refuses every change of another label: {text}"
    );
    std::fs::write(&policy, "mine").expect("writable");
    std::fs::remove_file(folder.path().join("rules/mine/owned-0.test.yaml")).expect("it was there");
    let again = at(
        folder.path(),
        &["policy", "new", "owned-0", "--dir", "rules/mine"],
    );
    assert_eq!(again.code, Some(2), "{}", again.stdout);
    assert!(again.stderr.contains("already exists"), "{}", again.stderr);
    assert_eq!(std::fs::read_to_string(&policy).expect("readable"), "mine");
    assert!(!folder.path().join("rules/mine/owned-0.test.yaml").exists());
    for (args, said) in [
        (
            &["policy", "new", "x", "--kind", "ManagedClusterAddon2"][..],
            "did you mean \"ManagedClusterAddOn\"?",
        ),
        (
            &["policy", "new", "../x"],
            "\"../x\" cannot be the name of a policy",
        ),
    ] {
        let refused = at(folder.path(), args);
        assert_eq!(refused.code, Some(2), "{args:?}: {}", refused.stdout);
        assert!(refused.stderr.contains(said), "{args:?}: {}", refused.stderr);
    }
}

const FAULTY: &str = "\
apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata: {name: faulty}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [managedclusteraddons]}
  facts: [clutser]
  validations:
    - id: one
      expression: |
        facts.cluster.found &&
          objct.metadata.name != ''
      fieldPath: metadata.name
      message: must have a name
    - id: two
      expression: \"object.spec == \\\"\\\" || params.x\"
      mesage: must be empty
";

#[test]
fn lint_tells_every_fault_with_line_column_and_caret() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("p.yaml"), FAULTY).expect("writable");
    let lint = at(folder.path(), &["policy", "lint", "p.yaml"]);
    assert_eq!(lint.code, Some(3), "{}", lint.stderr);
    for shown in [
        "--> p.yaml:8:11\n  |\n8 |   facts: [clutser]\n  |           ^",
        "--> p.yaml:13:25\n   |\n13 |           objct.metadata.name != ''\n   |                         ^",
        "--> p.yaml:17:49\n",
        "--> p.yaml:18:15\n",
        "4 errors in 1 object of 1 file\n0 policies compile; exportable with --native: none\n",
    ] {
        assert!(lint.stdout.contains(shown), "{shown}: {}", lint.stdout);
    }
    let lint = at(folder.path(), &["policy", "lint", "p.yaml", "-o", "json"]);
    assert_eq!(lint.code, Some(3), "{}", lint.stderr);
    let report: Value = serde_json::from_str(&lint.stdout).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 4, "{report:#}");
}

#[test]
fn results_of_tests_are_read_by_those_who_read_junit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let name = "a-policy";
    assert_eq!(at(folder.path(), &["policy", "new", name]).code, Some(0));
    let test = folder.path().join("a-policy.test.yaml");
    let text = std::fs::read_to_string(&test).expect("readable");
    let failing = text
        .replace("one without a team", "one & only <\\\"'\\e[31m>")
        .replace(
            "name: one & only <\\\"'\\e[31m> is refused",
            "name: \"one & only <\\\"'\\e[31m>\"",
        )
        .replace("labels: {team: blue}", "labels: {}");
    std::fs::write(&test, failing).expect("writable");
    let run = at(folder.path(), &["policy", "test", ".", "-o", "junit"]);
    assert_eq!(run.code, Some(1), "{}{}", run.stdout, run.stderr);
    let read = roxmltree::Document::parse(&run.stdout).expect("XML");
    let suites = read.root_element();
    assert_eq!(suites.attribute("tests"), Some("3"), "{}", run.stdout);
    assert_eq!(suites.attribute("failures"), Some("2"), "{}", run.stdout);
    let cases = suites.descendants().filter(|node| node.has_tag_name("testcase"));
    let failures = cases.map(|case| {
        let failures = case.children().filter(|node| node.has_tag_name("failure"));
        (case.attribute("name").unwrap_or_default(), failures.count())
    });
    let failures: BTreeMap<&str, usize> = failures.collect();
    let odd = failures.keys().find(|name| name.contains("one & only <"));
    assert!(odd.is_some(), "{failures:?}");
    for name in [
        "one with a team is accepted",
        "no case causes policy/a-policy/owned to hold",
    ] {
        assert_eq!(failures.get(name), Some(&1), "{failures:?}");
    }
}

/// Ends with the test.
struct Watch(Child);

impl Drop for Watch {
    fn drop(&mut self) {
        // SIGTERM, which `timeout` hands on.
        let id = self.0.id().to_string();
        Command::new("kill").arg(id).status().ok();
        self.0.wait().ok();
    }
}

#[test]
fn cases_run_again_whenever_a_file_of_theirs_changes() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(
        at(folder.path(), &["policy", "new", "p", "--dir", "policies"]).code,
        Some(0)
    );
    let tests = folder.path().join("tests");
    std::fs::create_dir(&tests).expect("writable");
    let test = std::fs::read_to_string(folder.path().join("policies/p.test.yaml")).expect("readable");
    let test = test.replace("policies: [p.yaml]", "policies: [../policies/p.yaml]");
    std::fs::write(tests.join("p.test.yaml"), test).expect("writable");
    // It ends by itself when what is waited for does not come.
    let child = Command::new("timeout")
        .arg("60")
        .arg(tidegate().get_program())
        .args(["policy", "test", "tests", "--watch"])
        .current_dir(folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut watch = Watch(child.expect("the binary starts"));
    let out = watch.0.stdout.take().expect("it is piped");
    let mut lines = BufReader::new(out).lines().map_while(Result::ok);
    let mut until = |wanted: &str| {
        let found = lines.find(|line| line.contains(wanted));
        assert!(found.is_some(), "it ended before {wanted:?}");
    };
    until("2 cases, 0 failed");
    // The policy lies elsewhere than the paths that were named.
    let policy = folder.path().join("policies/p.yaml");
    let text = std::fs::read_to_string(&policy).expect("readable");
    std::fs::write(
        &policy,
        text.replace("variables.team != ''", "variables.team != 'x'"),
    )
    .expect("writable");
    until("2 cases, 1 failed");
    std::fs::write(&policy, text).expect("writable");
    until("2 cases, 0 failed");
}
