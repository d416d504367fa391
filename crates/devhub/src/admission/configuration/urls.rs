//! `clientConfig` of a webhook: URL or Service.
//!
//! Decides which ones are refused; never opens a connection.

use serde_json::{Value, json};

use super::faults::Faults;

const FORM: &str = "; desired format: https://host[/path]";

/// Checks the client configuration at `field`.
pub(super) fn check(field: &str, config: &Value, faults: &mut Faults) {
    let (url, service) = (
        config.get("url").and_then(Value::as_str),
        config.get("service").filter(|it| !it.is_null()),
    );
    match (url, service) {
        (Some(url), None) => check_url(&format!("{field}.url"), url, faults),
        (None, Some(service)) => check_service(&format!("{field}.service"), service, faults),
        (Some(_), Some(_)) | (None, None) => {
            faults.required(field, "exactly one of url or service is required");
        }
    }
}

/// Every part that must not be there is a fault of its own, and its value is that part.
fn check_url(field: &str, url: &str, faults: &mut Faults) {
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once("://").unwrap_or(("", rest));
    if scheme != "https" {
        let detail = format!("'https' is the only allowed URL scheme{FORM}");
        faults.invalid(field, &json!(scheme), &detail);
    }
    let authority = rest.split('/').next().unwrap_or_default();
    let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    if host.is_empty() {
        faults.invalid(field, &json!(host), &format!("host must be specified{FORM}"));
    }
    for (part, detail) in [
        (user, "user information is not permitted in the URL"),
        (fragment, "fragments are not permitted in the URL"),
        (query, "query parameters are not permitted in the URL"),
    ] {
        if !part.is_empty() {
            faults.invalid(field, &json!(part), detail);
        }
    }
}

fn check_service(field: &str, service: &Value, faults: &mut Faults) {
    for name in ["name", "namespace"] {
        if service
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .is_empty()
        {
            faults.required(&format!("{field}.{name}"), &format!("service {name} is required"));
        }
    }
    if let Some(port) = service.get("port")
        && !port.as_i64().is_some_and(|port| (1..=65_535).contains(&port))
    {
        faults.invalid(
            &format!("{field}.port"),
            port,
            "port is not valid: must be between 1 and 65535, inclusive",
        );
    }
    let path = service.get("path").and_then(Value::as_str).unwrap_or("/");
    if !path.starts_with('/') {
        faults.invalid(&format!("{field}.path"), &json!(path), "must start with a '/'");
    }
}
