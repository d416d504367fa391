//! Ingresses, network policies, endpoints, and what guards and scales sets of pods.
//!
//! Decides what is filled in and what is refused; no traffic is let through and nothing is counted.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::{choice, not_negative};
use crate::builtin::faults::{invalid, invalid_value, list, required, text};
use crate::builtin::members::{at, fill, items};
use crate::builtin::validate::validate_selector;

/// Fills in the policy types and protocols of a network policy.
pub(super) fn fill_policy(policy: &mut Value) {
    let Some(spec) = at(policy, "/spec") else { return };
    let leaves = spec
        .get("egress")
        .and_then(Value::as_array)
        .is_some_and(|rules| !rules.is_empty());
    let kinds = if leaves {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    fill(spec, "policyTypes", kinds);
    for direction in ["ingress", "egress"] {
        for rule in items(spec, direction) {
            items(rule, "ports").for_each(fill_protocol);
        }
    }
}

fn fill_protocol(port: &mut Map<String, Value>) {
    fill(port, "protocol", json!("TCP"));
}

/// Fills in the ports of endpoints.
pub(super) fn fill_endpoints(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    for subset in items(object, "subsets") {
        items(subset, "ports").for_each(fill_protocol);
    }
}

/// Fills in the ports of a slice of endpoints.
pub(super) fn fill_slice(object: &mut Value) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    for port in items(object, "ports") {
        fill(port, "name", json!(""));
        fill_protocol(port);
    }
}

/// Fills in what an autoscaler goes by.
pub(super) fn fill_autoscaler(object: &mut Value) {
    let Some(spec) = at(object, "/spec") else { return };
    fill(spec, "minReplicas", json!(1));
    let target = json!({"type": "Utilization", "averageUtilization": 80});
    fill(
        spec,
        "metrics",
        json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]),
    );
}

/// Returns the faults of an ingress.
pub(super) fn validate_ingress(object: &Value) -> Vec<FieldError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let rules = list(spec, "/rules");
    let mut errors = Vec::new();
    let default = spec.get("defaultBackend").filter(|backend| backend.is_object());
    if rules.is_empty() && default.is_none() {
        errors.push(invalid_value(
            "spec",
            spec,
            "either `defaultBackend` or `rules` must be specified",
        ));
    }
    if let Some(backend) = default {
        errors.extend(validate_backend(backend, "spec.defaultBackend"));
    }
    for (index, rule) in rules.iter().enumerate() {
        let Some(http) = rule.get("http").filter(|http| http.is_object()) else {
            continue;
        };
        let at = format!("spec.rules[{index}].http.paths");
        let paths = list(http, "/paths");
        if paths.is_empty() {
            errors.push(required(&at, ""));
        }
        for (index, path) in paths.iter().enumerate() {
            errors.extend(validate_path(path, &format!("{at}[{index}]")));
        }
    }
    errors
}

fn validate_path(path: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let (kind, given) = (text(path, "/pathType"), text(path, "/path"));
    if kind.is_empty() {
        errors.push(required(&format!("{at}.pathType"), "pathType must be specified"));
    }
    let kinds = ["Exact", "ImplementationSpecific", "Prefix"];
    errors.extend(choice(path, at, "pathType", &kinds));
    if matches!(kind, "Exact" | "Prefix") && !given.starts_with('/') {
        errors.push(invalid(&format!("{at}.path"), given, "must be an absolute path"));
    }
    let backend = path.get("backend").unwrap_or(&Value::Null);
    errors.extend(validate_backend(backend, &format!("{at}.backend")));
    errors
}

fn validate_backend(backend: &Value, at: &str) -> Vec<FieldError> {
    let service = backend.get("service").filter(|service| service.is_object());
    let resource = backend.get("resource").is_some_and(Value::is_object);
    let Some(service) = service else {
        return if resource {
            Vec::new()
        } else {
            vec![required(at, "cannot set both resource and service backends")]
        };
    };
    let mut errors = Vec::new();
    if text(service, "/name").is_empty() {
        errors.push(required(&format!("{at}.service.name"), ""));
    }
    let port = |member: &str| service.pointer(&format!("/port/{member}")).is_some();
    if !port("name") && !port("number") {
        errors.push(required(
            &format!("{at}.service.port"),
            "port name or number is required",
        ));
    }
    errors
}

/// Returns the faults of a network policy.
pub(super) fn validate_policy(object: &Value) -> Vec<FieldError> {
    let selector = object.pointer("/spec/podSelector").unwrap_or(&Value::Null);
    let mut errors = validate_selector("spec.podSelector", selector);
    for (index, kind) in list(object, "/spec/policyTypes").iter().enumerate() {
        let kind = kind.as_str().unwrap_or_default();
        if !matches!(kind, "Ingress" | "Egress") {
            errors.push(crate::builtin::faults::unsupported(
                &format!("spec.policyTypes[{index}]"),
                kind,
                &["Egress", "Ingress"],
            ));
        }
    }
    errors
}

