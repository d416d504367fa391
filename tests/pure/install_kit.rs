//! The installation manifests: how they are composed, and that the folder of manifests and the chart render the same.
//!
//! `UPDATE_EXPECT=1` writes the derived files. Tests that run kubectl or Helm are skipped if it is not installed.

mod bundle;
mod derived;
mod olm;
mod released;
mod user_roles;
mod values;

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use clap::Parser as _;
use serde_json::{Value, json};
use tidegate::cli::{Cli, Command as Subcommand};

use self::derived::{derived, read};
use crate::kit::manifests::repository;
use crate::kit::programs::{HELM, Program};

const KUBECTL: Program = Program::new("kubectl", "apt-get install kubernetes-client");

#[test]
fn what_comes_from_other_files_is_what_they_say() {
    let mut stale = Vec::new();
    for (path, wanted) in derived() {
        let place = repository(&path);
        if std::env::var_os("UPDATE_EXPECT").is_some() {
            std::fs::create_dir_all(place.parent().expect("a folder")).expect("writable");
            std::fs::write(&place, &wanted).expect("writable");
        }
        if std::fs::read_to_string(&place).ok().as_deref() != Some(wanted.as_str()) {
            stale.push(path);
        }
    }
    assert!(stale.is_empty(), "run again with UPDATE_EXPECT=1: {stale:?}");
}

fn run(command: &mut Command) -> String {
    let ran = command.output().expect("it starts");
    assert!(
        ran.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&ran.stderr)
    );
    String::from_utf8(ran.stdout).expect("a text")
}

fn kustomized(folder: &str) -> Vec<Value> {
    objects(&run(Command::new("kubectl")
        .arg("kustomize")
        .arg(repository(&format!("manifests/deploy/{folder}")))))
}

fn rendered(flags: &[&str]) -> Vec<Value> {
    rendered_in("tidegate", flags)
}

/// The image of the sources without its tag, which a release replaces: `.invalid` resolves nowhere.
const IMAGE: &str = "registry.invalid/tidegate";

fn rendered_in(namespace: &str, flags: &[&str]) -> Vec<Value> {
    let mut helm = Command::new("helm");
    helm.args(["template", "tidegate"])
        .arg(repository("charts/tidegate"))
        .args(["--set", &format!("image.repository={IMAGE}")]);
    // Without its own cache and configuration, wherever the tests run.
    helm.args([
        "--namespace",
        namespace,
        "--include-crds",
        "--kube-version",
        "1.36.0",
    ])
    .args(flags);
    objects(&run(&mut helm))
}

fn objects(text: &str) -> Vec<Value> {
    let documents: Vec<Value> = serde_saphyr::from_multiple(text).expect("YAML");
    documents
        .into_iter()
        .filter(|document| !document.is_null())
        .collect()
}

/// The objects by kind, namespace and name, without what Helm adds by custom.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let named = objects.into_iter().map(|mut object| {
        for place in ["/metadata/labels", "/spec/template/metadata/labels"] {
            if let Some(Value::Object(labels)) = object.pointer_mut(place) {
                for label in [
                    "app.kubernetes.io/instance",
                    "app.kubernetes.io/managed-by",
                    "helm.sh/chart",
                ] {
                    labels.remove(label);
                }
            }
        }
        let at = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned()
        };
        (
            format!(
                "{} {}/{}",
                at("/kind"),
                at("/metadata/namespace"),
                at("/metadata/name")
            ),
            object,
        )
    });
    named.collect()
}

#[track_caller]
fn equal(chart: Vec<Value>, folder: Vec<Value>) {
    let (mut chart, mut folder) = (by_name(chart), by_name(folder));
    // Helm makes the namespace by itself.
    for installation in [&mut chart, &mut folder] {
        installation.remove("Namespace /tidegate");
    }
    assert_eq!(
        chart.keys().collect::<Vec<_>>(),
        folder.keys().collect::<Vec<_>>()
    );
    for (name, object) in &chart {
        assert_eq!(object, &folder[name], "{name}");
    }
}

