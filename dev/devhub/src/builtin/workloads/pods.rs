//! Pods, and the templates from which pods are made.
//!
//! Decides what is filled in and what the description of a pod must say; containers and volumes have their own files.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::{choice, not_negative};
use super::{containers, quantity, volumes};
use crate::builtin::faults::{forbidden, invalid, invalid_value, list, text};
use crate::builtin::members::{at, carry, fill, items};
use crate::builtin::metadata::{validate_annotations_at, validate_labels};
use crate::builtin::names::{NameRule, label_faults};

/// Fills in the description of a pod, alone or in a template.
pub(super) fn fill_spec(spec: &mut Map<String, Value>) {
    fill(spec, "dnsPolicy", json!("ClusterFirst"));
    fill(spec, "restartPolicy", json!("Always"));
    fill(spec, "securityContext", json!({}));
    fill(spec, "terminationGracePeriodSeconds", json!(30));
    fill(spec, "schedulerName", json!("default-scheduler"));
    let account = ["serviceAccountName", "serviceAccount"]
        .iter()
        .find_map(|member| spec.get(*member).filter(|name| name.is_string()).cloned());
    if let Some(account) = account {
        spec.insert("serviceAccountName".to_owned(), account.clone());
        spec.insert("serviceAccount".to_owned(), account);
    }
    let on_host = spec.get("hostNetwork") == Some(&json!(true));
    for member in ["initContainers", "containers", "ephemeralContainers"] {
        for container in items(spec, member) {
            containers::fill_in(container, on_host);
        }
    }
    for volume in items(spec, "volumes") {
        volumes::fill_in(volume);
    }
    for constraint in items(spec, "topologySpreadConstraints") {
        fill(constraint, "whenUnsatisfiable", json!("DoNotSchedule"));
    }
}

/// Fills in a pod of its own, which gets more than a template.
pub(super) fn fill_pod(pod: &mut Value) {
    let Some(spec) = at(pod, "/spec") else { return };
    fill(spec, "enableServiceLinks", json!(true));
    for member in ["initContainers", "containers"] {
        for container in items(spec, member) {
            containers::request_limits(container);
        }
    }
    fill_spec(spec);
}

/// Fills in what admission gives every new pod: a priority and how long it stands a node that is not well.
pub(super) fn admit(pod: &mut Value) {
    let Some(spec) = at(pod, "/spec") else { return };
    if spec.get("priorityClassName").is_none() {
        fill(spec, "priority", json!(0));
        fill(spec, "preemptionPolicy", json!("PreemptLowerPriority"));
    }
    let tolerations = spec.entry("tolerations").or_insert_with(|| json!([]));
    let Value::Array(tolerations) = tolerations else {
        return;
    };
    for key in ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"] {
        let tolerated = tolerations.iter().any(|toleration| {
            let of = text(toleration, "/key");
            let effect = text(toleration, "/effect");
            (of == key || of.is_empty()) && (effect.is_empty() || effect == "NoExecute")
        });
        if !tolerated {
            tolerations.push(
                json!({"effect": "NoExecute", "key": key, "operator": "Exists", "tolerationSeconds": 300}),
            );
        }
    }
}

/// Returns the quality of service that a pod gets.
pub(super) fn quality(pod: &Value) -> &'static str {
    let containers = ["/spec/initContainers", "/spec/containers"];
    let mut all = containers
        .iter()
        .flat_map(|pointer| list(pod, pointer))
        .peekable();
    let counts = |container: &Value, part: &str, name: &str| {
        container
            .pointer(&format!("/resources/{part}/{name}"))
            .map_or(0, quantity::size)
    };
    let (mut nothing, mut guaranteed) = (true, all.peek().is_some());
    for container in all {
        for name in ["cpu", "memory"] {
            let (request, limit) = (
                counts(container, "requests", name),
                counts(container, "limits", name),
            );
            nothing &= request == 0 && limit == 0;
            guaranteed &= limit > 0 && request == limit;
        }
    }
    match (nothing, guaranteed) {
        (true, _) => "BestEffort",
        (false, true) => "Guaranteed",
        (false, false) => "Burstable",
    }
}

