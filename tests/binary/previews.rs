//! The forecast of `plan` and `render` for files matches what the hub then does, live and from a dump.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::rig::{Dev, Run, run};

/// The fields that an API server fills in are left out, as in most manifests.
const CONFIG: &str = "
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnDeploymentConfig
metadata: {name: cfg, namespace: default}
spec: {customizedVariables: [{name: GREETING, value: hello}]}
";

const MORE: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: more, namespace: default}
data: {colour: red}
";

const OTHERS: &str = r#"
apiVersion: cluster.open-cluster-management.io/v1beta2
kind: ManagedClusterSetBinding
metadata: {name: global, namespace: default}
spec: {clusterSet: global}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: Placement
metadata: {name: all, namespace: default}
spec: {clusterSets: [global]}
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: AddOnTemplate
metadata: {name: app-v1}
spec:
  addonName: app
  agentSpec:
    workload:
      manifests:
      - apiVersion: apps/v1
        kind: Deployment
        metadata: {name: app-agent, namespace: app}
        spec:
          selector: {matchLabels: {app: app}}
          template:
            metadata: {labels: {app: app}}
            spec:
              volumes: [{name: own, secret: {secretName: own-secret}}]
              containers:
              - {name: agent, image: "registry.example.com/app:v1", args: ["--api-key=4711 -v"], env: [{name: GREETING, value: "{{GREETING}}"}]}
  registration: [{type: KubeClient, kubeClient: {hubPermissions: []}}]
---
apiVersion: addon.open-cluster-management.io/v1alpha1
kind: ClusterManagementAddOn
metadata: {name: app}
spec:
  supportedConfigs:
  - {group: addon.open-cluster-management.io, resource: addontemplates, defaultConfig: {name: app-v1}}
  - {group: addon.open-cluster-management.io, resource: addondeploymentconfigs, defaultConfig: {name: cfg, namespace: default}}
  - {group: "", resource: configmaps, defaultConfig: {name: more, namespace: default}}
  installStrategy: {type: Placements, placements: [{name: all, namespace: default, rolloutStrategy: {type: Progressive, progressive: {maxConcurrency: 1}}}]}
"#;

const NAMESPACE: &str = "open-cluster-management-agent-addon";

fn at(dev: &Dev, args: &[&str]) -> Run {
    run(&[args, &["--kubeconfig", &dev.kubeconfig.to_string_lossy()]].concat())
}

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("writable");
    path.to_string_lossy().into_owned()
}

fn says(run: &Run, words: &str) {
    assert!(
        run.ok && run.stdout.contains(words),
        "{words}: {}{}",
        run.stdout,
        run.stderr
    );
}

#[test]
fn files_that_were_applied_are_no_difference_and_a_changed_one_is() {
    let dev = Dev::start(&["--clusters", "3", "--no-demo"]);
    for manifest in [CONFIG, MORE, OTHERS] {
        let applied = dev.apply(manifest);
        assert!(applied.ok, "{}", applied.stderr);
    }
    dev.until("three works are applied", &["manifestwork", "-A"], |list| {
        let works = list["items"].as_array().into_iter().flatten();
        let applied = works.filter(|work| work.to_string().contains("\"type\":\"Available\""));
        applied.count() == 3
    });
    dev.comes_to_rest(Duration::from_secs(3));
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str, text: &str| written(folder.path(), name, text);
    let beta = CONFIG.replace("/v1alpha1", "/v1beta1");
    let files = [
        file("config.yaml", CONFIG),
        file("beta.yaml", &beta),
        file("more.yaml", MORE),
        file("others.yaml", OTHERS),
    ];
    let dump = folder.path().join("hub.json").to_string_lossy().into_owned();
    let taken = at(&dev, &["snapshot", "-o", &dump]);
    assert!(taken.ok, "{}", taken.stderr);
    says(
        &at(&dev, &["plan", "--live"]),
        "app: nothing would change; 3 clusters",
    );
    says(&run(&["plan", &dump]), "app: nothing would change; 3 clusters");
    says(
        &run(&["plan", "--take-over", &dump]),
        "app: 0 of 3 works would be written",
    );
    for path in &files {
        says(
            &at(&dev, &["plan", "--live", "--change", path]),
            "1 add-on: no difference",
        );
        says(
            &run(&["plan", &dump, "--change", path]),
            "1 add-on: no difference",
        );
    }
    let changed = file("changed.yaml", &MORE.replace("red", "blue"));
    for plan in [
        at(&dev, &["plan", "--live", "--change", &changed]),
        run(&["plan", &dump, "--change", &changed]),
    ] {
        says(&plan, "app: 0 installed, 3 updated, 0 removed");
    }
    for config in &files[..2] {
        let live = at(
            &dev,
            &[
                "render",
                "app",
                "--live",
                "--cluster",
                "cluster1",
                "--change",
                config,
            ],
        );
        says(&live, &format!("INSTALL_NAMESPACE = \"{NAMESPACE}\""));
        says(&live, &format!("namespace: {NAMESPACE}"));
    }
}

#[test]
fn a_file_and_a_folder_of_manifests_stand_for_a_hub() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let placed = r#"
apiVersion: cluster.open-cluster-management.io/v1
kind: ManagedCluster
metadata: {name: cluster1}
spec: {hubAcceptsClient: true}
---
apiVersion: cluster.open-cluster-management.io/v1beta1
kind: PlacementDecision
metadata: {name: all-1, namespace: default, labels: {cluster.open-cluster-management.io/placement: all, cluster.open-cluster-management.io/decision-group-index: "0"}}
status: {decisions: [{clusterName: cluster1, reason: ""}]}
"#;
    let others = OTHERS.replace(
        "spec: {clusterSets: [global]}",
        "spec: {clusterSets: [global]}\nstatus: {numberOfSelectedClusters: 1}",
    );
    let all = [CONFIG, MORE, &others, placed].join("---\n");
    let file = written(folder.path(), "hub.yaml", &all);
    let parts = tempfile::tempdir().expect("a temporary folder");
    for (name, text) in [
        ("a.yaml", CONFIG),
        ("b.yaml", MORE),
        ("c.yaml", &others),
        ("d.yaml", placed),
    ] {
        written(parts.path(), name, text);
    }
    let folder_of_parts = parts.path().to_string_lossy().into_owned();
    for hub in [&file, &folder_of_parts] {
        let rendered = run(&["render", "app", hub, "--cluster", "cluster1"]);
        says(&rendered, &format!("INSTALL_NAMESPACE = \"{NAMESPACE}\""));
        let works: Vec<Value> = serde_saphyr::from_multiple(&rendered.stdout).expect("YAML");
        assert_eq!(works[0]["kind"], "ManifestWork");
        says(&run(&["plan", hub]), "app: 1 installed");
    }
    let broken = written(
        folder.path(),
        "broken.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a\n",
    );
    let refused = run(&["render", "app", &broken, "--cluster", "cluster1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.stdout);
    let text = written(folder.path(), "text.yaml", "just a text\n");
    let refused = run(&["plan", &text]);
    assert!(
        refused.code == Some(2) && refused.stderr.contains("not a dump of a hub"),
        "{}",
        refused.stderr
    );
}