/// An installation as `tidegate install` prints it.
pub(crate) fn printed(flags: &str) -> Vec<Value> {
    let image = format!("--image={IMAGE}:{}", env!("CARGO_PKG_VERSION"));
    let image = Some(image.as_str()).filter(|_| !flags.contains("--image"));
    let words = ["tidegate", "install", "--print"]
        .into_iter()
        .chain(image)
        .chain(flags.split_whitespace());
    let cli = Cli::try_parse_from(words).expect("it parses");
    let args = match cli.command {
        Subcommand::Install(args) => Some(args),
        _ => None,
    };
    let choice = args.expect("it installs").choice().expect("a choice");
    operate::kit::objects(&choice).expect("an installation")
}

/// What an overlay and its webhooks install, what a chart's values do, and what the program prints for flags that mean the same.
const SAME: [(&str, &str, &str, &str); 4] = [
    (
        "cert-manager",
        "webhooks",
        "certificates.mode=cert-manager",
        "--certificates cert-manager",
    ),
    (
        "gate-only",
        "webhooks",
        "controllers.enabled=false,certificates.mode=cert-manager",
        "--certificates cert-manager --workloads gate",
    ),
    ("self-managed", "webhooks/base", "", ""),
    (
        "one-workload",
        "webhooks/base",
        "certificates.mode=self-managed,oneWorkload.enabled=true",
        "--workloads one",
    ),
];

#[test]
fn the_folder_the_chart_and_the_program_install_the_same() {
    if KUBECTL.is_missing() || HELM.is_missing() {
        return;
    }
    for (overlay, webhooks, values, flags) in SAME {
        let mut folder = kustomized(&format!("overlays/{overlay}"));
        folder.extend(kustomized(webhooks));
        equal(printed(flags), folder.clone());
        let set = ["--set", values];
        equal(rendered(if values.is_empty() { &[] } else { &set }), folder);
    }
}

#[test]
fn elsewhere_and_with_everything_the_chart_and_the_program_install_the_same() {
    if HELM.is_missing() {
        return;
    }
    for (values, flags) in [
        ("certificates.mode=self-managed", ""),
        (
            "certificates.mode=self-managed,oneWorkload.enabled=true",
            "--workloads one",
        ),
        ("certificates.mode=cert-manager", "--certificates cert-manager"),
    ] {
        let values = format!(
            "{values},networkPolicy.enabled=true,monitoring.enabled=true,highAvailability.enabled=true,ui.enabled=true,openshift.enabled=true,image.repository=example.com/t,image.tag=v1"
        );
        let flags = format!(
            "{flags} --namespace elsewhere --image example.com/t:v1 --with network-policy,monitoring,high-availability,openshift,web-page"
        );
        let program = by_name(printed(&flags));
        assert!(
            !program.contains_key("Namespace /elsewhere"),
            "an existing namespace is not created"
        );
        let chart = by_name(rendered_in("elsewhere", &["--set", &values]));
        assert_eq!(
            chart.keys().collect::<Vec<_>>(),
            program.keys().collect::<Vec<_>>()
        );
        for (name, object) in &chart {
            assert_eq!(object, &program[name], "{name}");
        }
    }
}

