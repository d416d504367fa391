//! The derived files of the installation manifests: their content, and its source.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;

use super::bundle;
use crate::kit::manifests::repository;

const NAMESPACE: &str = "{{ .Release.Namespace }}";

pub(super) fn read(path: &str) -> String {
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
    // Helm would evaluate braces: templates of Prometheus and Grafana are escaped.
    let placed = text
        .replace("{{", "{{ \"{{\" }}")
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
    let placed = annotated_accounts(&placed);
    format!("{{{{- if {condition} }}}}\n{placed}{{{{- end }}}}\n")
}

/// Lets the values annotate every service account. A mapping in braces accepts JSON.
fn annotated_accounts(text: &str) -> String {
    let annotations = "{{ with (.Values.serviceAccount).annotations }}, annotations: {{ toJson . }}{{ end }}";
    let mut lines = Vec::new();
    let mut of_account = false;
    for line in text.split('\n') {
        let closed = line.strip_suffix('}').filter(|_| of_account);
        lines.push(closed.map_or_else(|| line.to_owned(), |line| format!("{line}{annotations}}}")));
        of_account = line == "kind: ServiceAccount";
    }
    lines.join("\n")
}

/// The page of the chart: every value with its default and its comment.
fn chart_readme() -> String {
    let text = read("charts/tidegate/values.yaml");
    let values: Value = serde_saphyr::from_str(&text).expect("YAML");
    let mut path: Vec<(usize, &str)> = Vec::new();
    let mut comment: Vec<&str> = Vec::new();
    let mut rows = String::new();
    for line in text.lines() {
        let depth = line.len() - line.trim_start().len();
        let line = line.trim();
        if let Some(words) = line.strip_prefix("# ") {
            comment.push(words);
        } else if line.is_empty() {
            comment.clear();
        } else if let Some((key, _)) = line.split_once(':') {
            path.retain(|(at, _)| *at < depth);
            path.push((depth, key));
            if comment.is_empty() {
                continue;
            }
            let names: Vec<&str> = path.iter().map(|(_, name)| *name).collect();
            let default = values.pointer(&format!("/{}", names.join("/"))).expect("a value");
            let description = linked(&comment.join(" ")).replace('|', "\\|");
            let _ = writeln!(rows, "| `{}` | `{default}` | {description} |", names.join("."));
            comment.clear();
        }
    }
    format!(
        "<!-- Generated from values.yaml; change that instead. -->\n# Helm chart of Tidegate\n\n\
         Tidegate validates and manages the add-ons of an Open Cluster Management hub.\n\
         [Install](../../docs/operate/install.md#with-helm) describes the installation, and\n\
         [upgrade](../../docs/operate/upgrade.md#with-helm) the upgrade.\n\n\
         Helm rejects values that `values.schema.json` does not define.\n\n\
         | value | default | description |\n|---|---|---|\n{rows}"
    )
}

