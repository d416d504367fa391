//! The bundle for the Operator Lifecycle Manager (`manifests/olm`): the objects of `tidegate install` in the form that it installs.
//!
//! The bundle has no webhook configurations, because its format has no match conditions: the administrator applies them last, as with every
//! other way to install. It has no Secrets, because an upgrade of the bundle would empty them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::printed;
use crate::kit::manifests::{documents, repository};

/// Version of the bundle.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");
const FOLDER: &str = "manifests/olm/manifests";
/// Variable of the containers with the namespace, which the manager chooses.
const NAMESPACE: &str = "TIDEGATE_NAMESPACE";
/// Kinds that are not objects of the bundle: the ClusterServiceVersion contains them, or their objects are created otherwise.
const INSIDE: [&str; 8] = [
    "ClusterRoleBinding",
    "CustomResourceDefinition",
    "Deployment",
    "Namespace",
    "Role",
    "RoleBinding",
    "Secret",
    "ServiceAccount",
];
const DESCRIPTION: &str = "Tidegate validates the add-ons of an Open Cluster Management hub at admission, installs them from templates, and \
                           rolls changes out in waves with soak times, approvals and undo.\n\nThe bundle installs the webhook, the \
                           controllers, and a workload that renews the certificate of the webhook. After the installation, create the \
                           Secrets and register the webhook, as described in docs/operate/install.md.";

/// The objects that the bundle is made of.
pub(super) fn installed() -> Vec<Value> {
    printed("--webhooks without --with openshift")
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The rules that bindings of a kind give to each account.
fn permissions(objects: &[Value], binding: &str, role: &str) -> Vec<Value> {
    let mut rules: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for bound in objects.iter().filter(|object| object["kind"] == binding) {
        let name = text(bound, "/roleRef/name");
        let found = objects
            .iter()
            .find(|object| object["kind"] == role && text(object, "/metadata/name") == name)
            .expect("a role");
        for subject in bound["subjects"].as_array().expect("subjects") {
            let rules = rules.entry(text(subject, "/name")).or_default();
            rules.extend(found["rules"].as_array().expect("rules").clone());
        }
    }
    let all = rules.into_iter();
    all.map(|(account, rules)| json!({"serviceAccountName": account, "rules": rules}))
        .collect()
}

/// A Deployment whose arguments take the namespace from the pod.
fn deployment(object: &Value) -> Value {
    let mut spec = object["spec"].clone();
    for container in spec
        .pointer_mut("/template/spec/containers")
        .and_then(Value::as_array_mut)
        .expect("containers")
    {
        for argument in container["args"].as_array_mut().expect("arguments") {
            let written = argument.as_str().expect("a text");
            let placed = written
                .replace("=tidegate/", &format!("=$({NAMESPACE})/"))
                .replace("tidegate.tidegate.svc", &format!("tidegate.$({NAMESPACE}).svc"));
            *argument = json!(placed);
        }
        let from = json!({"name": NAMESPACE, "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}});
        match container["env"].as_array_mut() {
            Some(variables) => variables.push(from),
            None => container["env"] = json!([from]),
        }
    }
    json!({"name": object["metadata"]["name"], "label": object["metadata"]["labels"], "spec": spec})
}

/// The kinds of the definitions, with the first sentence of their description.
fn owned(objects: &[Value]) -> Vec<Value> {
    let definitions = objects
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition");
    definitions
        .map(|definition| {
            let version = &definition["spec"]["versions"][0];
            let description = text(version, "/schema/openAPIV3Schema/description");
            let sentence = description.split_once(". ").map_or(description, |(first, _)| first);
            let kind = &definition["spec"]["names"]["kind"];
            json!({"name": definition["metadata"]["name"], "kind": kind, "displayName": kind, "version": version["name"],
                "description": sentence.trim_end_matches('.')})
        })
        .collect()
}

fn service_version(objects: &[Value]) -> Value {
    let deployments: Vec<Value> = objects
        .iter()
        .filter(|object| object["kind"] == "Deployment")
        .map(deployment)
        .collect();
    let image = deployments[0]["spec"]["template"]["spec"]["containers"][0]["image"].clone();
    let modes = [
        "OwnNamespace",
        "SingleNamespace",
        "MultiNamespace",
        "AllNamespaces",
    ]
    .map(|mode| json!({"type": mode, "supported": mode == "OwnNamespace"}));
    let examples = json!(documents("manifests/olm/examples.yaml")).to_string();
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("tidegate.v{VERSION}"),
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": examples,
                "capabilities": "Basic Install",
                "categories": "Integration & Delivery",
                "containerImage": image,
                "description": "Validates and rolls out the add-ons of an Open Cluster Management hub",
                "features.operators.openshift.io/disconnected": "true",
                "features.operators.openshift.io/fips-compliant": "false",
                "operatorframework.io/suggested-namespace": "tidegate",
                "repository": "{{PROJECT_URL}}",
                "support": "{{MAINTAINER_NAME}}",
            },
        },
        "spec": {
            "displayName": "Tidegate",
            "description": DESCRIPTION,
            "version": VERSION,
            "maturity": "alpha",
            "minKubeVersion": "1.28.0",
            "keywords": ["open-cluster-management", "add-on", "admission", "rollout"],
            "provider": {"name": "{{MAINTAINER_NAME}}"},
            "maintainers": [{"name": "{{MAINTAINER_NAME}}", "email": "{{MAINTAINER_EMAIL}}"}],
            "links": [{"name": "Source", "url": "{{PROJECT_URL}}"}],
            "relatedImages": [{"name": "tidegate", "image": image}],
            "installModes": modes,
            "customresourcedefinitions": {"owned": owned(objects)},
            "install": {
                "strategy": "deployment",
                "spec": {
                    "clusterPermissions": permissions(objects, "ClusterRoleBinding", "ClusterRole"),
                    "permissions": permissions(objects, "RoleBinding", "Role"),
                    "deployments": deployments,
                },
            },
        },
    })
}