/// Components that no overlay has are applied by kustomize as the program applies them.
#[test]
fn components_are_the_same_by_kustomize() {
    if KUBECTL.is_missing() {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let deploy = repository("manifests/deploy");
    // kustomize takes relative paths only.
    let copied = Command::new("cp")
        .arg("-r")
        .arg(&deploy)
        .arg(folder.path())
        .status();
    assert!(copied.expect("cp is there").success());
    let two = "--webhooks without";
    let one = "--webhooks without --workloads one";
    for (components, flags) in [
        ("high-availability", format!("{two} --with high-availability")),
        ("monitoring", format!("{two} --with monitoring")),
        ("openshift", format!("{two} --with openshift")),
        ("existing-namespace", format!("{two} --create-namespace=false")),
        ("network-policy", format!("{two} --with network-policy")),
        ("web-page", format!("{two} --with web-page")),
        (
            "one-workload, deploy/components/web-page-one-workload",
            format!("{one} --with web-page"),
        ),
    ] {
        let text = format!(
            "resources: [deploy/gate, deploy/controllers]\ncomponents: [deploy/components/self-managed, deploy/components/{components}]\n"
        );
        std::fs::write(folder.path().join("kustomization.yaml"), text).expect("writable");
        let folder = objects(&run(Command::new("kubectl").arg("kustomize").arg(folder.path())));
        equal(printed(&flags), folder);
    }
}

/// What holds while no gate answers, by the program, the chart and kustomize.
#[test]
fn the_backstop_and_webhooks_that_fail_closed_are_the_same_in_every_way() {
    let endpoint = admission::Endpoint::Service {
        namespace: "tidegate".into(),
        name: "tidegate".into(),
        port: 443,
    };
    let [_, closed] = admission::configurations_that_fail_closed(&endpoint, None);
    let guard = "ValidatingWebhookConfiguration /tidegate-guard";
    let policies = |objects: &BTreeMap<String, Value>| {
        let names = objects
            .keys()
            .filter(|name| name.starts_with("ValidatingAdmissionPolic"));
        names.cloned().collect::<Vec<String>>()
    };
    let folder = tempfile::tempdir().expect("a folder");
    let settings = folder.path().join("enforcement.yaml");
    std::fs::write(&settings, "[{rule: rollout/min-success-time, action: Warn}]").expect("writable");
    let all = by_name(printed("--webhooks only --while-unavailable refuse"));
    assert_eq!(all[guard], closed);
    assert_eq!(policies(&all).len(), 2 * admission::backstop().len());
    let softened = by_name(printed(&format!(
        "--webhooks only --enforcement {}",
        settings.display()
    )));
    let kept = policies(&all)
        .into_iter()
        .filter(|name| !name.ends_with("min-success-time"));
    assert_eq!(policies(&softened), kept.collect::<Vec<_>>());
    let none = by_name(printed("--webhooks only --backstop without"));
    assert!(policies(&none).is_empty());
    if !HELM.is_missing() {
        let values = "certificates.mode=self-managed,webhooks.whileUnavailable=refuse,backstop.without={rollout/min-success-time}";
        let chart = by_name(rendered(&["--set", values]));
        assert_eq!(chart[guard], closed);
        assert_eq!(policies(&chart), policies(&softened));
        let old = by_name(rendered(&[
            "--set",
            "certificates.mode=self-managed",
            "--kube-version",
            "1.29.4",
        ]));
        assert!(policies(&old).is_empty());
    }
    if KUBECTL.is_missing() {
        return;
    }
    let copied = Command::new("cp")
        .arg("-r")
        .arg(repository("manifests/deploy"))
        .arg(folder.path())
        .status();
    assert!(copied.expect("cp is there").success());
    let text = "resources: [deploy/webhooks/base]\ncomponents: [deploy/components/fail-closed, deploy/components/without-backstop]\n";
    std::fs::write(folder.path().join("kustomization.yaml"), text).expect("writable");
    let built = objects(&run(Command::new("kubectl").arg("kustomize").arg(folder.path())));
    equal(
        printed("--webhooks only --while-unavailable refuse --backstop without"),
        built,
    );
}

/// What Prometheus and Grafana get is what `manifests/monitoring` has, byte for byte, and nothing of it is taken for Helm's.
#[test]
fn rules_and_dashboards_arrive_as_they_are_written() {
    if HELM.is_missing() {
        return;
    }
    let folder = "manifests/monitoring";
    let chart = by_name(rendered(&["--set", "monitoring.enabled=true"]));
    for board in ["gate", "health", "rollouts"] {
        let object = &chart[&format!("ConfigMap tidegate/tidegate-dashboard-{board}")];
        assert_eq!(object["metadata"]["labels"]["grafana_dashboard"], "1");
        let text = object["data"][format!("tidegate-{board}.json")].as_str();
        let written = read(&format!("{folder}/dashboard-{board}.json"));
        assert_eq!(text, Some(written.as_str()), "{board}");
    }
    let rules: Value = serde_saphyr::from_str(&read(&format!("{folder}/rules.yaml"))).expect("YAML");
    let object = &chart["PrometheusRule tidegate/tidegate"];
    assert_eq!(object["spec"]["groups"], rules["groups"]);
    assert!(
        chart.contains_key("ServiceMonitor tidegate/tidegate"),
        "{:?}",
        chart.keys()
    );
}

#[test]
fn the_program_carries_every_file_of_the_folder() {
    let root = repository("manifests/deploy");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else {
                let path = path.strip_prefix(&root).expect("below it");
                found.push(path.to_string_lossy().into_owned());
            }
        }
    }
    found.retain(|path| !path.starts_with("overlays/"));
    found.sort();
    let carried: Vec<&str> = operate::kit::FILES.iter().map(|(path, _)| *path).collect();
    assert_eq!(carried, found);
}