/// Links the pages that a comment names.
fn linked(text: &str) -> String {
    let page = regex::Regex::new(r"docs/[a-z/]+\.md").expect("a pattern");
    page.replace_all(text, "[$0](../../$0)").into_owned()
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

/// The webhook configurations as the chart has them: cert-manager's annotation, or the bundle that the values give.
fn chart_webhooks() -> String {
    let one = |name: &str| joined(&[format!("manifests/webhook/{name}.yaml")]);
    let text = format!(
        "{}---\n{{OPEN}}{}{{CLOSED}}{}{{END}}",
        one("mutating"),
        one("validating"),
        one("validating-fail-closed")
    );
    let annotated = text.replace("metadata:\n  labels:\n", "metadata:\n  {INJECTED}\n  labels:\n");
    let bundled = annotated.replace("  clientConfig:\n", "  clientConfig:\n    {BUNDLE}\n");
    template(&bundled, ".Values.webhooks.enabled")
        .replace("{OPEN}", "{{- if eq (default \"admit\" .Values.webhooks.whileUnavailable) \"admit\" }}\n")
        .replace("{CLOSED}", "{{- else }}\n")
        .replace("{END}", "{{- end }}\n")
        .replace("{INJECTED}", "{{- if eq .Values.certificates.mode \"cert-manager\" }}\n  annotations:\n    cert-manager.io/inject-ca-from: {{ .Release.Namespace }}/tidegate\n  {{- end }}")
        .replace("{BUNDLE}", "{{- with .Values.certificates.caBundle }}\n    caBundle: {{ b64enc . }}\n    {{- end }}")
}

/// The backstop as the chart has it: where the hub serves the kind, and without the rules that the values name. The values of an older
/// release, which `helm upgrade --reuse-values` keeps, do not name it.
fn chart_backstop() -> String {
    let mut text = "# Generated from crates/admission/src/backstop.rs; change that instead.\n".to_owned();
    for one in admission::backstop() {
        let is_kept = format!(
            "{{{{- if not (has \"{}\" (default (list) $backstop.without)) }}}}\n",
            one.rule
        );
        text.push_str(&is_kept);
        for object in [one.policy, one.binding] {
            let body = serde_saphyr::to_string(&object).expect("plain data");
            assert!(!body.contains("{{"), "Helm would read it");
            text.push_str("---\n");
            text.push_str(&body);
        }
        text.push_str("{{- end }}\n");
    }
    let served = "semverCompare \">=1.30-0\" .Capabilities.KubeVersion.Version";
    format!(
        "{{{{- $backstop := default (dict \"enabled\" true) .Values.backstop }}}}\n{{{{- if and .Values.webhooks.enabled $backstop.enabled ({served}) }}}}\n{text}{{{{- end }}}}\n"
    )
}

/// The dashboards as objects that Grafana's sidecar finds by their label.
fn dashboards() -> String {
    let board = |name: &&str| {
        let path = format!("manifests/monitoring/dashboard-{name}.json");
        let text = read(&path);
        let lines: Vec<String> = text.lines().map(|line| format!("    {line}\n")).collect();
        let text = lines.concat();
        format!(
            "# From {path}; change that instead.\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: tidegate-dashboard-{name}\n  namespace: tidegate\n  \
             labels: {{app.kubernetes.io/name: tidegate, grafana_dashboard: \"1\"}}\ndata:\n  tidegate-{name}.json: |\n{text}"
        )
    };
    let boards: Vec<String> = ["gate", "health", "rollouts"].iter().map(board).collect();
    boards.join("---\n")
}

/// What is watched, as `manifests/monitoring` has it.
fn of_monitoring() -> [(String, String); 4] {
    let rules = joined(&["manifests/monitoring/prometheusrule.yaml".to_owned()]);
    let label = "    app.kubernetes.io/name: tidegate\nspec:\n";
    let labels = "{{- with .Values.monitoring.labels }}\n    {{- toYaml . | nindent 4 }}\n    {{- end }}";
    let labelled = label.replace("\nspec", &format!("\n    {labels}\nspec"));
    let deploy = |name: &str| format!("manifests/deploy/components/monitoring/{name}.yaml");
    let chart = |name: &str| format!("charts/tidegate/templates/monitoring-{name}.yaml");
    let condition = ".Values.monitoring.enabled";
    [
        (
            chart("rules"),
            template(&rules, condition).replace(label, &labelled),
        ),
        (chart("dashboards"), template(&dashboards(), condition)),
        (deploy("rules"), rules),
        (deploy("dashboards"), dashboards()),
    ]
}

/// The rights over the certificate: one workload has one account.
fn chart_certificates(text: &str) -> String {
    let subject = "kind: ServiceAccount, name: tidegate-certificates";
    let chosen = "kind: ServiceAccount, name: tidegate-{{ if .Values.oneWorkload.enabled }}controllers{{ else }}certificates{{ end }}";
    template(text, "eq .Values.certificates.mode \"self-managed\"").replace(subject, chosen)
}

/// The rights of what an installation may choose.
fn of_choices() -> [(String, String); 7] {
    let certificates = joined(&["manifests/rbac/certificates.yaml".to_owned()]);
    let one_process = joined(&["manifests/rbac/one-process.yaml".to_owned()]);
    let web_page = joined(&["manifests/rbac/web-page.yaml".to_owned()]);
    let deploy = |name: &str| format!("manifests/deploy/components/{name}/rights.yaml");
    let chart = |name: &str| format!("charts/tidegate/templates/rights-{name}.yaml");
    [
        (deploy("self-managed"), certificates.clone()),
        (deploy("one-workload"), one_process.clone()),
        (deploy("web-page"), web_page.clone()),
        (deploy("web-page-one-workload"), web_page.clone()),
        (chart("certificates"), chart_certificates(&certificates)),
        (
            chart("one-workload"),
            template(&one_process, ".Values.oneWorkload.enabled"),
        ),
        (chart("web-page"), template(&web_page, ".Values.ui.enabled")),
    ]
}

/// Every file that comes from another.
pub(super) fn derived() -> BTreeMap<String, String> {
    let one = |path: &str| joined(&[path.to_owned()]);
    let (gate, controllers, registration) = (
        one("manifests/rbac/gate.yaml"),
        one("manifests/rbac/controllers.yaml"),
        one("manifests/rbac/registration.yaml"),
    );
    let certificate = one("certs/cert-manager.yaml");
    let users = one("manifests/rbac/users.yaml");
    let deploy = |name: &str| format!("manifests/deploy/{name}");
    let chart = |name: &str| format!("charts/tidegate/{name}");
    let mut files = BTreeMap::from([
        (deploy("gate/definitions.yaml"), joined(&definitions())),
        (deploy("gate/rights.yaml"), gate.clone()),
        (deploy("gate/users.yaml"), users.clone()),
        // Values of an older release, which `helm upgrade --reuse-values` keeps, have no `userRoles`.
        (
            chart("templates/rights-users.yaml"),
            template(&users, "ne (toString (.Values.userRoles).enabled) \"false\""),
        ),
        (chart("README.md"), chart_readme()),
        (deploy("controllers/rights.yaml"), controllers.clone()),
        (deploy("controllers/registration.yaml"), registration.clone()),
        (
            deploy("components/cert-manager/certificate.yaml"),
            certificate.clone(),
        ),
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
        (chart("templates/webhooks.yaml"), chart_webhooks()),
        (chart("templates/backstop.yaml"), chart_backstop()),
        (
            deploy("webhooks/base/backstop.yaml"),
            joined(&["manifests/webhook/backstop.yaml".into()]),
        ),
    ]);
    files.extend(of_choices());
    files.extend(bundle::files());
    files.extend(of_monitoring());
    for path in definitions() {
        let name = path.rsplit('/').next().expect("a name").to_owned();
        files.insert(chart(&format!("crds/{name}")), joined(&[path]));
    }
    files
}
