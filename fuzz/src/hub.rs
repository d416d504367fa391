//! A whole hub that receives any request: bodies as JSON, YAML and protobuf; objects, patches, applies, deletion options.
//!
//! Nothing is stored (every write is a dry run), so inputs do not affect each other. Every response must be JSON, contain its status,
//! and not be an internal error.

use std::sync::LazyLock;

use devhub::DevHub;
use devhub::protobuf;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

struct Scene {
    runtime: Runtime,
    client: Client,
    _hub: DevHub,
}

static SCENE: LazyLock<Scene> = LazyLock::new(|| {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .expect("a runtime");
    let (hub, client) = runtime.block_on(async {
        let hub = DevHub::builder()
            .crd(definition())
            .without_controllers()
            .start()
            .await
            .expect("a hub starts");
        for object in seeds() {
            hub.preload(&object).await.expect("a seed is taken");
        }
        let client = hub.client();
        (hub, client)
    });
    Scene {
        runtime,
        client,
        _hub: hub,
    }
});

fn definition() -> Value {
    let port = json!({"type": "object", "required": ["port"], "properties": {
        "port": {"type": "integer"}, "protocol": {"type": "string", "default": "TCP"}, "tags": {"type": "array", "items": {"type": "string"}},
    }});
    let spec = json!({"type": "object", "properties": {
        "size": {"type": "integer", "minimum": 0, "maximum": 100, "default": 3}, "color": {"type": "string", "enum": ["red", "green"]},
        "when": {"type": "string", "format": "date-time"}, "amount": {"x-kubernetes-int-or-string": true}, "note": {"type": "string", "nullable": true, "maxLength": 10},
        "ports": {"type": "array", "items": port, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["port", "protocol"]},
        "set": {"type": "array", "items": {"type": "string"}, "x-kubernetes-list-type": "set"},
        "atomic": {"type": "object", "x-kubernetes-map-type": "atomic", "additionalProperties": {"type": "string"}},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "embedded": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "replicas": {"type": "integer"},
    }, "x-kubernetes-validations": [{"rule": "!has(self.size) || self.size != 13", "message": "not thirteen"}]});
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "widgets.fuzz.example.io"},
        "spec": {"group": "fuzz.example.io", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"}, "versions": [{
            "name": "v1", "served": true, "storage": true,
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}},
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": {"type": "object", "properties": {"replicas": {"type": "integer"}}}}}},
        }]},
    })
}

fn seeds() -> [Value; 3] {
    [
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "default", "labels": {"x": "y"}}, "data": {"k": "v"}}),
        json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "a", "namespace": "default"}, "data": {"k": "dg=="}}),
        json!({"apiVersion": "fuzz.example.io/v1", "kind": "Widget", "metadata": {"name": "a", "namespace": "default"}, "spec": {
            "size": 1, "replicas": 1, "ports": [{"port": 80}], "set": ["a"], "atomic": {"a": "b"}, "open": {"x": [1]},
        }}),
    ]
}

/// Method, path with query, and the form of the body.
const REQUESTS: [(&str, &str, &str); 26] = [
    (
        "POST",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets",
        "application/json",
    ),
    (
        "POST",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets?fieldValidation=Strict",
        "application/yaml",
    ),
    (
        "PUT",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a",
        "application/json",
    ),
    (
        "PUT",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a/status",
        "application/json",
    ),
    (
        "PUT",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a/scale",
        "application/json",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a",
        "application/merge-patch+json",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a",
        "application/json-patch+json",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a?fieldManager=f",
        "application/apply-patch+yaml",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/b?fieldManager=f&force=true",
        "application/apply-patch+yaml",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a/status?fieldManager=f&force=true",
        "application/apply-patch+yaml",
    ),
    (
        "PATCH",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a/scale",
        "application/merge-patch+json",
    ),
    (
        "DELETE",
        "/apis/fuzz.example.io/v1/namespaces/default/widgets/a",
        "application/json",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "application/json",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/configmaps",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "PUT",
        "/api/v1/namespaces/default/configmaps/a",
        "application/json",
    ),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/a",
        "application/strategic-merge-patch+json",
    ),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/a",
        "application/json-patch+json",
    ),
    (
        "PATCH",
        "/api/v1/namespaces/default/configmaps/a?fieldManager=f&force=true",
        "application/apply-patch+yaml",
    ),
    (
        "POST",
        "/api/v1/namespaces/default/secrets",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "PATCH",
        "/api/v1/namespaces/default/secrets/a",
        "application/strategic-merge-patch+json",
    ),
    ("POST", "/api/v1/namespaces/default/events", "application/json"),
    (
        "POST",
        "/apis/coordination.k8s.io/v1/namespaces/default/leases",
        "application/vnd.kubernetes.protobuf",
    ),
    (
        "POST",
        "/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
        "application/json",
    ),
    (
        "POST",
        "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
        "application/json",
    ),
    (
        "POST",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "application/json",
    ),
    (
        "DELETE",
        "/api/v1/namespaces/default/configmaps/a",
        "application/vnd.kubernetes.protobuf",
    ),
];