/// Returns the faults of a template that stands at `field`.
pub(super) fn validate_template(template: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = validate_labels(&format!("{field}.labels"), template.pointer("/metadata/labels"));
    errors.extend(validate_annotations_at(
        &format!("{field}.annotations"),
        template.pointer("/metadata/annotations"),
    ));
    errors.extend(validate_spec(
        template.get("spec").unwrap_or(&Value::Null),
        &format!("{field}.spec"),
    ));
    errors
}

/// Returns the faults of the description of a pod that stands at `field`.
pub(super) fn validate_spec(spec: &Value, field: &str) -> Vec<FieldError> {
    let (mut errors, volumes) = volumes::validate(list(spec, "/volumes"), &format!("{field}.volumes"));
    errors.extend(containers::validate(spec, field, &volumes));
    errors.extend(choice(
        spec,
        field,
        "restartPolicy",
        &["Always", "OnFailure", "Never"],
    ));
    errors.extend(choice(
        spec,
        field,
        "dnsPolicy",
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    ));
    errors.extend(validate_labels(
        &format!("{field}.nodeSelector"),
        spec.get("nodeSelector"),
    ));
    for (member, rule) in [
        ("serviceAccountName", NameRule::Subdomain),
        ("nodeName", NameRule::Subdomain),
    ] {
        let name = text(spec, &format!("/{member}"));
        let faults = if name.is_empty() {
            Vec::new()
        } else {
            rule.faults(name)
        };
        let field = format!("{field}.{member}");
        errors.extend(faults.iter().map(|fault| invalid(&field, name, fault)));
    }
    for member in ["hostname", "subdomain"] {
        let name = text(spec, &format!("/{member}"));
        let faults = if name.is_empty() {
            Vec::new()
        } else {
            label_faults(name)
        };
        let field = format!("{field}.{member}");
        errors.extend(faults.iter().map(|fault| invalid(&field, name, fault)));
    }
    errors.extend(validate_numbers(spec, field));
    errors.extend(validate_tolerations(
        list(spec, "/tolerations"),
        &format!("{field}.tolerations"),
    ));
    errors
}

fn validate_numbers(spec: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let number = |member: &str| spec.get(member).and_then(Value::as_i64);
    if let Some(seconds) = number("activeDeadlineSeconds").filter(|seconds| *seconds < 1) {
        errors.push(invalid_value(
            &format!("{field}.activeDeadlineSeconds"),
            &json!(seconds),
            "must be between 1 and 2147483647, inclusive",
        ));
    }
    errors.extend(not_negative(spec, field, "terminationGracePeriodSeconds"));
    errors
}

fn validate_tolerations(tolerations: &[Value], field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, toleration) in tolerations.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let (key, operator) = (text(toleration, "/key"), text(toleration, "/operator"));
        if key.is_empty() && operator != "Exists" {
            errors.push(invalid(
                &format!("{at}.operator"),
                operator,
                "operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
            ));
        }
        if operator == "Exists" && !text(toleration, "/value").is_empty() {
            errors.push(invalid_value(
                &format!("{at}.operator"),
                toleration,
                "value must be empty when `operator` is 'Exists'",
            ));
        }
        errors.extend(choice(
            toleration,
            &at,
            "operator",
            &["Equal", "Exists", "Lt", "Gt"],
        ));
        errors.extend(choice(
            toleration,
            &at,
            "effect",
            &["NoSchedule", "PreferNoSchedule", "NoExecute"],
        ));
    }
    errors
}

