//! Which empty values the server leaves out when it writes a built-in object, and which it writes although no client set them.
//!
//! Decides nothing but these tables. A field that is not named keeps zero values (it is a pointer in the Go types); empty lists
//! and maps of optional fields are always left out.

use serde_json::{Map, Value, json};

/// Definition, members whose zero value (`""`, `0`, `false`) is left out.
const ZERO_IS_ABSENT: &[(&str, &[&str])] = &[
    (
        "meta.v1.ObjectMeta",
        &[
            "name",
            "generateName",
            "namespace",
            "selfLink",
            "uid",
            "resourceVersion",
            "generation",
        ],
    ),
    (
        "meta.v1.ManagedFieldsEntry",
        &["manager", "operation", "apiVersion", "fieldsType", "subresource"],
    ),
    (
        "core.v1.ObjectReference",
        &[
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        ],
    ),
    ("core.v1.LocalObjectReference", &["name"]),
    ("core.v1.EventSource", &["component", "host"]),
    ("core.v1.Event", &["reason", "message", "type", "action", "count"]),
    ("core.v1.EventSeries", &["count"]),
    (
        "events.v1.Event",
        &[
            "reason",
            "note",
            "type",
            "action",
            "reportingController",
            "reportingInstance",
            "deprecatedCount",
        ],
    ),
    ("core.v1.Secret", &["type"]),
    ("core.v1.NamespaceStatus", &["phase"]),
    ("core.v1.NamespaceCondition", &["reason", "message"]),
    ("rbac.v1.Subject", &["apiGroup", "namespace"]),
    ("admissionregistration.v1.WebhookClientConfig", &["caBundle"]),
    ("admissionregistration.v1.ParamKind", &["apiVersion", "kind"]),
    ("admissionregistration.v1.ParamRef", &["name", "namespace"]),
    (
        "admissionregistration.v1.Validation",
        &["message", "messageExpression"],
    ),
    (
        "admissionregistration.v1.ValidatingAdmissionPolicyBindingSpec",
        &["policyName"],
    ),
    (
        "admissionregistration.v1.ValidatingAdmissionPolicyStatus",
        &["observedGeneration"],
    ),
    (
        "apiextensions.v1.CustomResourceDefinitionNames",
        &["singular", "listKind"],
    ),
    (
        "apiextensions.v1.CustomResourceDefinitionSpec",
        &["preserveUnknownFields"],
    ),
    (
        "apiextensions.v1.CustomResourceDefinitionVersion",
        &["deprecated"],
    ),
    (
        "apiextensions.v1.CustomResourceColumnDefinition",
        &["format", "description", "priority"],
    ),
    (
        "apiextensions.v1.CustomResourceDefinitionCondition",
        &["reason", "message", "observedGeneration"],
    ),
    (
        "apiextensions.v1.ValidationRule",
        &["message", "messageExpression", "fieldPath"],
    ),
    (
        "apiextensions.v1.JSONSchemaProps",
        &[
            "id",
            "$schema",
            "description",
            "type",
            "format",
            "title",
            "pattern",
            "exclusiveMaximum",
            "exclusiveMinimum",
            "uniqueItems",
            "nullable",
            "x-kubernetes-embedded-resource",
            "x-kubernetes-int-or-string",
        ],
    ),
    (
        "certificates.v1.CertificateSigningRequestSpec",
        &["username", "uid"],
    ),
    (
        "certificates.v1.CertificateSigningRequestCondition",
        &["reason", "message"],
    ),
    ("authentication.v1.UserInfo", &["username", "uid"]),
    ("authentication.v1.TokenReviewSpec", &["token"]),
    ("authentication.v1.TokenReviewStatus", &["authenticated", "error"]),
    (
        "authorization.v1.ResourceAttributes",
        &[
            "namespace",
            "verb",
            "group",
            "version",
            "resource",
            "subresource",
            "name",
        ],
    ),
    ("authorization.v1.NonResourceAttributes", &["path", "verb"]),
    ("authorization.v1.SubjectAccessReviewSpec", &["user", "uid"]),
    (
        "authorization.v1.SubjectAccessReviewStatus",
        &["denied", "reason", "evaluationError"],
    ),
];

/// Leaves out what the Go types leave out, and adds what they always write.
pub(super) fn tidy(definition: &str, required: Option<&Value>, map: &mut Map<String, Value>) {
    let zero_is_absent = ZERO_IS_ABSENT
        .iter()
        .find(|(name, _)| ends_with(definition, name))
        .map_or(&[][..], |(_, members)| *members);
    let required = |member: &str| {
        required
            .and_then(Value::as_array)
            .is_some_and(|names| names.iter().any(|name| name == member))
    };
    map.retain(|member, value| {
        let empty_list = value.as_array().is_some_and(Vec::is_empty);
        required(member) || !(empty_list || zero_is_absent.contains(&member.as_str()) && is_zero(value))
    });
    for (name, member, value) in always() {
        if ends_with(definition, name) && !map.contains_key(member) {
            map.insert(member.to_owned(), value);
        }
    }
}

fn always() -> [(&'static str, &'static str, Value); 27] {
    [
        ("core.v1.Namespace", "spec", json!({})),
        ("core.v1.Namespace", "status", json!({})),
        ("core.v1.Event", "involvedObject", json!({})),
        ("core.v1.Event", "source", json!({})),
        ("core.v1.Event", "firstTimestamp", Value::Null),
        ("core.v1.Event", "lastTimestamp", Value::Null),
        ("core.v1.Event", "eventTime", Value::Null),
        ("core.v1.Event", "reportingComponent", json!("")),
        ("core.v1.Event", "reportingInstance", json!("")),
        ("events.v1.Event", "eventTime", Value::Null),
        ("events.v1.Event", "regarding", json!({})),
        ("events.v1.Event", "deprecatedSource", json!({})),
        ("events.v1.Event", "deprecatedFirstTimestamp", Value::Null),
        ("events.v1.Event", "deprecatedLastTimestamp", Value::Null),
        ("coordination.v1.Lease", "spec", json!({})),
        ("apps.v1.ControllerRevision", "data", Value::Null),
        ("apps.v1.ControllerRevision", "revision", json!(0)),
        ("certificates.v1.CertificateSigningRequest", "status", json!({})),
        (
            "admissionregistration.v1.ValidatingAdmissionPolicy",
            "spec",
            json!({}),
        ),
        (
            "admissionregistration.v1.ValidatingAdmissionPolicy",
            "status",
            json!({}),
        ),
        (
            "admissionregistration.v1.ValidatingAdmissionPolicyBinding",
            "spec",
            json!({}),
        ),
        ("rbac.v1.Role", "rules", Value::Null),
        ("rbac.v1.ClusterRole", "rules", Value::Null),
        ("authorization.v1.SelfSubjectAccessReview", "spec", json!({})),
        ("authorization.v1.SubjectAccessReview", "spec", json!({})),
        ("authorization.v1.LocalSubjectAccessReview", "spec", json!({})),
        ("authentication.v1.TokenReview", "spec", json!({})),
    ]
}

fn ends_with(definition: &str, name: &str) -> bool {
    definition
        .strip_suffix(name)
        .is_some_and(|before| before.ends_with('.'))
}

fn is_zero(value: &Value) -> bool {
    match value {
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::Bool(flag) => !flag,
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}
