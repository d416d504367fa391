//! Which kinds have a table.
//!
//! Decides the kinds whose bodies are read; everything else is refused by its content type.

use super::message::Message;
use super::{core, meta, rbac, reviews, webhooks};

/// Options of deletions.
pub static DELETE_OPTIONS: &Message = &meta::DELETE_OPTIONS;

static KINDS: &[(&str, &str, &Message)] = &[
    ("", "ConfigMap", &core::CONFIG_MAP),
    ("", "Event", &core::CORE_EVENT),
    ("", "Namespace", &core::NAMESPACE),
    ("", "Secret", &core::SECRET),
    ("", "ServiceAccount", &core::SERVICE_ACCOUNT),
    ("events.k8s.io", "Event", &core::EVENTS_EVENT),
    ("coordination.k8s.io", "Lease", &core::LEASE),
    (
        "certificates.k8s.io",
        "CertificateSigningRequest",
        &core::CERTIFICATE_SIGNING_REQUEST,
    ),
    ("rbac.authorization.k8s.io", "ClusterRole", &rbac::CLUSTER_ROLE),
    (
        "rbac.authorization.k8s.io",
        "ClusterRoleBinding",
        &rbac::CLUSTER_ROLE_BINDING,
    ),
    ("rbac.authorization.k8s.io", "Role", &rbac::ROLE),
    ("rbac.authorization.k8s.io", "RoleBinding", &rbac::ROLE_BINDING),
    (
        "authentication.k8s.io",
        "SelfSubjectReview",
        &reviews::SELF_SUBJECT_REVIEW,
    ),
    ("authentication.k8s.io", "TokenRequest", &reviews::TOKEN_REQUEST),
    ("authentication.k8s.io", "TokenReview", &reviews::TOKEN_REVIEW),
    (
        "authorization.k8s.io",
        "LocalSubjectAccessReview",
        &reviews::LOCAL_SUBJECT_ACCESS_REVIEW,
    ),
    (
        "authorization.k8s.io",
        "SelfSubjectAccessReview",
        &reviews::SELF_SUBJECT_ACCESS_REVIEW,
    ),
    (
        "authorization.k8s.io",
        "SelfSubjectRulesReview",
        &reviews::SELF_SUBJECT_RULES_REVIEW,
    ),
    (
        "authorization.k8s.io",
        "SubjectAccessReview",
        &reviews::SUBJECT_ACCESS_REVIEW,
    ),
    (
        "admissionregistration.k8s.io",
        "MutatingWebhookConfiguration",
        &webhooks::MUTATING_WEBHOOK_CONFIGURATION,
    ),
    (
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
        &webhooks::VALIDATING_WEBHOOK_CONFIGURATION,
    ),
];

/// Returns the message of a built-in kind of the version that is served.
pub fn message_of(group: &str, kind: &str) -> Option<&'static Message> {
    KINDS
        .iter()
        .find(|(known, name, _)| *known == group && *name == kind)
        .map(|(_, _, message)| *message)
}
