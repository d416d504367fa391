//! Kinds that keep pods: Deployment, ReplicaSet, StatefulSet, DaemonSet and ReplicationController.
//!
//! Decides what is filled in, what is refused and what cannot be changed; nothing here makes a pod.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::{choice, not_negative};
use super::pods;
use crate::builtin::faults::{forbidden, invalid_value, required, text, unsupported};
use crate::builtin::members::{at, fill, items};
use crate::builtin::validate::validate_selector;
use kubernetes::labels::Selector;

/// Counts the templates that a daemon set has had.
const TEMPLATES: &str = "deprecated.daemonset.template.generation";

/// Fills in an object of one of these kinds.
pub(super) fn fill_in(kind: &str, object: &mut Value) {
    if kind == "ReplicationController" {
        select_own_labels(object);
    }
    let Some(spec) = at(object, "/spec") else { return };
    if kind != "DaemonSet" {
        fill(spec, "replicas", json!(1));
    }
    match kind {
        "Deployment" => {
            fill(spec, "revisionHistoryLimit", json!(10));
            fill(spec, "progressDeadlineSeconds", json!(600));
            roll(
                spec,
                "strategy",
                &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
            );
        }
        "DaemonSet" => {
            fill(spec, "revisionHistoryLimit", json!(10));
            roll(
                spec,
                "updateStrategy",
                &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))],
            );
        }
        "StatefulSet" => fill_stateful_set(spec),
        _ => {}
    }
    if let Some(pod) = spec
        .get_mut("template")
        .and_then(|template| at(template, "/spec"))
    {
        pods::fill_spec(pod);
    }
}

fn fill_stateful_set(spec: &mut Map<String, Value>) {
    fill(spec, "revisionHistoryLimit", json!(10));
    fill(spec, "podManagementPolicy", json!("OrderedReady"));
    fill(spec, "persistentVolumeClaimRetentionPolicy", json!({}));
    if let Some(Value::Object(policy)) = spec.get_mut("persistentVolumeClaimRetentionPolicy") {
        fill(policy, "whenDeleted", json!("Retain"));
        fill(policy, "whenScaled", json!("Retain"));
    }
    roll(spec, "updateStrategy", &[("partition", json!(0))]);
    for claim in items(spec, "volumeClaimTemplates") {
        fill(claim, "apiVersion", json!("v1"));
        fill(claim, "kind", json!("PersistentVolumeClaim"));
        if let Some(Value::Object(spec)) = claim.get_mut("spec") {
            fill(spec, "volumeMode", json!("Filesystem"));
        }
        if let Some(Value::Object(status)) = claim.get_mut("status") {
            fill(status, "phase", json!("Pending"));
        }
    }
}

/// Fills in how pods are replaced.
fn roll(spec: &mut Map<String, Value>, member: &str, numbers: &[(&str, Value)]) {
    let Value::Object(strategy) = spec.entry(member).or_insert_with(|| json!({})) else {
        return;
    };
    fill(strategy, "type", json!("RollingUpdate"));
    if strategy.get("type") != Some(&json!("RollingUpdate")) {
        return;
    }
    fill(strategy, "rollingUpdate", json!({}));
    if let Some(Value::Object(rolling)) = strategy.get_mut("rollingUpdate") {
        for (name, number) in numbers {
            fill(rolling, name, number.clone());
        }
    }
}

/// The oldest of these kinds selects by the labels of its template, and has them itself.
fn select_own_labels(object: &mut Value) {
    let labels = object.pointer("/spec/template/metadata/labels").cloned();
    let Some(labels) = labels.filter(|labels| labels.as_object().is_some_and(|map| !map.is_empty())) else {
        return;
    };
    if let Some(spec) = at(object, "/spec") {
        fill(spec, "selector", labels.clone());
    }
    if let Some(metadata) = at(object, "/metadata") {
        fill(metadata, "labels", labels);
    }
}

/// Notes the first template of a daemon set, or the next one.
pub(super) fn count_template(object: &mut Value, old: Option<&Value>) {
    let noted = |object: &Value| -> i64 {
        let annotations = object.pointer("/metadata/annotations");
        let text = annotations
            .and_then(|all| all.get(TEMPLATES))
            .and_then(Value::as_str);
        text.and_then(|text| text.parse().ok()).unwrap_or_default()
    };
    let template = |object: &Value| object.pointer("/spec/template").cloned();
    let count = match old {
        None => noted(object).max(1),
        Some(old) => noted(old) + i64::from(template(old) != template(object)),
    };
    if let Some(metadata) = at(object, "/metadata")
        && let Value::Object(annotations) = metadata.entry("annotations").or_insert_with(|| json!({}))
    {
        annotations.insert(TEMPLATES.to_owned(), json!(count.to_string()));
    }
}

