//! Messages of the registrations of webhooks.
//!
//! Decides number, name and kind of every field, as Kubernetes 1.36 numbers them.

use super::message::Kind::{Bytes, Inline, Integer, Object, Text};
use super::message::{Message, many, message, one};
use super::meta::{LABEL_SELECTOR, OBJECT_META};

pub(super) static MUTATING_WEBHOOK_CONFIGURATION: Message = message(
    "admissionregistration.v1.MutatingWebhookConfiguration",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "webhooks", Object(&MUTATING_WEBHOOK)),
    ],
);

pub(super) static MUTATING_WEBHOOK: Message = message(
    "admissionregistration.v1.MutatingWebhook",
    &[
        one(1, "name", Text),
        one(2, "clientConfig", Object(&WEBHOOK_CLIENT_CONFIG)),
        many(3, "rules", Object(&RULE_WITH_OPERATIONS)),
        one(4, "failurePolicy", Text),
        one(9, "matchPolicy", Text),
        one(5, "namespaceSelector", Object(&LABEL_SELECTOR)),
        one(11, "objectSelector", Object(&LABEL_SELECTOR)),
        one(6, "sideEffects", Text),
        one(7, "timeoutSeconds", Integer),
        many(8, "admissionReviewVersions", Text),
        one(10, "reinvocationPolicy", Text),
        many(12, "matchConditions", Object(&MATCH_CONDITION)),
    ],
);

pub(super) static WEBHOOK_CLIENT_CONFIG: Message = message(
    "admissionregistration.v1.WebhookClientConfig",
    &[
        one(3, "url", Text),
        one(1, "service", Object(&SERVICE_REFERENCE)),
        one(2, "caBundle", Bytes),
    ],
);

pub(super) static SERVICE_REFERENCE: Message = message(
    "admissionregistration.v1.ServiceReference",
    &[
        one(1, "namespace", Text),
        one(2, "name", Text),
        one(3, "path", Text),
        one(4, "port", Integer),
    ],
);

pub(super) static RULE_WITH_OPERATIONS: Message = message(
    "admissionregistration.v1.RuleWithOperations",
    &[many(1, "operations", Text), one(2, "rule", Inline(&RULE))],
);

pub(super) static RULE: Message = message(
    "admissionregistration.v1.Rule",
    &[
        many(1, "apiGroups", Text),
        many(2, "apiVersions", Text),
        many(3, "resources", Text),
        one(4, "scope", Text),
    ],
);

pub(super) static MATCH_CONDITION: Message = message(
    "admissionregistration.v1.MatchCondition",
    &[one(1, "name", Text), one(2, "expression", Text)],
);

pub(super) static VALIDATING_WEBHOOK_CONFIGURATION: Message = message(
    "admissionregistration.v1.ValidatingWebhookConfiguration",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "webhooks", Object(&VALIDATING_WEBHOOK)),
    ],
);

pub(super) static VALIDATING_WEBHOOK: Message = message(
    "admissionregistration.v1.ValidatingWebhook",
    &[
        one(1, "name", Text),
        one(2, "clientConfig", Object(&WEBHOOK_CLIENT_CONFIG)),
        many(3, "rules", Object(&RULE_WITH_OPERATIONS)),
        one(4, "failurePolicy", Text),
        one(9, "matchPolicy", Text),
        one(5, "namespaceSelector", Object(&LABEL_SELECTOR)),
        one(10, "objectSelector", Object(&LABEL_SELECTOR)),
        one(6, "sideEffects", Text),
        one(7, "timeoutSeconds", Integer),
        many(8, "admissionReviewVersions", Text),
        many(11, "matchConditions", Object(&MATCH_CONDITION)),
    ],
);
