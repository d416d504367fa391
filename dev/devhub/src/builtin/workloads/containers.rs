//! Containers of pods.
//!
//! Decides what is filled in and what is refused; volumes have their own file.

use schema::FieldError;
use serde_json::{Map, Value, json};

use super::checks::{choice, duplicates, label_name, not_negative};
use super::quantity::size;
use crate::builtin::faults::{duplicate, invalid, invalid_value, list, not_found, required, text};
use crate::builtin::members::{fill, items};
use kubernetes::json_pointer;
use kubernetes::names::{Named, qualified_name_faults};

const PORT_RANGE: &str = "must be between 1 and 65535, inclusive";
const HANDLERS: [&str; 4] = ["exec", "httpGet", "tcpSocket", "grpc"];
const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];

/// Fills in a container; in a pod on the host's network its ports are the host's.
pub(super) fn fill_in(container: &mut Map<String, Value>, on_host: bool) {
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let policy = if is_latest(image) {
        "Always"
    } else {
        "IfNotPresent"
    };
    fill(container, "imagePullPolicy", json!(policy));
    fill(container, "terminationMessagePath", json!("/dev/termination-log"));
    fill(container, "terminationMessagePolicy", json!("File"));
    for port in items(container, "ports") {
        fill(port, "protocol", json!("TCP"));
        if let Some(number) = port.get("containerPort").filter(|_| on_host).cloned() {
            fill(port, "hostPort", number);
        }
    }
    for variable in items(container, "env") {
        let field = variable
            .get_mut("valueFrom")
            .and_then(|from| from.get_mut("fieldRef"));
        if let Some(Value::Object(field)) = field {
            fill(field, "apiVersion", json!("v1"));
        }
    }
    for name in PROBES {
        if let Some(Value::Object(probe)) = container.get_mut(name) {
            for (member, number) in [
                ("timeoutSeconds", 1),
                ("periodSeconds", 10),
                ("successThreshold", 1),
                ("failureThreshold", 3),
            ] {
                fill(probe, member, json!(number));
            }
            fill_handler(probe);
        }
    }
    for hook in ["postStart", "preStop"] {
        let hook = container.get_mut("lifecycle").and_then(|all| all.get_mut(hook));
        if let Some(Value::Object(hook)) = hook {
            fill_handler(hook);
        }
    }
}

fn fill_handler(handler: &mut Map<String, Value>) {
    if let Some(Value::Object(request)) = handler.get_mut("httpGet") {
        fill(request, "path", json!("/"));
        fill(request, "scheme", json!("HTTP"));
    }
    if let Some(Value::Object(call)) = handler.get_mut("grpc") {
        fill(call, "service", json!(""));
    }
}

/// Tells whether an image names no version, or the newest one.
fn is_latest(image: &str) -> bool {
    let last = image.rsplit('/').next().unwrap_or(image);
    let tag = last
        .split_once('@')
        .map_or(last, |(name, _)| name)
        .split_once(':')
        .map(|(_, tag)| tag);
    tag == Some("latest") || (tag.is_none() && !last.contains('@') && !image.is_empty())
}

/// What a container may use at most it also asks for.
pub(super) fn request_limits(container: &mut Map<String, Value>) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    let requests = resources.entry("requests").or_insert_with(|| json!({}));
    if let Value::Object(requests) = requests {
        for (name, limit) in limits {
            requests.entry(name).or_insert(limit);
        }
    }
}

/// Returns the faults of the containers of a pod that stands at `field`; `volumes` are the names of its volumes.
pub(super) fn validate(spec: &Value, field: &str, volumes: &[String]) -> Vec<FieldError> {
    let containers = list(spec, "/containers");
    let mut errors = Vec::new();
    if containers.is_empty() {
        errors.push(required(&format!("{field}.containers"), ""));
    }
    for member in ["containers", "initContainers"] {
        let at = format!("{field}.{member}");
        let all = list(spec, &format!("/{member}"));
        for (index, container) in all.iter().enumerate() {
            errors.extend(validate_one(container, &format!("{at}[{index}]"), volumes));
        }
        errors.extend(duplicates(all, &at, "name"));
    }
    for (index, container) in list(spec, "/initContainers").iter().enumerate() {
        let name = text(container, "/name");
        if !name.is_empty() && containers.iter().any(|other| text(other, "/name") == name) {
            errors.push(duplicate(&format!("{field}.initContainers[{index}].name"), name));
        }
    }
    errors
}

