//! The two forms of a report: PolicyReport of the policy working group, and its successor, OpenReports.
//!
//! Decides names, labels and fields. Says nothing about time: `stamp` adds when each result was found.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::report::{Entry, Sheet};
use store::Kind;

/// Name of every report; a namespace has one.
pub const NAME: &str = "tidegate-audit";
/// Label that tells who keeps a report.
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// Its value.
pub const MANAGER: &str = "tidegate";
/// Annotation with a hash of everything that a report says, times aside.
pub const CONTENT: &str = "tidegate.io/audit-content";
/// Annotation with the number of findings that a report counts and does not list.
const LEFT_OUT: &str = "tidegate.io/audit-left-out";
/// Policy that built-in rules belong to.
const BUILT_IN: &str = "tidegate";

/// A kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReportKind {
    /// `PolicyReport` of a namespace.
    Policy,
    /// `ClusterPolicyReport`.
    ClusterPolicy,
    /// `Report` of OpenReports, of a namespace.
    Open,
    /// `ClusterReport` of OpenReports.
    ClusterOpen,
}

impl ReportKind {
    /// Every form.
    pub const ALL: [Self; 4] = [Self::Policy, Self::ClusterPolicy, Self::Open, Self::ClusterOpen];

    /// Returns API group and version.
    pub const fn api(self) -> (&'static str, &'static str) {
        match self {
            Self::Policy | Self::ClusterPolicy => ("wgpolicyk8s.io", "v1alpha2"),
            Self::Open | Self::ClusterOpen => ("openreports.io", "v1alpha1"),
        }
    }

    /// Returns the kind.
    pub const fn kind(self) -> &'static str {
        match self {
            Self::Policy => "PolicyReport",
            Self::ClusterPolicy => "ClusterPolicyReport",
            Self::Open => "Report",
            Self::ClusterOpen => "ClusterReport",
        }
    }

    /// Returns the plural name of the resource.
    pub const fn resource(self) -> &'static str {
        match self {
            Self::Policy => "policyreports",
            Self::ClusterPolicy => "clusterpolicyreports",
            Self::Open => "reports",
            Self::ClusterOpen => "clusterreports",
        }
    }

    /// Tells whether reports of this form are about one namespace.
    pub const fn is_namespaced(self) -> bool {
        match self {
            Self::Policy | Self::Open => true,
            Self::ClusterPolicy | Self::ClusterOpen => false,
        }
    }
}

/// Returns the report of a namespace ("" for what lives in none), without times.
pub fn report(form: ReportKind, namespace: &str, sheet: &Sheet) -> Value {
    let (group, version) = form.api();
    let mut results: Vec<Value> = sheet.entries.iter().map(|entry| result(form, entry)).collect();
    results.extend((sheet.left_out > 0).then(|| more(form, sheet.left_out)));
    let summary: Map<String, Value> = ["fail", "warn", "error", "skip"]
        .into_iter()
        .map(|word| (word.to_owned(), sheet.counts.with_result(word).into()))
        .chain([("pass".to_owned(), sheet.clean.into())])
        .collect();
    let mut body = json!({
        "apiVersion": format!("{group}/{version}"),
        "kind": form.kind(),
        "summary": summary,
        "results": results,
    });
    if form.is_namespaced() {
        let scope = json!({"apiVersion": "v1", "kind": "Namespace", "name": namespace});
        put(&mut body, "scope", scope);
    }
    if matches!(form, ReportKind::Open | ReportKind::ClusterOpen) {
        put(&mut body, "source", json!(BUILT_IN));
    }
    let mut annotations = json!({(CONTENT): hash(&body)});
    if sheet.left_out > 0 {
        put(&mut annotations, LEFT_OUT, json!(sheet.left_out.to_string()));
    }
    let labels = json!({(MANAGED_BY): MANAGER});
    let mut metadata = json!({"name": NAME, "labels": labels, "annotations": annotations});
    if form.is_namespaced() {
        put(&mut metadata, "namespace", json!(namespace));
    }
    put(&mut body, "metadata", metadata);
    body
}

fn put(at: &mut Value, name: &str, value: Value) {
    if let Some(fields) = at.as_object_mut() {
        fields.insert(name.to_owned(), value);
    }
}

/// Returns the hash of what a report says, as the report itself tells it.
pub fn content_of(report: &Value) -> Option<&str> {
    let annotations = report.get("metadata")?.get("annotations")?;
    annotations.get(CONTENT)?.as_str()
}

fn result(form: ReportKind, entry: &Entry) -> Value {
    let finding = &entry.finding;
    let (policy, rule, category) = named(&finding.rule);
    let mut said = json!({
        "policy": policy,
        "rule": rule,
        "category": category,
        "severity": finding.standing.severity(),
        "result": finding.standing.result(),
        "scored": matches!(finding.standing.result(), "fail"),
        "message": &*finding.message,
        "resources": [resource(entry)],
        "properties": {"path": &*finding.path, "action": finding.standing.action()},
    });
    say_source(form, &mut said);
    said
}

fn more(form: ReportKind, left_out: usize) -> Value {
    let mut said = json!({
        "policy": BUILT_IN,
        "rule": "audit/left-out",
        "category": "audit",
        "severity": "info",
        "result": "skip",
        "scored": false,
        "message": format!("and {left_out} more findings, which the summary counts and this report does not list"),
    });
    say_source(form, &mut said);
    said
}

/// OpenReports names the source once, for the whole report.
fn say_source(form: ReportKind, result: &mut Value) {
    match form {
        ReportKind::Policy | ReportKind::ClusterPolicy => put(result, "source", json!(BUILT_IN)),
        ReportKind::Open | ReportKind::ClusterOpen => {}
    }
}

/// Returns policy, rule and category of a rule id.
fn named(rule: &str) -> (&str, &str, &str) {
    let own = rule.strip_prefix("policy/").and_then(|rest| rest.split_once('/'));
    match own {
        Some((policy, part)) => (policy, part, "policy"),
        None => (BUILT_IN, rule, rule.split('/').next().unwrap_or_default()),
    }
}

fn resource(entry: &Entry) -> Value {
    let key = &entry.key;
    let kind: Kind = key.kind;
    let mut found = json!({
        "apiVersion": kind.api_version(),
        "kind": kind.address().kind,
        "name": &*key.name,
        "uid": &*entry.uid,
    });
    if !key.namespace.is_empty() {
        put(&mut found, "namespace", json!(&*key.namespace));
    }
    found
}

fn hash(body: &Value) -> String {
    let digest = Sha256::digest(body.to_string());
    let hex: Vec<String> = digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect();
    hex.concat()
}
