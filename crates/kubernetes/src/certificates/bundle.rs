//! Whom an API server trusts when it asks the gate.
//!
//! Decides which single field of a webhook configuration, or of a definition that converts here, says that, and what to apply to
//! set it. Never names another field: all others are those of the field manager that applied the object.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// Whom an object has the API server trust.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trusting {
    /// None: nothing of it has the API server call the gate.
    Nothing,
    /// Exactly these.
    These,
    /// Others, or not these everywhere.
    Others,
}

/// The places in which an object has the API server ask the gate behind this service (`NAME.NAMESPACE.svc`).
fn clients<'v>(object: &'v Value, service: &str) -> Vec<&'v Value> {
    if let Some(webhooks) = object.get("webhooks").and_then(Value::as_array) {
        return webhooks
            .iter()
            .filter_map(|webhook| webhook.get("clientConfig"))
            .collect();
    }
    // Definitions are others': only what is sent to this service is ours to vouch for.
    let client = object.pointer("/spec/conversion/webhook/clientConfig");
    client
        .filter(|client| is_at(client, service))
        .into_iter()
        .collect()
}

fn is_at(client: &Value, service: &str) -> bool {
    let part = |name: &str| {
        client
            .pointer(&format!("/service/{name}"))
            .and_then(Value::as_str)
    };
    match (part("name"), part("namespace")) {
        (Some(name), Some(namespace)) => service == format!("{name}.{namespace}.svc"),
        (Some(_) | None, _) => false,
    }
}

/// Returns whom an object has the API server trust, against a bundle in PEM.
pub fn trusting(object: &Value, service: &str, bundle: &[u8]) -> Trusting {
    let wanted = STANDARD.encode(bundle);
    let clients = clients(object, service);
    if clients.is_empty() {
        return Trusting::Nothing;
    }
    let is_wanted = |client: &&Value| client.get("caBundle").and_then(Value::as_str) == Some(wanted.as_str());
    if clients.iter().all(is_wanted) {
        Trusting::These
    } else {
        Trusting::Others
    }
}

/// Returns what to apply so that an object trusts this bundle: its identity and the one field, for each place.
pub fn bundle_patch(object: &Value, bundle: &[u8]) -> Value {
    let wanted = STANDARD.encode(bundle);
    let at = |pointer: &str| object.pointer(pointer).cloned().unwrap_or_default();
    let mut patch = json!({
        "apiVersion": at("/apiVersion"),
        "kind": at("/kind"),
        // An object that went meanwhile must not be made again of nothing else.
        "metadata": {"name": at("/metadata/name"), "uid": at("/metadata/uid")},
    });
    let Some(fields) = patch.as_object_mut() else {
        return patch;
    };
    if let Some(webhooks) = object.get("webhooks").and_then(Value::as_array) {
        let each = webhooks.iter().filter_map(|webhook| {
            let name = webhook.get("name")?;
            Some(json!({"name": name, "clientConfig": {"caBundle": wanted}}))
        });
        fields.insert("webhooks".to_owned(), each.collect());
    } else {
        let conversion = json!({"conversion": {"webhook": {"clientConfig": {"caBundle": wanted}}}});
        fields.insert("spec".to_owned(), conversion);
    }
    patch
}

/// Returns the bundles that an object names, in PEM.
pub fn bundles(object: &Value, service: &str) -> Vec<Vec<u8>> {
    let named = clients(object, service);
    let texts = named.iter().filter_map(|client| client.get("caBundle")?.as_str());
    texts.filter_map(|text| STANDARD.decode(text).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVICE: &str = "gate.ns.svc";

    fn configuration(bundles: &[Option<&str>]) -> Value {
        let webhooks: Vec<Value> = bundles
            .iter()
            .enumerate()
            .map(|(at, bundle)| {
                let mut client = json!({"service": {"name": "gate", "namespace": "ns"}});
                if let Some(bundle) = bundle {
                    client["caBundle"] = json!(STANDARD.encode(bundle));
                }
                json!({"name": format!("w{at}"), "failurePolicy": "Fail", "clientConfig": client})
            })
            .collect();
        json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "uid": "u", "labels": {}}, "webhooks": webhooks})
    }

    #[test]
    fn every_webhook_has_to_trust_the_bundle() {
        let rows = [
            (vec![], Trusting::Nothing),
            (vec![Some("a"), Some("a")], Trusting::These),
            (vec![Some("a"), None], Trusting::Others),
            (vec![Some("b")], Trusting::Others),
        ];
        for (bundles, expected) in rows {
            let object = configuration(&bundles);
            assert_eq!(trusting(&object, SERVICE, b"a"), expected, "{bundles:?}");
        }
    }

    #[test]
    fn one_field_is_applied_and_no_other() {
        let patch = bundle_patch(&configuration(&[None, Some("b")]), b"a");
        let client = json!({"caBundle": "YQ=="});
        assert_eq!(
            patch,
            json!({"apiVersion": "v1", "kind": "K", "metadata": {"name": "n", "uid": "u"}, "webhooks": [
                {"name": "w0", "clientConfig": client}, {"name": "w1", "clientConfig": client}]})
        );
    }

    #[test]
    fn a_definition_that_converts_elsewhere_is_none_of_ours() {
        let definition = |name: &str| {
            json!({"kind": "CustomResourceDefinition", "spec": {"conversion": {"strategy": "Webhook", "webhook": {
                "clientConfig": {"service": {"name": name, "namespace": "ns"}, "caBundle": "YQ=="}}}}})
        };
        assert_eq!(trusting(&definition("other"), SERVICE, b"a"), Trusting::Nothing);
        assert_eq!(trusting(&definition("gate"), SERVICE, b"a"), Trusting::These);
        assert_eq!(trusting(&definition("gate"), SERVICE, b"b"), Trusting::Others);
        assert_eq!(trusting(&json!({"spec": {}}), SERVICE, b"b"), Trusting::Nothing);
        assert_eq!(bundles(&definition("gate"), SERVICE), [b"a".to_vec()]);
        let patch = bundle_patch(&definition("gate"), b"b");
        assert_eq!(
            patch["spec"],
            json!({"conversion": {"webhook": {"clientConfig": {"caBundle": "Yg=="}}}})
        );
    }
}