fn validate_one(container: &Value, at: &str, volumes: &[String]) -> Vec<FieldError> {
    let mut errors = label_name(container, at);
    let image = text(container, "/image");
    if image.is_empty() {
        errors.push(required(&format!("{at}.image"), ""));
    } else if image.trim() != image {
        errors.push(invalid(
            &format!("{at}.image"),
            image,
            "must not have leading or trailing whitespace",
        ));
    }
    errors.extend(choice(
        container,
        at,
        "imagePullPolicy",
        &["Always", "IfNotPresent", "Never"],
    ));
    errors.extend(choice(
        container,
        at,
        "terminationMessagePolicy",
        &["File", "FallbackToLogsOnError"],
    ));
    errors.extend(validate_ports(list(container, "/ports"), &format!("{at}.ports")));
    errors.extend(validate_variables(list(container, "/env"), &format!("{at}.env")));
    errors.extend(validate_mounts(
        list(container, "/volumeMounts"),
        &format!("{at}.volumeMounts"),
        volumes,
    ));
    for name in PROBES {
        if let Some(probe) = container.get(name).filter(|probe| probe.is_object()) {
            errors.extend(validate_probe(probe, &format!("{at}.{name}")));
        }
    }
    errors.extend(validate_resources(
        container.get("resources").unwrap_or(&Value::Null),
        &format!("{at}.resources"),
    ));
    errors
}

fn validate_ports(ports: &[Value], field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, port) in ports.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let name = text(port, "/name");
        if !name.is_empty() {
            let faults = port_name_faults(name);
            errors.extend(
                faults
                    .iter()
                    .map(|fault| invalid(&format!("{at}.name"), name, fault)),
            );
            if faults.is_empty() && ports.iter().take(index).any(|other| text(other, "/name") == name) {
                errors.push(duplicate(&format!("{at}.name"), name));
            }
        }
        match port.get("containerPort").and_then(Value::as_i64) {
            None | Some(0) => errors.push(required(&format!("{at}.containerPort"), "")),
            Some(number) => errors.extend(port_fault(&format!("{at}.containerPort"), number)),
        }
        if let Some(number) = port
            .get("hostPort")
            .and_then(Value::as_i64)
            .filter(|number| *number != 0)
        {
            errors.extend(port_fault(&format!("{at}.hostPort"), number));
        }
        errors.extend(choice(port, &at, "protocol", &["SCTP", "TCP", "UDP"]));
    }
    errors
}

/// Returns the fault of a number that is no port.
pub(super) fn port_fault(field: &str, number: i64) -> Option<FieldError> {
    let legal = (1..=65_535).contains(&number);
    (!legal).then(|| invalid_value(field, &json!(number), PORT_RANGE))
}

/// Returns the faults of a name of a port.
pub(super) fn port_name_faults(name: &str) -> Vec<String> {
    let mut faults = Vec::new();
    if name.len() > 15 {
        faults.push("must be no more than 15 characters".to_owned());
    }
    let legal = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || letter == '-';
    if !name.chars().all(legal) {
        faults.push("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)".to_owned());
    }
    if !name.contains(|letter: char| letter.is_ascii_lowercase()) {
        faults.push("must contain at least one letter (a-z)".to_owned());
    }
    if name.contains("--") {
        faults.push("must not contain consecutive hyphens".to_owned());
    }
    if name.starts_with('-') || name.ends_with('-') {
        faults.push("must not begin or end with a hyphen".to_owned());
    }
    faults
}

fn validate_variables(variables: &[Value], field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, variable) in variables.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let name = text(variable, "/name");
        if name.is_empty() {
            errors.push(required(&format!("{at}.name"), ""));
        } else if !name
            .chars()
            .all(|letter| (' '..='~').contains(&letter) && letter != '=')
        {
            errors.push(invalid(
                &format!("{at}.name"),
                name,
                "a valid environment variable name must consist only of printable ASCII characters other than '='",
            ));
        }
        let Some(Value::Object(from)) = variable.get("valueFrom") else {
            continue;
        };
        let at = format!("{at}.valueFrom");
        if from.is_empty() {
            errors.push(invalid(
                &at,
                "",
                "must specify one of: `configMapKeyRef`, `fieldRef`, `fileKeyRef`, `resourceFieldRef` or `secretKeyRef`",
            ));
        } else if !text(variable, "/value").is_empty() {
            errors.push(invalid(&at, "", "may not be specified when `value` is not empty"));
        } else if from.len() > 1 {
            errors.push(invalid(
                &at,
                "",
                "may not have more than one field specified at a time",
            ));
        }
    }
    errors
}

fn validate_mounts(mounts: &[Value], field: &str, volumes: &[String]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (index, mount) in mounts.iter().enumerate() {
        let at = format!("{field}[{index}]");
        let (name, path) = (text(mount, "/name"), text(mount, "/mountPath"));
        if name.is_empty() {
            errors.push(required(&format!("{at}.name"), ""));
        }
        if !volumes.iter().any(|volume| volume == name) {
            errors.push(not_found(&format!("{at}.name"), name));
        }
        if path.is_empty() {
            errors.push(required(&format!("{at}.mountPath"), ""));
        }
        if mounts
            .iter()
            .take(index)
            .any(|other| text(other, "/mountPath") == path)
        {
            errors.push(invalid(&format!("{at}.mountPath"), path, "must be unique"));
        }
    }
    errors
}

