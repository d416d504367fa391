//! The two forms of a report: PolicyReport of the policy working group, and its successor, OpenReports.
//!
//! Decides names, labels and fields; that a result which a report has already keeps its time, whichever replica leads now; and whether
//! a stored report still says what was written: what others add to its metadata is theirs.

use super::report::{Entry, NamespaceReport};
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};
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
pub fn report(form: ReportKind, namespace: &str, sheet: &NamespaceReport) -> Value {
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

pub(super) const TIME: &str = "timestamp";

/// Adds the times to a report; `before` is what stands on the hub.
pub fn stamp(report: &mut Value, before: Option<&Value>, now: Timestamp) {
    let old = before.and_then(|before| before.get("results")?.as_array());
    let mut old: Vec<(Value, Value)> = old.into_iter().flatten().filter_map(taken_apart).collect();
    let results = report.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        let known = old.iter().position(|(_, said)| said == result);
        let time = match known {
            Some(position) => old.swap_remove(position).0,
            // Kubernetes keeps whole seconds here.
            None => json!({"seconds": now.as_second(), "nanos": 0}),
        };
        if let Some(fields) = result.as_object_mut() {
            fields.insert(TIME.to_owned(), time);
        }
    }
}

/// Returns the time of a result, and the result without it.
fn taken_apart(result: &Value) -> Option<(Value, Value)> {
    let mut said = result.clone();
    let time = said.as_object_mut()?.remove(TIME)?;
    Some((time, said))
}

/// Tells whether the report that stands there says what is wanted, whatever its own annotations claim.
pub fn is_intact(standing: &Value, wanted: &Value) -> bool {
    says(standing) == says(wanted)
        && ["labels", "annotations"].into_iter().all(|part| {
            let of = |report: &Value| {
                let metadata = report.get("metadata")?.get(part)?;
                metadata.as_object().cloned()
            };
            let (standing, wanted) = (of(standing).unwrap_or_default(), of(wanted).unwrap_or_default());
            wanted.iter().all(|(key, value)| standing.get(key) == Some(value))
        })
}

fn says(report: &Value) -> Map<String, Value> {
    let mut said = report.as_object().cloned().unwrap_or_default();
    said.remove("metadata");
    let results = said.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        if let Some(fields) = result.as_object_mut() {
            fields.remove(TIME);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_before_keeps_its_time() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut first = json!({"results": [{"rule": "a"}, {"rule": "b"}]});
        stamp(&mut first, None, at(10));
        let mut second = json!({"results": [{"rule": "b"}, {"rule": "c"}]});
        stamp(&mut second, Some(&first), at(20));
        let seconds: Vec<&Value> = second["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|result| &result["timestamp"]["seconds"])
            .collect();
        assert_eq!(seconds, [&json!(10), &json!(20)]);
    }

    #[test]
    fn a_report_that_a_user_has_damaged_is_no_obstacle() {
        let mut report = json!({"results": [{"rule": "a"}]});
        stamp(
            &mut report,
            Some(&json!({"results": "none"})),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(report["results"][0]["timestamp"]["seconds"], 0);
    }

    #[test]
    fn only_what_was_written_must_still_stand_there() {
        let wanted = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"hash": "x"}},
            "summary": {"fail": 1}, "results": [{"rule": "r", "result": "fail"}]});
        let with = |pointer: &str, value: Value| {
            let mut standing = wanted.clone();
            standing["metadata"]["resourceVersion"] = json!("7");
            standing["metadata"]["labels"]["theirs"] = json!("too");
            standing["results"][0]["timestamp"] = json!({"seconds": 1, "nanos": 0});
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            standing.pointer_mut(parent).expect("a parent")[name] = value;
            is_intact(&standing, &wanted)
        };
        assert!(
            with("/metadata/generation", json!(3)),
            "the relevant part has not changed"
        );
        for (pointer, value) in [
            ("/results/0/result", json!("pass")),
            ("/results", json!([])),
            ("/results/0/extra", json!("x")),
            ("/summary/fail", json!(0)),
            ("/metadata/labels/a", json!("c")),
            ("/metadata/annotations", json!({})),
        ] {
            assert!(!with(pointer, value), "{pointer}");
        }
    }
}