/// Returns the faults of an object of one of these kinds.
pub(super) fn validate(kind: &str, object: &Value) -> Vec<FieldError> {
    let empty = Value::Null;
    let spec = object.get("spec").unwrap_or(&empty);
    let mut errors = Vec::new();
    if kind == "StatefulSet" {
        errors.extend(choice(
            spec,
            "spec",
            "podManagementPolicy",
            &["OrderedReady", "Parallel"],
        ));
    }
    errors.extend(not_negative(spec, "spec", "replicas"));
    errors.extend(validate_selection(kind, spec));
    errors.extend(pods::validate_template(
        spec.get("template").unwrap_or(&empty),
        "spec.template",
    ));
    let policy = text(spec, "/template/spec/restartPolicy");
    if matches!(policy, "OnFailure" | "Never") {
        errors.push(unsupported(
            "spec.template.spec.restartPolicy",
            policy,
            &["Always"],
        ));
    }
    if spec.pointer("/template/spec/activeDeadlineSeconds").is_some() {
        let owner = if matches!(kind, "Deployment" | "ReplicationController") {
            "ReplicaSet"
        } else {
            kind
        };
        errors.push(forbidden(
            "spec.template.spec.activeDeadlineSeconds",
            &format!("activeDeadlineSeconds in {owner} is not Supported"),
        ));
    }
    errors.extend(validate_strategy(kind, spec));
    errors.extend(not_negative(spec, "spec", "minReadySeconds"));
    errors.extend(not_negative(spec, "spec", "revisionHistoryLimit"));
    let number = |member: &str| spec.get(member).and_then(Value::as_i64);
    if let Some(deadline) = number("progressDeadlineSeconds")
        && deadline <= number("minReadySeconds").unwrap_or_default()
    {
        errors.push(invalid_value(
            "spec.progressDeadlineSeconds",
            &json!(deadline),
            "must be greater than minReadySeconds",
        ));
    }
    errors
}

fn validate_selection(kind: &str, spec: &Value) -> Vec<FieldError> {
    let selector = spec.get("selector").filter(|selector| selector.is_object());
    let template = spec.get("template").unwrap_or(&Value::Null);
    let labels = template
        .pointer("/metadata/labels")
        .cloned()
        .unwrap_or_else(|| json!({}));
    let mismatch = invalid_value(
        "spec.template.metadata.labels",
        &labels,
        "`selector` does not match template `labels`",
    );
    let Some(selector) = selector else {
        return vec![required("spec.selector", ""), mismatch];
    };
    let is_plain = kind == "ReplicationController";
    let whole = if is_plain {
        json!({ "matchLabels": selector })
    } else {
        selector.clone()
    };
    let mut errors = if is_plain {
        Vec::new()
    } else {
        validate_selector("spec.selector", selector)
    };
    match Selector::from_json(Some(&whole)) {
        Ok(found) if found.is_everything() => {
            let owner = match kind {
                "StatefulSet" => "statefulset",
                "DaemonSet" => "daemonset",
                _ => "deployment",
            };
            errors.push(invalid_value(
                "spec.selector",
                selector,
                &format!("empty selector is invalid for {owner}"),
            ));
        }
        Ok(found) if !found.matches_object(template) => errors.push(mismatch),
        Ok(_) | Err(_) => {}
    }
    errors
}