#[test]
fn a_namespace_is_created_if_it_is_tidegates_or_on_request() {
    let made = |flags: &str| printed(flags).iter().any(|object| object["kind"] == "Namespace");
    assert!(made("") && made("--namespace elsewhere --create-namespace"));
    assert!(!made("--namespace elsewhere") && !made("--create-namespace=false"));
    let words = [
        "tidegate",
        "install",
        "--print",
        "--image=a:1",
        "--create-namespace",
        "--namespace",
    ];
    for (namespace, is_refused) in [("kube-system", true), ("default", true), ("elsewhere", false)] {
        let cli = Cli::try_parse_from(words.into_iter().chain([namespace])).expect("it parses");
        let refused = match cli.command {
            Subcommand::Install(args) => args.choice().is_err(),
            _ => false,
        };
        assert_eq!(refused, is_refused, "{namespace}");
    }
    for image in [
        "",
        "bad..image::",
        "a b",
        "registry.example.com/",
        ":tag",
        "tidegate",
        "registry.example.com:5000/tidegate",
        "registry.example.com/tidegate:latest",
    ] {
        let words = ["tidegate", "install", "--print", "--image", image];
        assert!(Cli::try_parse_from(words).is_err(), "{image}");
    }
}

#[test]
fn the_chart_says_what_it_cannot_do() {
    if HELM.is_missing() {
        return;
    }
    let lint = Command::new("helm")
        .args(["lint", "--strict"])
        .arg(repository("charts/tidegate"))
        .output()
        .expect("Helm runs");
    assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    for wrong in [
        "gate.replicas=0",
        "certificates.mode=none",
        "image.digest=sha256:1",
        "image.repository=",
        "image.tag=latest",
        "commonLabels.app\\.kubernetes\\.io/name=other",
        "fullnameOverride=Upper",
        "gate.extraArgs={serve}",
        "unknown=value",
        "oneWorkload.enabled=true,controllers.enabled=false",
        "certificates.life=soon",
        "ui.enabled=true,controllers.enabled=false",
        "podDisruptionBudget.enabled=perhaps",
    ] {
        let ran = Command::new("helm")
            .arg("template")
            .arg(repository("charts/tidegate"))
            .args(["--set", &format!("image.repository={IMAGE},{wrong}")])
            .output();
        assert!(!ran.expect("Helm runs").status.success(), "{wrong}");
    }
}

/// A budget that lets no pod go would hold up every drain of a node.
#[test]
fn a_single_replica_has_no_budget() {
    if HELM.is_missing() {
        return;
    }
    let budgets = |values: &str| {
        let objects = rendered(&["--set", values]).into_iter();
        objects
            .filter(|object| object["kind"] == "PodDisruptionBudget")
            .count()
    };
    assert_eq!(budgets("gate.replicas=2"), 2);
    assert_eq!(budgets("gate.replicas=1"), 1);
    assert_eq!(budgets("gate.replicas=1,controllers.replicas=1"), 0);
    assert_eq!(budgets("gate.replicas=1,highAvailability.enabled=true"), 2);
}

#[test]
fn a_secret_of_ones_own_and_an_image_by_its_digest() {
    if HELM.is_missing() {
        return;
    }
    let digest = format!("sha256:{}", "a".repeat(64));
    let objects = rendered(&[
        "--set",
        &format!(
            "certificates.mode=secret,certificates.secretName=mine,certificates.caBundle=PEM,image.repository=example.com/t,image.digest={digest}"
        ),
    ]);
    let objects = by_name(objects);
    assert!(
        !objects
            .keys()
            .any(|name| name.starts_with("Certificate ") || name.starts_with("Issuer "))
    );
    let gate = &objects["Deployment tidegate/tidegate-gate"]["spec"]["template"]["spec"];
    assert_eq!(gate["volumes"][0]["secret"]["secretName"], "mine");
    assert_eq!(
        gate["containers"][0]["image"],
        json!(format!("example.com/t@{digest}"))
    );
    let guard = &objects["ValidatingWebhookConfiguration /tidegate-guard"];
    assert_eq!(guard["metadata"].get("annotations"), None);
    assert_eq!(guard["webhooks"][0]["clientConfig"]["caBundle"], "UEVN");
}

