//! Whether a workload selects the pods that it makes.
//!
//! Decides by the labels of its own template, as the API server does. A label with a variable is known only on a cluster, and is not judged.

use crate::field::{Class, Fault, Path, Violation};
use crate::labels::Operator;
use serde_json::Value;

use super::aspect::{Aspect, Effort};

/// The operator of labels that must not be there.
const ABSENT: Operator = Operator::DoesNotExist;

/// The kinds that have a selector and a template.
const KINDS: [&str; 4] = ["DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"];

/// Adds what is wrong with the selector of a workload.
pub(super) fn check(manifest: &Value, at: &Path, effort: Effort<'_>, found: &mut Vec<Violation>) {
    let text = |name: &str| manifest.get(name).and_then(Value::as_str);
    if text("apiVersion") != Some("apps/v1") || !text("kind").is_some_and(|kind| KINDS.contains(&kind)) {
        return;
    }
    let Some(selector) = manifest
        .pointer("/spec/selector")
        .filter(|selector| selector.is_object())
    else {
        return;
    };
    let labels = Labels(manifest.pointer("/spec/template/metadata/labels"));
    let place = at.key("spec").key("selector");
    let mut tell = |fault: Fault, at: Path| found.push(fault.at(at, Aspect::Selector.rule()));
    let exact = selector.get("matchLabels").and_then(Value::as_object);
    let terms = selector.get("matchExpressions").and_then(Value::as_array);
    if exact.is_none_or(serde_json::Map::is_empty) && terms.is_none_or(Vec::is_empty) {
        let fault = Fault::bare(Class::Invalid, "an empty selector is rejected")
            .hint("name the labels of spec.template");
        tell(fault, place);
        return;
    }
    for (key, wanted) in exact.into_iter().flatten() {
        let Some(wanted) = wanted.as_str() else { continue };
        if !effort(1) {
            return;
        }
        let detail = match labels.of(key) {
            Label::Open => continue,
            Label::Is(value) if value == wanted || wanted.contains("{{") => continue,
            Label::Is(value) => format!("spec.template has the label \"{key}: {value}\""),
            Label::Absent => format!("spec.template has no label \"{key}\""),
        };
        let fault = Fault::of_text(
            Class::Invalid,
            wanted,
            format!("the workload would not select its own pods: {detail}"),
        );
        tell(fault, place.key("matchLabels").entry(key));
    }
    for (index, term) in terms.into_iter().flatten().enumerate() {
        if !effort(1) {
            return;
        }
        if let Some(detail) = unmet(term, &labels) {
            let fault = Fault::bare(
                Class::Invalid,
                format!("the workload would not select its own pods: {detail}"),
            );
            tell(fault, place.key("matchExpressions").index(index));
        }
    }
}

struct Labels<'a>(Option<&'a Value>);

enum Label<'a> {
    Is(&'a str),
    Absent,
    /// Known only on a cluster, or of the wrong type.
    Open,
}

impl<'a> Labels<'a> {
    fn of(&self, key: &str) -> Label<'a> {
        match self.0.and_then(|labels| labels.get(key)) {
            None | Some(Value::Null) => Label::Absent,
            Some(Value::String(value)) if !value.contains("{{") => Label::Is(value),
            Some(_) => Label::Open,
        }
    }
}

/// Says why an expression does not hold; nothing when it does, or when it cannot be told.
fn unmet(term: &Value, labels: &Labels<'_>) -> Option<String> {
    let key = term.get("key")?.as_str()?;
    let values = term.get("values").and_then(Value::as_array);
    let has = |value: &str| {
        values
            .into_iter()
            .flatten()
            .any(|one| one.as_str() == Some(value))
    };
    let is_open = values
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .any(|one| one.contains("{{"));
    let operator = Operator::of_object(term.get("operator")?.as_str()?)?;
    let (is_in, is_out) = (operator == Operator::In, operator == Operator::NotIn);
    let (exists, is_deleted) = (operator == Operator::Exists, operator == ABSENT);
    match labels.of(key) {
        Label::Is(value) if is_in && !has(value) && !is_open => Some(format!(
            "the label \"{key}: {value}\" of spec.template is none of the values"
        )),
        Label::Is(value) if is_out && has(value) => Some(format!(
            "the label \"{key}: {value}\" of spec.template is one of the values"
        )),
        Label::Absent if is_in || exists => Some(format!("spec.template has no label \"{key}\"")),
        Label::Is(_) | Label::Open if is_deleted => Some(format!("spec.template has a label \"{key}\"")),
        Label::Is(_) | Label::Absent | Label::Open => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn told(selector: &Value, labels: &Value) -> Vec<String> {
        let manifest = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "spec": {"selector": selector,
            "template": {"metadata": {"labels": labels}}}});
        let mut found = Vec::new();
        check(&manifest, &Path::root(), &|_| true, &mut found);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_workload_selects_its_own_pods() {
        let labels = json!({"app": "x", "tier": "{{TIER}}"});
        for fine in [
            json!({"matchLabels": {"app": "x"}}),
            json!({"matchLabels": {"tier": "back"}}),
            json!({"matchLabels": {"app": "{{APP}}"}}),
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["x", "y"]},
                {"key": "app", "operator": "Exists"}, {"key": "other", "operator": "DoesNotExist"},
                {"key": "other", "operator": "NotIn", "values": ["x"]}]}),
        ] {
            assert_eq!(told(&fine, &labels), Vec::<String>::new(), "{fine}");
        }
        let other = told(&json!({"matchLabels": {"app": "y", "b.c/d": "z"}}), &labels);
        assert_eq!(
            other,
            [
                "spec.selector.matchLabels[app]: Invalid value: \"y\": the workload would not select its own pods: spec.template has the label \"app: x\" [manifest/selector]",
                "spec.selector.matchLabels[b.c/d]: Invalid value: \"z\": the workload would not select its own pods: spec.template has no label \"b.c/d\" [manifest/selector]"
            ]
        );
        for wrong in [
            json!({}),
            json!({"matchLabels": {}}),
            json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["y"]}]}),
            json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["x"]}]}),
            json!({"matchExpressions": [{"key": "tier", "operator": "DoesNotExist"}]}),
            json!({"matchExpressions": [{"key": "other", "operator": "Exists"}]}),
        ] {
            assert_eq!(told(&wrong, &labels).len(), 1, "{wrong}");
        }
    }
}