/// Returns the faults of a disruption budget.
pub(super) fn validate_budget(object: &Value) -> Vec<FieldError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let given = |member: &str| spec.get(member).is_some();
    if given("minAvailable") && given("maxUnavailable") {
        errors.push(invalid_value(
            "spec",
            spec,
            "minAvailable and maxUnavailable cannot be both set",
        ));
    }
    for member in ["minAvailable", "maxUnavailable"] {
        errors.extend(share_fault(spec, member));
    }
    let selector = spec.get("selector").unwrap_or(&Value::Null);
    errors.extend(validate_selector("spec.selector", selector));
    errors
}

/// A share is a count or a percentage.
fn share_fault(spec: &Value, member: &str) -> Option<FieldError> {
    let field = format!("spec.{member}");
    match spec.get(member)? {
        Value::Number(_) => not_negative(spec, "spec", member),
        Value::String(text) => {
            let digits = text.strip_suffix('%').unwrap_or_default();
            let legal = !digits.is_empty() && digits.chars().all(|letter| letter.is_ascii_digit());
            (!legal).then(|| {
                let fault = "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";
                invalid(&field, text, fault)
            })
        }
        _ => None,
    }
}

/// Returns the faults of an autoscaler.
pub(super) fn validate_autoscaler(object: &Value) -> Vec<FieldError> {
    let spec = object.get("spec").unwrap_or(&Value::Null);
    let mut errors = Vec::new();
    let number = |member: &str| spec.get(member).and_then(Value::as_i64).unwrap_or_default();
    let (least, most) = (number("minReplicas"), number("maxReplicas"));
    if least < 1 {
        errors.push(invalid_value(
            "spec.minReplicas",
            &json!(least),
            "must be greater than or equal to 1",
        ));
    }
    if most < 1 {
        errors.push(invalid_value(
            "spec.maxReplicas",
            &json!(most),
            "must be greater than 0",
        ));
    }
    if most < least {
        errors.push(invalid_value(
            "spec.maxReplicas",
            &json!(most),
            "must be greater than or equal to `minReplicas`",
        ));
    }
    for member in ["kind", "name"] {
        if text(spec, &format!("/scaleTargetRef/{member}")).is_empty() {
            errors.push(required(&format!("spec.scaleTargetRef.{member}"), ""));
        }
    }
    errors
}

/// Returns the faults of a slice of endpoints.
pub(super) fn validate_slice(object: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    match text(object, "/addressType") {
        "" => errors.push(required("addressType", "")),
        _ => errors.extend(
            choice(object, "", "addressType", &["FQDN", "IPv4", "IPv6"]).map(|mut fault| {
                "addressType".clone_into(&mut fault.field);
                fault
            }),
        ),
    }
    for (index, endpoint) in list(object, "/endpoints").iter().enumerate() {
        if list(endpoint, "/addresses").is_empty() {
            errors.push(required(
                &format!("endpoints[{index}].addresses"),
                "must contain at least 1 address",
            ));
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(errors: &[FieldError]) -> Vec<String> {
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn policies_guard_what_they_have_rules_for() {
        for (spec, kinds) in [
            (json!({}), json!(["Ingress"])),
            (json!({"egress": [{}]}), json!(["Ingress", "Egress"])),
            (json!({"policyTypes": ["Egress"]}), json!(["Egress"])),
        ] {
            let mut policy = json!({ "spec": spec });
            fill_policy(&mut policy);
            assert_eq!(policy["spec"]["policyTypes"], kinds);
        }
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        let path = json!({"path": "a", "pathType": "Prefix", "backend": {"service": {"name": "s", "port": {"number": 80}}}});
        assert_eq!(
            texts(&validate_ingress(
                &json!({"spec": {"rules": [{"http": {"paths": [path]}}]}})
            )),
            ["spec.rules[0].http.paths[0].path: Invalid value: \"a\": must be an absolute path"]
        );
        assert_eq!(
            texts(&validate_budget(
                &json!({"spec": {"minAvailable": 1, "maxUnavailable": "much"}})
            )),
            [
                "spec: Invalid value: {\"maxUnavailable\":\"much\",\"minAvailable\":1}: minAvailable and maxUnavailable cannot be both set",
                "spec.maxUnavailable: Invalid value: \"much\": a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')",
            ]
        );
        assert_eq!(
            texts(&validate_autoscaler(
                &json!({"spec": {"minReplicas": 3, "maxReplicas": 2, "scaleTargetRef": {"kind": "Deployment", "name": "d"}}})
            )),
            ["spec.maxReplicas: Invalid value: 2: must be greater than or equal to `minReplicas`"]
        );
    }
}
