//! Rules for how a definition converts its objects, and for the versions in which they may be stored.
//!
//! Decides faults of both in Kubernetes' words.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use schema::ErrorClass;
use serde_json::{Value, json};

use super::findings::{Findings, text};
use super::status::is_true;
use crate::builtin::validate::{validate_service, validate_url};
use kubernetes::names::{Unit, dns1035_label_faults};

/// Where Kubernetes' internal type holds the client configuration.
const CLIENT: &str = "spec.conversion.webhookClientConfig";
const PROTOCOLS: &str = "spec.conversion.conversionReviewVersions";
const NOT_WEBHOOK: &str = "Forbidden: should not be set when strategy is not set to Webhook";

/// Checks `spec.conversion`; `old` is the definition before a change.
pub(super) fn check_conversion(definition: &Value, old: Option<&Value>, findings: &mut Findings) {
    let strategy = text(definition, "/spec/conversion/strategy");
    match strategy {
        "None" | "Webhook" => {}
        "" => findings.required("spec.conversion.strategy", ""),
        other => {
            let message = format!("Unsupported value: {other:?}: supported values: \"None\", \"Webhook\"");
            findings.add("spec.conversion.strategy", ErrorClass::NotSupported, message);
        }
    }
    let webhook = |value: &Value, name: &str| {
        value
            .pointer(&format!("/spec/conversion/webhook/{name}"))
            .cloned()
    };
    let config = webhook(definition, "clientConfig").filter(Value::is_object);
    let protocols = webhook(definition, "conversionReviewVersions");
    let protocols = protocols
        .as_ref()
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    if strategy == "Webhook" {
        match &config {
            None => findings.required(CLIENT, "required when strategy is set to Webhook"),
            Some(config) => {
                let before = old.and_then(|old| webhook(old, "clientConfig"));
                let excused = old.is_none_or(|old| !is_true(old, "Established"));
                check_client(config, excused, before.as_ref(), findings);
            }
        }
        check_protocols(&protocols, findings);
        return;
    }
    if config.is_some() {
        findings.add(CLIENT, ErrorClass::Forbidden, NOT_WEBHOOK);
    }
    if !protocols.is_empty() {
        findings.add(PROTOCOLS, ErrorClass::Forbidden, NOT_WEBHOOK);
    }
}

fn check_client(config: &Value, excused: bool, before: Option<&Value>, findings: &mut Findings) {
    match (config.get("url").and_then(Value::as_str), config.get("service")) {
        (Some(url), None) => findings
            .errors
            .extend(validate_url(&format!("{CLIENT}.url"), url)),
        (None, Some(service)) => {
            let faults = validate_service(&format!("{CLIENT}.service"), service);
            findings.errors.extend(faults);
        }
        (Some(_), Some(_)) | (None, None) => {
            findings.required(CLIENT, "exactly one of url or service is required");
        }
    }
    let bundle = text(config, "/caBundle");
    let was_bad = before.is_some_and(|before| {
        let bundle = text(before, "/caBundle");
        !bundle.is_empty() && !is_certificates(bundle)
    });
    if !bundle.is_empty() && !excused && !was_bad && !is_certificates(bundle) {
        let cause = "unable to load root certificates: unable to parse bytes as PEM block";
        findings.invalid(&format!("{CLIENT}.caBundle"), &json!(bundle), cause);
    }
}

fn is_certificates(bundle: &str) -> bool {
    let Ok(pem) = STANDARD.decode(bundle) else {
        return false;
    };
    let mut found = CertificateDer::pem_slice_iter(&pem).peekable();
    found.peek().is_some() && found.all(|certificate| certificate.is_ok())
}

fn check_protocols(protocols: &[Value], findings: &mut Findings) {
    if protocols.is_empty() {
        findings.required(PROTOCOLS, "");
        return;
    }
    let mut seen = BTreeSet::new();
    for (at, version) in protocols.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        let field = format!("{PROTOCOLS}[{at}]");
        if !seen.insert(name) {
            findings.invalid(&field, version, "duplicate version");
            continue;
        }
        for cause in dns1035_label_faults(name, Unit::Bytes) {
            findings.invalid(&field, version, &cause);
        }
    }
    if !seen.contains("v1") && !seen.contains("v1beta1") {
        let all = Value::Array(protocols.to_vec());
        findings.invalid(PROTOCOLS, &all, "must include at least one of v1, v1beta1");
    }
}