fn validate_probe(probe: &Value, at: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let given: Vec<&str> = HANDLERS
        .into_iter()
        .filter(|name| probe.get(*name).is_some_and(Value::is_object))
        .collect();
    if given.is_empty() {
        errors.push(required(at, "must specify a handler type"));
    }
    for name in given.iter().skip(1) {
        let field = format!("{at}.{name}");
        errors.push(crate::builtin::faults::forbidden(
            &field,
            "may not specify more than 1 handler type",
        ));
    }
    for name in given {
        let port = probe.pointer(&format!("/{name}/port"));
        let field = format!("{at}.{name}.port");
        match port {
            Some(Value::Number(number)) => {
                errors.extend(port_fault(&field, number.as_i64().unwrap_or_default()));
            }
            Some(Value::String(name)) => {
                let faults = port_name_faults(name);
                errors.extend(faults.iter().map(|fault| invalid(&field, name, fault)));
            }
            _ => {}
        }
    }
    for member in [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ] {
        errors.extend(not_negative(probe, at, member));
    }
    errors
}

/// Returns the faults of requests and limits that stand at `field`.
pub(super) fn validate_resources(resources: &Value, field: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for part in ["limits", "requests"] {
        let amounts = resources.get(part).and_then(Value::as_object);
        for (name, amount) in amounts.into_iter().flatten() {
            let at = format!("{field}.{part}[{name}]");
            let faults = qualified_name_faults(name, Named::QualifiedName);
            errors.extend(
                faults
                    .iter()
                    .map(|fault| invalid(&format!("{field}.{part}"), name, fault)),
            );
            if size(amount) < 0 {
                errors.push(invalid_value(&at, amount, "must be greater than or equal to 0"));
            }
            let limit = resources.pointer(&format!("/limits/{}", json_pointer::escape(name)));
            if let Some(limit) = limit.filter(|limit| part == "requests" && size(amount) > size(limit)) {
                let limit = limit.as_str().unwrap_or_default();
                errors.push(invalid_value(
                    &format!("{field}.requests"),
                    amount,
                    &format!("must be less than or equal to {name} limit of {limit}"),
                ));
            }
        }
    }
    errors
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn images_without_a_version_are_pulled_always() {
        for (image, latest) in [
            ("nginx", true),
            ("nginx:latest", true),
            ("nginx:1.27", false),
            ("registry.example.com:5000/team/nginx", true),
            ("registry.example.com:5000/nginx:1", false),
            ("nginx@sha256:0", false),
        ] {
            assert_eq!(is_latest(image), latest, "{image}");
        }
    }

    #[test]
    fn faults_read_as_the_server_writes_them() {
        for (change, expected) in [
            (json!({"image": ""}), vec!["c.image: Required value"]),
            (
                json!({"ports": [{"containerPort": 0}, {"containerPort": 70_000, "protocol": "HTTP"}]}),
                vec![
                    "c.ports[0].containerPort: Required value",
                    "c.ports[1].containerPort: Invalid value: 70000: must be between 1 and 65535, inclusive",
                    "c.ports[1].protocol: Unsupported value: \"HTTP\": supported values: \"SCTP\", \"TCP\", \"UDP\"",
                ],
            ),
            (
                json!({"volumeMounts": [{"name": "v", "mountPath": "/a"}, {"name": "w", "mountPath": "/a"}]}),
                vec![
                    "c.volumeMounts[1].name: Not found: \"w\"",
                    "c.volumeMounts[1].mountPath: Invalid value: \"/a\": must be unique",
                ],
            ),
            (
                json!({"resources": {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}}),
                vec![
                    "c.resources.requests: Invalid value: \"2\": must be less than or equal to cpu limit of 1",
                ],
            ),
            (
                json!({"livenessProbe": {}, "env": [{"name": "a=b"}]}),
                vec![
                    "c.env[0].name: Invalid value: \"a=b\": a valid environment variable name must consist only of printable ASCII characters other than '='",
                    "c.livenessProbe: Required value: must specify a handler type",
                ],
            ),
        ] {
            let mut container = json!({"name": "c", "image": "i"});
            crate::patch::merge::apply(&mut container, &change);
            let found: Vec<String> = validate_one(&container, "c", &["v".to_owned()])
                .iter()
                .map(ToString::to_string)
                .collect();
            assert_eq!(found, expected, "{change}");
        }
    }
}