/// The objects that are files of their own: those that no account is bound to, Services and PodDisruptionBudgets.
fn beside(objects: &[Value]) -> Vec<Value> {
    let bound: BTreeSet<&str> = objects
        .iter()
        .filter(|object| object["kind"] == "ClusterRoleBinding")
        .map(|object| text(object, "/roleRef/name"))
        .collect();
    let is_inside = |object: &&Value| {
        INSIDE.contains(&text(object, "/kind"))
            || object["kind"] == "ClusterRole" && bound.contains(text(object, "/metadata/name"))
    };
    let mut objects: Vec<Value> = objects
        .iter()
        .filter(|object| !is_inside(object))
        .cloned()
        .collect();
    for object in &mut objects {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("namespace");
        }
    }
    objects
}

/// The files of the bundle that come from others.
pub(super) fn files() -> BTreeMap<String, String> {
    let objects = installed();
    let head = "# Generated from the objects of `tidegate install`; change tests/pure/install_kit/bundle.rs instead.\n";
    let yaml = |object: &Value| format!("{head}{}", serde_saphyr::to_string(object).expect("plain data"));
    let mut files = BTreeMap::from([(
        format!("{FOLDER}/tidegate.clusterserviceversion.yaml"),
        yaml(&service_version(&objects)),
    )]);
    for object in beside(&objects) {
        let name = format!(
            "{}-{}",
            text(&object, "/metadata/name"),
            text(&object, "/kind").to_lowercase()
        );
        files.insert(format!("{FOLDER}/{name}.yaml"), yaml(&object));
    }
    for definition in objects
        .iter()
        .filter(|object| object["kind"] == "CustomResourceDefinition")
    {
        let plural = text(definition, "/spec/names/plural");
        let path = format!("manifests/crds/ours/{plural}.yaml");
        let text = std::fs::read_to_string(repository(&path)).expect("a definition");
        files.insert(
            format!("{FOLDER}/{plural}.yaml"),
            format!("# From {path}; change that instead.\n{text}"),
        );
    }
    files
}
