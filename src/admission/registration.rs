//! The webhook configurations that bring requests here.
//!
//! Decides what the API server asks the gate about, and what happens when the gate does not answer. Named resources
//! only, never a status, never anything that this program or a cluster needs to start.
//!
//! `failurePolicy`: the mutating webhook is `Ignore`. It refuses as well, so that all faults are told at once, but
//! whatever it misses the schema of the CRD and the guard refuse a moment later; only an absent default is lost. The
//! guard is `Fail`, because one object that gets past it can stop every add-on of a hub. Two conditions keep a silent
//! gate from locking anybody out: what is being deleted, and what leaves the spec alone, is never asked about.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::subject::{Addon, ClusterAddon, HubConfig, Kind};
use crate::api::v1alpha1::{GROUP, VERSION};

/// Path of the mutating webhook.
pub const MUTATE_PATH: &str = "/mutate";
/// Path of the validating webhook.
pub const VALIDATE_PATH: &str = "/validate";

/// Where the API server finds the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Endpoint {
    /// At an address, such as `https://127.0.0.1:9443`.
    Url(String),
    /// Behind a service.
    Service {
        /// Namespace of the service.
        namespace: String,
        /// Name of the service.
        name: String,
        /// Port of the service.
        port: u16,
    },
}

/// Returns the mutating and the validating webhook configuration.
///
/// Every field is written out, defaults too, so that tools which compare manifests with live objects find no difference.
/// Without `ca_pem` the bundle is left out for somebody else to own, such as cert-manager's injector.
pub fn configurations(endpoint: &Endpoint, ca_pem: Option<&str>) -> [Value; 2] {
    let mut mutating = webhook(
        "mutate.gate.tidegate.dev",
        &endpoint.client(MUTATE_PATH, ca_pem),
        "Ignore",
        2,
    );
    if let Some(webhook) = mutating.as_object_mut() {
        // Another webhook may add what the default looks at; asking again is safe, because it adds nothing twice.
        webhook.insert("reinvocationPolicy".to_owned(), json!("IfNeeded"));
    }
    let guard = webhook(
        "guard.gate.tidegate.dev",
        &endpoint.client(VALIDATE_PATH, ca_pem),
        "Fail",
        3,
    );
    [
        configuration("MutatingWebhookConfiguration", "tidegate-mutate", &mutating),
        configuration("ValidatingWebhookConfiguration", "tidegate-guard", &guard),
    ]
}

impl Endpoint {
    fn client(&self, path: &str, ca_pem: Option<&str>) -> Value {
        let mut client = match self {
            Self::Url(base) => json!({"url": format!("{}{path}", base.trim_end_matches('/'))}),
            Self::Service {
                namespace,
                name,
                port,
            } => {
                json!({"service": {"namespace": namespace, "name": name, "path": path, "port": port}})
            }
        };
        if let (Some(pem), Some(fields)) = (ca_pem, client.as_object_mut()) {
            fields.insert("caBundle".to_owned(), STANDARD.encode(pem).into());
        }
        client
    }
}

fn configuration(kind: &str, name: &str, webhook: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "tidegate"}},
        "webhooks": [webhook],
    })
}