fn validate_strategy(kind: &str, spec: &Value) -> Vec<FieldError> {
    let (member, legal): (_, &[&str]) = match kind {
        "Deployment" => ("strategy", &["Recreate", "RollingUpdate"]),
        "StatefulSet" | "DaemonSet" => ("updateStrategy", &["OnDelete", "RollingUpdate"]),
        _ => return Vec::new(),
    };
    let field = format!("spec.{member}");
    let Some(strategy) = spec.get(member) else {
        return Vec::new();
    };
    let mut errors: Vec<FieldError> = choice(strategy, &field, "type", legal).into_iter().collect();
    let rolling = strategy
        .get("rollingUpdate")
        .filter(|rolling| rolling.is_object());
    let Some(rolling) = rolling else { return errors };
    match text(strategy, "/type") {
        "Recreate" => errors.push(forbidden(
            &format!("{field}.rollingUpdate"),
            "may not be specified when strategy `type` is 'Recreate'",
        )),
        "RollingUpdate" if kind == "Deployment" => {
            let none = |member: &str| {
                let value = rolling.get(member).cloned().unwrap_or_default();
                value == json!(0) || value == json!("0%")
            };
            if none("maxUnavailable") && none("maxSurge") {
                errors.push(invalid_value(
                    &format!("{field}.rollingUpdate.maxUnavailable"),
                    &rolling.get("maxUnavailable").cloned().unwrap_or_default(),
                    "may not be 0 when `maxSurge` is 0",
                ));
            }
        }
        _ => {}
    }
    errors
}

/// Returns the faults of a change.
pub(super) fn validate_change(kind: &str, new: &Value, old: &Value) -> Vec<FieldError> {
    match kind {
        "StatefulSet" => stateful_set_change(new, old),
        "ReplicationController" => Vec::new(),
        _ => immutable(new, old, "/spec/selector").into_iter().collect(),
    }
}

/// Refuses another value at `pointer`.
pub(super) fn immutable(new: &Value, old: &Value, pointer: &str) -> Option<FieldError> {
    let value = |object: &Value| object.pointer(pointer).cloned().unwrap_or_default();
    let (before, after) = (value(old), value(new));
    let field = pointer.trim_start_matches('/').replace('/', ".");
    (before != after).then(|| invalid_value(&field, &after, "field is immutable"))
}

fn stateful_set_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let fixed = |object: &Value| {
        let mut spec = object.get("spec").cloned().unwrap_or_default();
        if let Value::Object(spec) = &mut spec {
            for member in [
                "replicas",
                "ordinals",
                "template",
                "updateStrategy",
                "revisionHistoryLimit",
                "persistentVolumeClaimRetentionPolicy",
                "minReadySeconds",
            ] {
                spec.remove(member);
            }
        }
        spec
    };
    if fixed(new) == fixed(old) {
        return Vec::new();
    }
    vec![forbidden(
        "spec",
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', 'updateStrategy', \
         'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are forbidden",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    fn deployment(change: &Value) -> Value {
        let mut object = json!({"spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
        crate::patch::merge::apply(&mut object, change);
        fill_in("Deployment", &mut object);
        object
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        for (change, expected) in [
            (json!({}), vec![]),
            (
                json!({"spec": {"selector": null}}),
                vec![
                    "spec.selector: Required value",
                    "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
                ],
            ),
            (
                json!({"spec": {"selector": {"matchLabels": {"a": "c"}}}}),
                vec![
                    "spec.template.metadata.labels: Invalid value: {\"a\":\"b\"}: `selector` does not match template `labels`",
                ],
            ),
            (
                json!({"spec": {"replicas": -1, "template": {"spec": {"restartPolicy": "Never"}}}}),
                vec![
                    "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
                    "spec.template.spec.restartPolicy: Unsupported value: \"Never\": supported values: \"Always\"",
                ],
            ),
            (
                json!({"spec": {"strategy": {"type": "Recreate", "rollingUpdate": {}}}}),
                vec![
                    "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'",
                ],
            ),
        ] {
            assert_eq!(
                texts(&validate("Deployment", &deployment(&change))),
                expected,
                "{change}"
            );
        }
    }

    #[test]
    fn selectors_never_change() {
        let other = deployment(&json!({"spec": {"selector": {"matchLabels": {"a": "c"}}}}));
        assert_eq!(
            texts(&validate_change("Deployment", &other, &deployment(&json!({})))),
            ["spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"c\"}}: field is immutable"]
        );
        assert_eq!(
            validate_change("StatefulSet", &other, &deployment(&json!({}))).len(),
            1
        );
    }

    #[test]
    fn daemon_sets_count_their_templates() {
        let mut first = json!({"metadata": {}, "spec": {"template": {"a": 1}}});
        count_template(&mut first, None);
        let mut second = json!({"metadata": {}, "spec": {"template": {"a": 2}}});
        count_template(&mut second, Some(&first));
        assert_eq!(second["metadata"]["annotations"][TEMPLATES], "2");
    }
}