/// Returns the faults of a change of a pod: next to nothing of one can be changed.
pub(super) fn validate_change(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut allowed = new.get("spec").cloned().unwrap_or_default();
    let before = old.get("spec").cloned().unwrap_or_default();
    for member in ["containers", "initContainers"] {
        let images: Vec<Value> = list(&before, &format!("/{member}"))
            .iter()
            .map(|container| container.get("image").cloned().unwrap_or_default())
            .collect();
        let now = allowed.get_mut(member).and_then(Value::as_array_mut);
        if let Some(now) = now.filter(|now| now.len() == images.len()) {
            for (container, image) in now.iter_mut().zip(images) {
                if let (Value::Object(container), false) = (container, image.is_null()) {
                    container.insert("image".to_owned(), image);
                }
            }
        }
    }
    let grown = list(&before, "/tolerations")
        .iter()
        .all(|toleration| list(&allowed, "/tolerations").contains(toleration));
    let mut kept = vec!["activeDeadlineSeconds", "schedulingGates"];
    kept.extend(grown.then_some("tolerations"));
    for member in kept {
        carry(&mut allowed, &before, member);
    }
    if allowed == before {
        return Vec::new();
    }
    vec![forbidden(
        "spec",
        "pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,\
         `spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),\
         `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_pod_is_filled_in_as_the_server_fills_it_in() {
        let mut pod = json!({"spec": {"serviceAccountName": "robot", "containers": [
            {"name": "c", "image": "i", "resources": {"limits": {"cpu": "1"}}, "ports": [{"containerPort": 80}]}]}});
        fill_pod(&mut pod);
        admit(&mut pod);
        assert_eq!(
            pod["spec"]["containers"][0],
            json!({"name": "c", "image": "i", "imagePullPolicy": "Always", "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File", "resources": {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}},
                "ports": [{"containerPort": 80, "protocol": "TCP"}]})
        );
        assert_eq!(
            (
                &pod["spec"]["serviceAccount"],
                &pod["spec"]["priority"],
                &pod["spec"]["enableServiceLinks"]
            ),
            (&json!("robot"), &json!(0), &json!(true))
        );
        assert_eq!(list(&pod, "/spec/tolerations").len(), 2);
        assert_eq!(quality(&pod), "Burstable");
    }

    #[test]
    fn the_quality_of_service_follows_from_requests_and_limits() {
        let same = json!({"cpu": "1", "memory": "1Gi"});
        for (resources, quality_of_service) in [
            (json!({}), "BestEffort"),
            (json!({"requests": {"cpu": "1"}}), "Burstable"),
            (json!({"requests": same, "limits": same}), "Guaranteed"),
            (
                json!({"requests": {"cpu": "1000m", "memory": "1Gi"}, "limits": same}),
                "Guaranteed",
            ),
        ] {
            let pod = json!({"spec": {"containers": [{"resources": resources}]}});
            assert_eq!(quality(&pod), quality_of_service, "{pod}");
        }
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        let container = json!({"name": "c", "image": "i"});
        for (spec, expected) in [
            (json!({}), vec!["spec.containers: Required value"]),
            (
                json!({"containers": [container, container]}),
                vec!["spec.containers[1].name: Duplicate value: \"c\""],
            ),
            (
                json!({"containers": [container], "restartPolicy": "Sometimes"}),
                vec![
                    "spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"Never\", \"OnFailure\"",
                ],
            ),
            (
                json!({"containers": [container], "tolerations": [{"effect": "NoSchedule"}]}),
                vec![
                    "spec.tolerations[0].operator: Invalid value: \"\": operator must be Exists when `key` is empty, which means \"match all values and all keys\"",
                ],
            ),
        ] {
            assert_eq!(texts(&validate_spec(&spec, "spec")), expected, "{spec}");
        }
    }

    #[test]
    fn only_images_and_a_few_others_of_a_pod_change() {
        let old = json!({"spec": {"containers": [{"name": "c", "image": "i:1"}], "nodeName": "n"}});
        let mut new = old.clone();
        new["spec"]["containers"][0]["image"] = json!("i:2");
        new["spec"]["tolerations"] = json!([{"operator": "Exists"}]);
        assert_eq!(validate_change(&new, &old), []);
        new["spec"]["nodeName"] = json!("other");
        assert_eq!(validate_change(&new, &old).len(), 1);
    }
}