/// A request (by the first byte) and its body.
pub fn request(bytes: &[u8]) {
    let Some((first, body)) = bytes.split_first() else {
        return;
    };
    let (method, path, form) = REQUESTS[usize::from(*first) % REQUESTS.len()];
    let mark = if path.contains('?') { '&' } else { '?' };
    // Text is easier to mutate than bytes: a protobuf body may be written in hexadecimal.
    let body = unhexed(body).unwrap_or_else(|| body.to_vec());
    let request = http::Request::builder()
        .method(method)
        .uri(format!("{path}{mark}dryRun=All"))
        .header("content-type", form)
        .body(Body::from(body))
        .expect("a request");
    let scene = &*SCENE;
    let (status, answer) = scene.runtime.block_on(async {
        let answer = scene.client.send(request).await.expect("an answer");
        let status = answer.status().as_u16();
        let bytes = answer.into_body().collect_bytes().await.expect("a body");
        (status, bytes)
    });
    let answer: Value = serde_json::from_slice(&answer).expect("an answer is JSON");
    if status >= 400 {
        assert_eq!(answer["code"], status, "{answer}");
        let message = answer["message"].as_str().unwrap_or_default();
        assert!(!message.is_empty(), "a refusal says why: {answer}");
    } else {
        assert!(answer["kind"].is_string(), "{answer}");
    }
}

fn unhexed(text: &[u8]) -> Option<Vec<u8>> {
    let text = text.strip_prefix(b"0x")?;
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let pairs = text.chunks_exact(2);
    pairs
        .map(|pair| {
            let [high, low] = pair else { return None };
            u8::try_from(digit(high)? * 16 + digit(low)?).ok()
        })
        .collect()
}

/// Any bytes as a message of every kind that is decoded from protobuf.
pub fn binary(bytes: &[u8]) {
    const KINDS: [(&str, &str); 14] = [
        ("", "Namespace"),
        ("", "ConfigMap"),
        ("", "Secret"),
        ("", "ServiceAccount"),
        ("", "Event"),
        ("events.k8s.io", "Event"),
        ("coordination.k8s.io", "Lease"),
        ("rbac.authorization.k8s.io", "ClusterRole"),
        ("rbac.authorization.k8s.io", "RoleBinding"),
        ("authorization.k8s.io", "SubjectAccessReview"),
        ("authorization.k8s.io", "SelfSubjectRulesReview"),
        ("authentication.k8s.io", "TokenReview"),
        ("authentication.k8s.io", "TokenRequest"),
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration"),
    ];
    let bytes = unhexed(bytes).unwrap_or_else(|| bytes.to_vec());
    if let Err(fault) = protobuf::open(&bytes) {
        assert!(!fault.to_string().is_empty(), "a refusal says why");
    }
    for (group, kind) in KINDS {
        let message = protobuf::message_of(group, kind);
        if let Some(Ok(value)) = message.map(|message| protobuf::decode(message, &bytes)) {
            assert!(value.is_object(), "a message is an object: {value}");
        }
    }
    let _ = protobuf::decode(&protobuf::DELETE_OPTIONS, &bytes);
}