/// Checks `status.storedVersions` against the versions of a definition; `storage` are those marked as stored.
pub(super) fn check_stored(definition: &Value, storage: &[&str], findings: &mut Findings) {
    const FIELD: &str = "status.storedVersions";
    let stored = definition
        .pointer("/status/storedVersions")
        .cloned()
        .unwrap_or_default();
    let Some(list) = stored.as_array().filter(|list| !list.is_empty()) else {
        findings.invalid(FIELD, &stored, "must have at least one stored version");
        return;
    };
    for version in storage.iter().filter(|version| !list.contains(&json!(version))) {
        findings.invalid(
            FIELD,
            &stored,
            &format!("must have the storage version {version}"),
        );
    }
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    let names: Vec<&str> = versions
        .into_iter()
        .flatten()
        .map(|version| text(version, "/name"))
        .collect();
    for (at, version) in list.iter().enumerate() {
        let name = version.as_str().unwrap_or_default();
        if !names.contains(&name) {
            let cause = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in {name} and removes {name} from status.storedVersions"
            );
            findings.invalid(&format!("{FIELD}[{at}]"), version, &cause);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(conversion: &Value, expected: &[&str]) {
        let definition = json!({ "spec": { "conversion": conversion } });
        let old = json!({ "status": { "conditions": [{ "type": "Established", "status": "True" }] } });
        let mut findings = Findings::default();
        check_conversion(&definition, Some(&old), &mut findings);
        let found: Vec<String> = findings.errors.iter().map(ToString::to_string).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn conversions_are_refused_in_kubernetes_words() {
        let client = json!({ "url": "https://h/c" });
        let webhook = |webhook: Value| json!({ "strategy": "Webhook", "webhook": webhook });
        check(&json!({ "strategy": "None" }), &[]);
        check(&json!({}), &["spec.conversion.strategy: Required value"]);
        check(
            &json!({ "strategy": "None", "webhook": { "clientConfig": client, "conversionReviewVersions": ["v1"] } }),
            &[
                "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to Webhook",
            ],
        );
        check(
            &webhook(json!({ "clientConfig": {}, "conversionReviewVersions": ["v9", "v9", "V"] })),
            &[
                "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
                "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v9\": duplicate version",
                "spec.conversion.conversionReviewVersions[2]: Invalid value: \"V\": a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v9\",\"v9\",\"V\"]: must include at least one of v1, v1beta1",
            ],
        );
        check(
            &webhook(
                json!({ "clientConfig": { "url": "http://h", "caBundle": "AAAA" }, "conversionReviewVersions": ["v1"] }),
            ),
            &[
                "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: https://host[/path]",
                "spec.conversion.webhookClientConfig.caBundle: Invalid value: \"AAAA\": unable to load root certificates: unable to parse bytes as PEM block",
            ],
        );
        check(
            &webhook(
                json!({ "clientConfig": { "service": { "name": "s" } }, "conversionReviewVersions": ["v1"] }),
            ),
            &[
                "spec.conversion.webhookClientConfig.service.namespace: Required value: service namespace is required",
            ],
        );
    }

    #[test]
    fn a_version_that_may_be_stored_stays() {
        let stored = |stored: Value, names: &[&str]| -> Vec<String> {
            let versions: Vec<Value> = names.iter().map(|name| json!({ "name": name })).collect();
            let definition =
                json!({ "spec": { "versions": versions }, "status": { "storedVersions": stored } });
            let mut findings = Findings::default();
            check_stored(&definition, &["v2"], &mut findings);
            findings.errors.iter().map(ToString::to_string).collect()
        };
        assert!(stored(json!(["v1", "v2"]), &["v1", "v2"]).is_empty());
        assert_eq!(
            stored(json!(["v1"]), &["v1", "v2"]),
            ["status.storedVersions: Invalid value: [\"v1\"]: must have the storage version v2"]
        );
        assert_eq!(
            stored(json!(["v1", "v2"]), &["v2"]),
            [
                "status.storedVersions[0]: Invalid value: \"v1\": missing from spec.versions; v1 was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status.storedVersions"
            ]
        );
        assert_eq!(
            stored(json!([]), &["v2"]),
            ["status.storedVersions: Invalid value: []: must have at least one stored version"]
        );
    }
}
