//! What the gate is asked: the objects that users and GitOps tools send, accepted and refused ones.
//!
//! Decides their mix: six questions, half of them about a cluster's add-on; one in six must be refused.

use bytes::Bytes;
use serde_json::{Value, json};

use crate::scene::ADDON;

const GROUP: &str = "addon.open-cluster-management.io";
/// Stands where each question has its own id.
const UID: &str = "@uid@";

/// One question, asked again and again under new ids.
#[derive(Clone, Debug)]
pub(super) struct Question {
    /// Path of the door.
    pub(super) path: &'static str,
    /// Whether the gate has to let the object in.
    pub(super) allowed: bool,
    /// What is asked, in words.
    pub(super) about: String,
    head: String,
    tail: String,
}

impl Question {
    fn new(path: &'static str, allowed: bool, request: &Value) -> Self {
        let review =
            json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request})
                .to_string();
        let text = |pointer: &str| {
            request
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        let (head, tail) = review.split_once(UID).unwrap_or((&review, ""));
        Self {
            path,
            allowed,
            about: format!("{} {} at {path}", text("/operation"), text("/resource/resource")),
            head: head.to_owned(),
            tail: tail.to_owned(),
        }
    }

    /// Returns the body of the question with this number.
    pub(super) fn body(&self, number: u64) -> Bytes {
        Bytes::from(format!("{}{number:08}{}", self.head, self.tail))
    }
}

/// Returns the questions of a round.
pub(super) fn questions() -> Vec<Question> {
    let install = cluster_addon(&json!({}));
    let with_config = cluster_addon(&json!({"installNamespace": "agents", "configs": [config_reference()]}));
    let old = addon(&json!("5m"), "25%");
    let new = addon(&json!("10m"), "20%");
    let banana = addon(&json!("banana"), "25%");
    let config = deployment_config();
    vec![
        Question::new("/mutate", true, &create("managedclusteraddons", &install)),
        Question::new("/validate", true, &create("managedclusteraddons", &with_config)),
        Question::new(
            "/validate",
            true,
            &update("managedclusteraddons", &with_config, &install),
        ),
        Question::new("/validate", true, &update("clustermanagementaddons", &new, &old)),
        Question::new(
            "/validate",
            false,
            &update("clustermanagementaddons", &banana, &old),
        ),
        Question::new("/validate", true, &create("addondeploymentconfigs", &config)),
    ]
}

fn create(resource: &str, object: &Value) -> Value {
    request("CREATE", resource, object, &Value::Null)
}

fn update(resource: &str, object: &Value, old: &Value) -> Value {
    request("UPDATE", resource, object, old)
}

fn request(operation: &str, resource: &str, object: &Value, old: &Value) -> Value {
    let kind = json!({"group": GROUP, "version": "v1alpha1", "kind": object["kind"]});
    let place = json!({"group": GROUP, "version": "v1alpha1", "resource": resource});
    let mut request = json!({
        "uid": UID, "kind": kind, "resource": place, "requestKind": kind, "requestResource": place,
        "name": object["metadata"]["name"], "operation": operation,
        "userInfo": {"username": "argocd", "groups": ["system:authenticated"]},
        "object": object, "oldObject": old, "dryRun": false,
        "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "argocd-controller"},
    });
    if let Some(namespace) = object["metadata"].get("namespace") {
        request["namespace"] = namespace.clone();
    }
    request
}

fn cluster_addon(spec: &Value) -> Value {
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ManagedClusterAddOn",
        "metadata": {"name": ADDON, "namespace": "cluster1", "labels": {"team": "metrics"}}, "spec": spec})
}

fn config_reference() -> Value {
    json!({"group": GROUP, "resource": "addondeploymentconfigs", "namespace": ADDON, "name": ADDON})
}

fn addon(soak: &Value, share: &str) -> Value {
    let rollout = json!({"type": "Progressive", "progressive": {"minSuccessTime": soak, "maxConcurrency": share,
        "progressDeadline": "30m", "maxFailures": "5%"}});
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "ClusterManagementAddOn", "metadata": {"name": ADDON},
        "spec": {
            "supportedConfigs": [{"group": GROUP, "resource": "addondeploymentconfigs",
                "defaultConfig": {"namespace": ADDON, "name": ADDON}}],
            "installStrategy": {"type": "Placements", "placements": [
                {"name": ADDON, "namespace": ADDON, "configs": [config_reference()], "rolloutStrategy": rollout}]}}})
}

fn deployment_config() -> Value {
    json!({"apiVersion": format!("{GROUP}/v1alpha1"), "kind": "AddOnDeploymentConfig",
        "metadata": {"name": "other", "namespace": ADDON},
        "spec": {"customizedVariables": [{"name": "EDITION", "value": "three"}],
            "nodePlacement": {"nodeSelector": {"node-role.kubernetes.io/infra": ""},
                "tolerations": [{"key": "infra", "operator": "Exists", "effect": "NoSchedule"}]},
            "registries": [{"source": "registry.example/a", "mirror": "mirror.example/a"}]}})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_an_id_of_its_own_and_is_a_review() {
        for question in questions() {
            let (one, two) = (question.body(1), question.body(2));
            assert_ne!(one, two);
            let review: Value = serde_json::from_slice(&one).expect("JSON");
            assert_eq!(review["request"]["uid"], json!("00000001"));
        }
    }
}
