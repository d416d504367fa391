//! Denials and defaults as `kubectl apply` shows them. `main_job` tests what happens on clusters.

use serde_json::Value;

use crate::rig::{Dev, MCA_V1ALPHA1, repository};

const BANANA: &str = r#"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: banana
spec:
  installStrategy:
    type: Placements
    placements:
    - name: all-clusters
      namespace: open-cluster-management
      rolloutStrategy:
        type: Progressive
        progressive:
          minSuccessTime: banana
          maxConcurrency: "130%"
          maxFailures: -1
"#;

const SINGULAR: &str = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata:
  name: helloworld
  namespace: cluster1
spec:
  configs:
  - group: addon.open-cluster-management.io
    resource: addondeploymentconfig
    name: helloworld
    namespace: open-cluster-management
";

#[test]
fn a_rollout_that_cannot_work_is_refused_with_all_its_faults() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    for how in [
        &["apply", "-f", "-"][..],
        &["create", "-f", "-"],
        &["apply", "--dry-run=server", "-f", "-"],
    ] {
        let run = dev.kubectl_with(how, BANANA);
        assert!(!run.ok, "{how:?} must fail");
        assert!(
            run.stderr
                .contains("The ClusterManagementAddOn \"banana\" is invalid:"),
            "{}",
            run.stderr
        );
        let strategy = "spec.installStrategy.placements[0].rolloutStrategy.progressive";
        for (field, value, rule) in [
            ("minSuccessTime", "\"banana\"", "[rollout/min-success-time]"),
            ("maxConcurrency", "\"130%\"", "[rollout/max-concurrency]"),
            ("maxFailures", "-1", "[rollout/max-failures]"),
        ] {
            let bullet = format!("* {strategy}.{field}: ");
            let line = run
                .stderr
                .lines()
                .find(|line| line.contains(&bullet))
                .unwrap_or_else(|| {
                    panic!("no bullet for {field}:\n{}", run.stderr);
                });
            assert!(line.contains(value) && line.trim_end().ends_with(rule), "{line}");
        }
        assert_eq!(
            run.stderr.lines().filter(|line| line.starts_with("* ")).count(),
            3,
            "{}",
            run.stderr
        );
    }
    let stored = dev.kubectl(&["get", "cma", "banana"]);
    assert!(stored.stderr.contains("not found"), "nothing was stored");
}

#[test]
fn the_rollout_of_a_replica_set_has_the_same_rules() {
    let dev = Dev::start(&["--clusters", "1", "--no-demo"]);
    let works = |block: &str| {
        format!(
            "
apiVersion: work.open-cluster-management.io/v1alpha1
kind: ManifestWorkReplicaSet
metadata: {{name: works, namespace: default}}
spec:
  manifestWorkTemplate: {{workload: {{manifests: []}}}}
  placementRefs:
  - {{name: nowhere, rolloutStrategy: {{type: Progressive, progressive: {block}}}}}
"
        )
    };
    let run = dev.apply(&works("{minSuccessTime: banana, maxConcurrency: 130%}"));
    assert!(!run.ok, "it must be refused");
    let strategy = "* spec.placementRefs[0].rolloutStrategy.progressive";
    for (field, rule) in [
        ("minSuccessTime", "[rollout/min-success-time]"),
        ("maxConcurrency", "[rollout/max-concurrency]"),
    ] {
        let mut lines = run.stderr.lines();
        let line = lines.find(|line| line.starts_with(&format!("{strategy}.{field}: ")));
        assert!(line.is_some_and(|line| line.ends_with(rule)), "{}", run.stderr);
    }
    let run = dev.apply(&works("{minSuccessTime: 5m, maxConcurrency: 30%}"));
    assert!(run.ok, "{}", run.stderr);
    assert!(
        run.stderr.contains("[install/unknown-placement]"),
        "{}",
        run.stderr
    );
    let run = dev.kubectl(&["delete", "mwrs", "works", "-n", "default"]);
    assert!(run.ok && run.stderr.is_empty(), "{}", run.stderr);
}

#[test]
fn a_misspelt_config_type_is_refused_with_a_suggestion() {
    let dev = Dev::start(&["--clusters", "1"]);
    dev.until("the add-on is there", &["cma"], |list| {
        list["items"].as_array().is_some_and(|items| !items.is_empty())
    });
    let run = dev.apply(SINGULAR);
    assert!(!run.ok, "it must be refused");
    assert!(run.stderr.contains("spec.configs[0]"), "{}", run.stderr);
    assert!(run.stderr.contains("\"addondeploymentconfig\""), "{}", run.stderr);
    assert!(
        run.stderr.contains("addondeploymentconfigs"),
        "the right name is suggested: {}",
        run.stderr
    );
    assert!(run.stderr.contains("[config/"), "{}", run.stderr);
}