/// What `restricted` asks of a pod, and what a read-only root needs.
#[test]
fn every_pod_may_run_where_pods_are_restricted() {
    if KUBECTL.is_missing() {
        return;
    }
    let mut pods = 0;
    let overlays = ["cert-manager", "self-managed", "one-workload"];
    let all = overlays.map(|overlay| kustomized(&format!("overlays/{overlay}")));
    for object in all.into_iter().flatten() {
        let Some(pod) = object
            .pointer("/spec/template/spec")
            .filter(|_| object["kind"] == "Deployment")
        else {
            continue;
        };
        pods += 1;
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
        // Nothing of the node is in it.
        for shared in ["hostNetwork", "hostPID", "hostIPC"] {
            assert_eq!(pod.get(shared), None);
        }
        let volumes = pod["volumes"].as_array().cloned().unwrap_or_default();
        assert!(
            volumes.iter().all(|volume| volume.get("hostPath").is_none()),
            "{volumes:?}"
        );
        for container in pod["containers"].as_array().expect("containers") {
            let context = &container["securityContext"];
            assert_eq!(context["allowPrivilegeEscalation"], false);
            assert_eq!(context["readOnlyRootFilesystem"], true);
            assert_eq!(context["capabilities"]["drop"], json!(["ALL"]));
            assert!(container["resources"]["requests"]["memory"].is_string());
            let words = container["args"]
                .as_array()
                .expect("arguments")
                .iter()
                .filter_map(Value::as_str);
            let parsed = Cli::try_parse_from(["tidegate"].into_iter().chain(words));
            assert!(
                parsed.is_ok(),
                "{:?}",
                parsed.err().map(|error| error.to_string())
            );
        }
    }
    assert_eq!(pods, 6);
}

/// The API server asks the gate and the kubelet probes it from addresses of nodes; metrics are for labelled namespaces; nothing
/// else comes in.
#[test]
fn the_network_policy_lets_in_what_asks_and_probes() {
    let objects = by_name(printed("--with network-policy"));
    let policy = &objects["NetworkPolicy tidegate/tidegate"]["spec"];
    assert_eq!(policy["policyTypes"], json!(["Ingress", "Egress"]));
    let ports = |rule: &Value| {
        let ports = rule["ports"].as_array().cloned().unwrap_or_default();
        let names = ports.iter().map(|port| port["port"].to_string());
        names.collect::<Vec<_>>().join(" ")
    };
    let ingress = policy["ingress"].as_array().expect("rules");
    let told: Vec<(String, Value)> = ingress
        .iter()
        .map(|rule| (ports(rule), rule["from"].clone()))
        .collect();
    let labelled = json!([{"namespaceSelector": {"matchLabels": {"tidegate.io/monitoring": "true"}}}]);
    assert_eq!(
        told,
        [
            ("\"webhook\" \"health\"".to_owned(), Value::Null),
            ("\"metrics\"".to_owned(), labelled)
        ]
    );
    // It holds for every pod of the kit, and lets in each port that a pod has: a port by another name would be closed.
    let chosen = &policy["podSelector"]["matchLabels"];
    let mut named = BTreeSet::new();
    for (_, object) in objects.iter().filter(|(name, _)| name.starts_with("Deployment ")) {
        let pod = &object["spec"]["template"];
        let labels = &pod["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/name"], chosen["app.kubernetes.io/name"]);
        let container = &pod["spec"]["containers"][0];
        let ports = container["ports"].as_array().expect("ports");
        named.extend(ports.iter().map(|port| port["name"].to_string()));
        for probe in ["livenessProbe", "readinessProbe"] {
            assert_eq!(container[probe]["httpGet"]["port"], "health", "{object:#}");
        }
    }
    let let_in: BTreeSet<String> = ["health", "metrics", "webhook"]
        .map(|port| json!(port).to_string())
        .into();
    assert_eq!(named, let_in);
    // Names are resolved, and the API server is reached.
    let egress: Vec<String> = policy["egress"]
        .as_array()
        .expect("rules")
        .iter()
        .map(ports)
        .collect();
    assert_eq!(egress, ["53 53", "443 6443"]);
    let service = &objects["Service tidegate/tidegate"]["spec"]["ports"][0];
    assert_eq!(service["targetPort"], "webhook");
}