fn webhook(name: &str, client: &Value, failure: &str, timeout: u8) -> Value {
    json!({
        "name": name,
        "admissionReviewVersions": ["v1"],
        "clientConfig": client,
        "failurePolicy": failure,
        "matchPolicy": "Equivalent",
        "sideEffects": "None",
        "timeoutSeconds": timeout,
        "namespaceSelector": {},
        "objectSelector": {},
        "rules": [{
            "apiGroups": [GROUP],
            "apiVersions": [VERSION],
            "operations": ["CREATE", "UPDATE"],
            "resources": [HubConfig::RESOURCE, Addon::RESOURCE, ClusterAddon::RESOURCE],
            "scope": "*",
        }],
        "matchConditions": [
            {
                "name": "not-being-deleted",
                "expression": "!has(object.metadata.deletionTimestamp)",
            },
            {
                "name": "changes-the-spec",
                "expression": "request.operation != 'UPDATE' || !has(object.spec) || !has(oldObject.spec) || object.spec != oldObject.spec",
            },
        ],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect_file;

    fn yaml(value: &Value) -> String {
        let body = serde_saphyr::to_string(value).expect("a configuration is plain data");
        format!("# Generated from src/admission/registration.rs; change that instead.\n{body}")
    }

    #[test]
    fn the_manifests_are_up_to_date() {
        let service = Endpoint::Service {
            namespace: "tidegate".into(),
            name: "tidegate".into(),
            port: 443,
        };
        let [mutating, validating] = configurations(&service, None);
        expect_file!["../../manifests/webhook/mutating.yaml"].assert_eq(&yaml(&mutating));
        expect_file!["../../manifests/webhook/validating.yaml"].assert_eq(&yaml(&validating));
    }

    #[test]
    fn only_named_resources_are_asked_about_and_never_a_status() {
        let configurations = configurations(&Endpoint::Url("https://127.0.0.1:1".into()), Some("pem"));
        let rules = configurations
            .iter()
            .flat_map(|one| one["webhooks"][0]["rules"].as_array().expect("rules"));
        for rule in rules {
            let resources = rule["resources"].as_array().expect("resources");
            let names: Vec<&str> = resources.iter().filter_map(Value::as_str).collect();
            assert_eq!(
                names,
                [
                    "addonhubconfigs",
                    "clustermanagementaddons",
                    "managedclusteraddons"
                ]
            );
            assert_eq!(rule["operations"], json!(["CREATE", "UPDATE"]));
        }
    }

    #[test]
    fn an_address_gets_the_path_and_the_bundle() {
        let [mutating, _] = configurations(&Endpoint::Url("https://127.0.0.1:1/".into()), Some("pem"));
        let client = &mutating["webhooks"][0]["clientConfig"];
        assert_eq!(
            *client,
            json!({"url": "https://127.0.0.1:1/mutate", "caBundle": "cGVt"})
        );
    }

    #[test]
    fn the_conditions_ask_about_new_objects_and_changed_specs_only() {
        let [_, guard] = configurations(&Endpoint::Url("https://127.0.0.1:1".into()), None);
        let conditions = guard["webhooks"][0]["matchConditions"]
            .as_array()
            .expect("conditions")
            .clone();
        let asks = |operation: &str, object: &Value, old: &Value| {
            let request = json!({"operation": operation});
            conditions.iter().all(|condition| {
                let text = condition["expression"].as_str().expect("an expression");
                let program = schema::cel::Program::compile(text).expect("it compiles");
                let variables = [("request", &request), ("object", object), ("oldObject", old)];
                program.eval(&variables).expect("it has a value") == json!(true)
            })
        };
        let (one, two) = (
            json!({"metadata": {}, "spec": {"a": 1}}),
            json!({"metadata": {}, "spec": {"a": 2}}),
        );
        let bare = json!({"metadata": {"labels": {"a": "b"}}});
        let leaving = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "spec": {"a": 2}});
        assert!(asks("CREATE", &one, &Value::Null));
        assert!(asks("UPDATE", &two, &one));
        assert!(asks("UPDATE", &one, &bare));
        assert!(!asks("UPDATE", &one, &one));
        assert!(!asks("UPDATE", &leaving, &one));
    }

    #[test]
    fn our_definitions_serve_the_version_that_is_asked_about() {
        for resource in [HubConfig::RESOURCE, Addon::RESOURCE, ClusterAddon::RESOURCE] {
            let served = crate::api::crds().into_iter().any(|crd| {
                crd.spec.names.plural == resource
                    && crd
                        .spec
                        .versions
                        .iter()
                        .any(|version| version.name == VERSION && version.served)
            });
            assert!(served, "{resource}");
        }
    }
}