#[test]
fn a_deletion_that_reaches_further_says_so_and_is_done() {
    let dev = Dev::start(&["--clusters", "2"]);
    dev.until_says("helloworld", "cluster1", "False", "InstallSucceed");
    let place = ["-n", "open-cluster-management"];
    let rows: [(&[&str], &[&str], &str); 5] = [
        (
            &["placement", "all-clusters"],
            &place,
            "[deletion/placement-in-use]",
        ),
        (
            &["managedclustersetbinding", "global"],
            &place,
            "[deletion/binding-in-use]",
        ),
        (
            &["addondeploymentconfig", "helloworld"],
            &place,
            "[deletion/config-in-use]",
        ),
        (
            &["managedclusteraddon", "helloworld"],
            &["-n", "cluster1"],
            "[deletion/comes-back]",
        ),
        (
            &["clustermanagementaddon", "helloworld"],
            &[],
            "[deletion/addon-in-use]",
        ),
    ];
    for (object, namespace, rule) in rows {
        let args = [&["delete", "--dry-run=server"], object, namespace].concat();
        // The facts of the gate may be a moment behind.
        let run = dev.until_run("the gate says so", &args, "", |run| run.stderr.contains(rule));
        assert!(run.ok, "{rule}: {}", run.stderr);
    }
}

#[test]
fn the_wrong_examples_are_refused_and_the_right_ones_are_not() {
    let dev = Dev::start(&["--clusters", "2"]);
    let right = dev.kubectl(&["apply", "-f", &repository("manifests/examples").to_string_lossy()]);
    assert!(right.ok, "{}", right.stderr);
    let folder = repository("manifests/examples/wrong");
    let mut seen = 0;
    for entry in std::fs::read_dir(&folder)
        .expect("there are wrong examples")
        .flatten()
    {
        let run = dev.kubectl(&["apply", "-f", &entry.path().to_string_lossy()]);
        assert!(!run.ok, "{} must be refused", entry.path().display());
        assert!(
            run.stderr.contains("is invalid:"),
            "{}: {}",
            entry.path().display(),
            run.stderr
        );
        seen += 1;
    }
    assert!(seen >= 2, "there are wrong examples in {}", folder.display());
}

#[test]
fn an_absent_install_namespace_comes_from_the_placements_template_and_stays() {
    let dev = Dev::start(&["--clusters", "2"]);
    // The add-on manages itself, so that kubectl alone makes its ManagedClusterAddOn.
    let definition = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: placed
  annotations:
    addon.open-cluster-management.io/lifecycle: self
spec:
  installStrategy:
    type: Placements
    placements:
    - name: all-clusters
      namespace: open-cluster-management
      addonSpec:
        installNamespace: placed-here
";
    let wish = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ManagedClusterAddOn
metadata:
  name: placed
  namespace: cluster1
";
    let made = dev.apply(definition);
    assert!(made.ok, "{}", made.stderr);
    dev.until(
        "the placement has decided",
        &["placementdecisions", "-n", "open-cluster-management"],
        |list| list["items"].as_array().is_some_and(|items| !items.is_empty()),
    );

    let first = dev.apply(&format!("{wish}spec: {{}}\n"));
    assert!(first.ok, "{}", first.stderr);
    let once = dev.read(&[MCA_V1ALPHA1, "placed", "-n", "cluster1"]);
    assert_eq!(once["spec"]["installNamespace"], "placed-here");

    let again = dev.apply(&format!("{wish}spec: {{}}\n"));
    assert!(
        again.ok && again.stdout.contains("unchanged"),
        "{}{}",
        again.stdout,
        again.stderr
    );
    let twice = dev.read(&[MCA_V1ALPHA1, "placed", "-n", "cluster1"]);
    // The controllers may write the status meanwhile; the spec stays as it was.
    assert_eq!(twice["spec"], once["spec"]);
    assert_eq!(twice["metadata"]["generation"], once["metadata"]["generation"]);

    let given =
        dev.apply(&format!("{wish}spec:\n  installNamespace: my-own\n").replace("cluster1", "cluster2"));
    assert!(given.ok, "{}", given.stderr);
    let kept = dev.read(&[MCA_V1ALPHA1, "placed", "-n", "cluster2"]);
    assert_eq!(
        kept["spec"]["installNamespace"], "my-own",
        "a given value is never changed"
    );
}

#[test]
fn the_controllers_copy_the_placements_template_at_creation() {
    let dev = Dev::start(&["--clusters", "2"]);
    let definition = r"
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata:
  name: placed
spec:
  installStrategy:
    type: Placements
    placements:
    - name: all-clusters
      namespace: open-cluster-management
      addonSpec:
        installNamespace: placed-here
";
    let applied = dev.apply(definition);
    assert!(applied.ok, "{}", applied.stderr);
    let list = dev.until("made on both clusters", &[MCA_V1ALPHA1, "-A"], |list| {
        names(list).iter().filter(|name| *name == "placed").count() == 2
    });
    for addon in list["items"].as_array().expect("a list has items") {
        if addon["metadata"]["name"] == "placed" {
            assert_eq!(addon["spec"]["installNamespace"], "placed-here");
        }
    }
}

fn names(list: &Value) -> Vec<String> {
    list["items"]
        .as_array()
        .map(|items| {
            items
                .iter()
                .filter_map(|item| item["metadata"]["name"].as_str().map(str::to_owned))
                .collect()
        })
        .unwrap_or_default()
}
