//! Policies that use namespaces, with kubectl: a namespace in the same apply, and one that is labelled later.

use crate::rig::{Dev, run};

const POLICY: &str = "\
apiVersion: tidegate.io/v1alpha1
kind: AddOnPolicy
metadata: {name: teams}
spec:
  matchConstraints:
    resourceRules:
      - {apiGroups: [addon.open-cluster-management.io], apiVersions: ['*'], operations: [CREATE], resources: [addondeploymentconfigs]}
  validations:
    - {id: team, expression: \"namespaceObject.metadata.labels[?'team'].orValue('') != ''\", message: must be in a namespace of a team,
       fieldPath: metadata.namespace}
";

fn place(name: &str, labels: &str) -> String {
    format!(
        "apiVersion: v1\nkind: Namespace\nmetadata: {{name: {name}, labels: {labels}}}\n---\n{}",
        config(name)
    )
}

fn config(namespace: &str) -> String {
    format!(
        "apiVersion: addon.open-cluster-management.io/v1alpha1\nkind: AddOnDeploymentConfig\nmetadata: {{name: one, namespace: {namespace}}}\nspec: {{}}\n"
    )
}

#[test]
fn a_namespace_and_what_lives_in_it_are_applied_in_one_go_and_judged_together() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let applied = dev.apply(POLICY);
    assert!(applied.ok, "{}", applied.stderr);
    dev.until("the policy is in force", &["addonpolicy", "teams"], |policy| {
        policy["status"]["activeGeneration"] == 1
    });
    let right = dev.apply(&place("ours", "{team: a}"));
    assert!(right.ok, "{}", right.stderr);
    let wrong = dev.apply(&place("nobodys", "{}"));
    assert!(
        !wrong.ok
            && wrong
                .stderr
                .contains("must be in a namespace of a team [policy/teams/team]"),
        "{}",
        wrong.stderr
    );
    dev.succeed(&["label", "namespace", "nobodys", "team=b"]);
    dev.until_run(
        "the label counts",
        &["apply", "-f", "-"],
        &config("nobodys"),
        |run| run.ok,
    );
    the_same_verdicts_without_the_gate(&dev);
}

/// From the hub read once, and from a dump of it: its policies and namespaces are in both.
fn the_same_verdicts_without_the_gate(dev: &Dev) {
    let dump = dev.state().join("hub.json").to_string_lossy().into_owned();
    let kubeconfig = dev.kubeconfig.to_string_lossy().into_owned();
    let taken = run(&["snapshot", "--kubeconfig", &kubeconfig, "-o", &dump]);
    assert!(taken.ok, "{}", taken.stderr);
    for facts in [
        vec!["--facts", &dump],
        vec!["--live", "--kubeconfig", &kubeconfig],
    ] {
        let check = |namespace: &str| {
            let file = dev.state().join("one.yaml");
            std::fs::write(&file, config(namespace).replace("name: one", "name: two")).expect("writable");
            run(&[&["check", &file.to_string_lossy()], &facts[..]].concat())
        };
        let known = check("ours");
        assert_eq!(known.code, Some(0), "{facts:?}: {}{}", known.stdout, known.stderr);
        let faulty = check("default");
        assert!(
            faulty.code == Some(1) && faulty.stdout.contains("error[policy/teams/team]"),
            "{facts:?}: {}{}",
            faulty.stdout,
            faulty.stderr
        );
        let unknown = check("nowhere");
        assert!(
            unknown.code == Some(0)
                && unknown
                    .stdout
                    .contains("the namespace of the object is not known"),
            "{facts:?}: {}{}",
            unknown.stdout,
            unknown.stderr
        );
    }
    let change = dev.state().join("change.yaml");
    std::fs::write(&change, config("default")).expect("writable");
    let planned = run(&["plan", &dump, "--change", &change.to_string_lossy()]);
    assert!(
        planned.code == Some(1) && planned.stdout.contains("error[policy/teams/team]"),
        "{}{}",
        planned.stdout,
        planned.stderr
    );
}
