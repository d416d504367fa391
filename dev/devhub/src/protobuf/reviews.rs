//! Messages of the questions who a user is and what a user may do.
//!
//! Decides number, name and kind of every field, as Kubernetes 1.36 numbers them.

use super::message::Kind::{Bool, Long, Map, Object, Text, Texts, Time};
use super::message::{Message, many, message, one};
use super::meta::{FIELD_SELECTOR_REQUIREMENT, LABEL_SELECTOR_REQUIREMENT, OBJECT_META};

pub(super) static TOKEN_REVIEW: Message = message(
    "authentication.v1.TokenReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&TOKEN_REVIEW_SPEC)),
        one(3, "status", Object(&TOKEN_REVIEW_STATUS)),
    ],
);

pub(super) static TOKEN_REVIEW_SPEC: Message = message(
    "authentication.v1.TokenReviewSpec",
    &[one(1, "token", Text), many(2, "audiences", Text)],
);

pub(super) static TOKEN_REVIEW_STATUS: Message = message(
    "authentication.v1.TokenReviewStatus",
    &[
        one(1, "authenticated", Bool),
        one(2, "user", Object(&USER_INFO)),
        many(4, "audiences", Text),
        one(3, "error", Text),
    ],
);

pub(super) static USER_INFO: Message = message(
    "authentication.v1.UserInfo",
    &[
        one(1, "username", Text),
        one(2, "uid", Text),
        many(3, "groups", Text),
        one(4, "extra", Map(&Texts)),
    ],
);

pub(super) static SELF_SUBJECT_REVIEW: Message = message(
    "authentication.v1.SelfSubjectReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "status", Object(&SELF_SUBJECT_REVIEW_STATUS)),
    ],
);

pub(super) static SELF_SUBJECT_REVIEW_STATUS: Message = message(
    "authentication.v1.SelfSubjectReviewStatus",
    &[one(1, "userInfo", Object(&USER_INFO))],
);

pub(super) static TOKEN_REQUEST: Message = message(
    "authentication.v1.TokenRequest",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&TOKEN_REQUEST_SPEC)),
        one(3, "status", Object(&TOKEN_REQUEST_STATUS)),
    ],
);

pub(super) static TOKEN_REQUEST_SPEC: Message = message(
    "authentication.v1.TokenRequestSpec",
    &[
        many(1, "audiences", Text),
        one(4, "expirationSeconds", Long),
        one(3, "boundObjectRef", Object(&BOUND_OBJECT_REFERENCE)),
    ],
);

pub(super) static BOUND_OBJECT_REFERENCE: Message = message(
    "authentication.v1.BoundObjectReference",
    &[
        one(1, "kind", Text),
        one(2, "apiVersion", Text),
        one(3, "name", Text),
        one(4, "uid", Text),
    ],
);

pub(super) static TOKEN_REQUEST_STATUS: Message = message(
    "authentication.v1.TokenRequestStatus",
    &[one(1, "token", Text), one(2, "expirationTimestamp", Time)],
);

pub(super) static SUBJECT_ACCESS_REVIEW: Message = message(
    "authorization.v1.SubjectAccessReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&SUBJECT_ACCESS_REVIEW_SPEC)),
        one(3, "status", Object(&SUBJECT_ACCESS_REVIEW_STATUS)),
    ],
);

pub(super) static SUBJECT_ACCESS_REVIEW_SPEC: Message = message(
    "authorization.v1.SubjectAccessReviewSpec",
    &[
        one(1, "resourceAttributes", Object(&RESOURCE_ATTRIBUTES)),
        one(2, "nonResourceAttributes", Object(&NON_RESOURCE_ATTRIBUTES)),
        one(3, "user", Text),
        many(4, "groups", Text),
        one(5, "extra", Map(&Texts)),
        one(6, "uid", Text),
    ],
);

pub(super) static RESOURCE_ATTRIBUTES: Message = message(
    "authorization.v1.ResourceAttributes",
    &[
        one(1, "namespace", Text),
        one(2, "verb", Text),
        one(3, "group", Text),
        one(4, "version", Text),
        one(5, "resource", Text),
        one(6, "subresource", Text),
        one(7, "name", Text),
        one(8, "fieldSelector", Object(&FIELD_SELECTOR_ATTRIBUTES)),
        one(9, "labelSelector", Object(&LABEL_SELECTOR_ATTRIBUTES)),
    ],
);

pub(super) static FIELD_SELECTOR_ATTRIBUTES: Message = message(
    "authorization.v1.FieldSelectorAttributes",
    &[
        one(1, "rawSelector", Text),
        many(2, "requirements", Object(&FIELD_SELECTOR_REQUIREMENT)),
    ],
);

pub(super) static LABEL_SELECTOR_ATTRIBUTES: Message = message(
    "authorization.v1.LabelSelectorAttributes",
    &[
        one(1, "rawSelector", Text),
        many(2, "requirements", Object(&LABEL_SELECTOR_REQUIREMENT)),
    ],
);

pub(super) static NON_RESOURCE_ATTRIBUTES: Message = message(
    "authorization.v1.NonResourceAttributes",
    &[one(1, "path", Text), one(2, "verb", Text)],
);

pub(super) static SUBJECT_ACCESS_REVIEW_STATUS: Message = message(
    "authorization.v1.SubjectAccessReviewStatus",
    &[
        one(1, "allowed", Bool),
        one(4, "denied", Bool),
        one(2, "reason", Text),
        one(3, "evaluationError", Text),
    ],
);

pub(super) static SELF_SUBJECT_ACCESS_REVIEW: Message = message(
    "authorization.v1.SelfSubjectAccessReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&SELF_SUBJECT_ACCESS_REVIEW_SPEC)),
        one(3, "status", Object(&SUBJECT_ACCESS_REVIEW_STATUS)),
    ],
);

pub(super) static SELF_SUBJECT_ACCESS_REVIEW_SPEC: Message = message(
    "authorization.v1.SelfSubjectAccessReviewSpec",
    &[
        one(1, "resourceAttributes", Object(&RESOURCE_ATTRIBUTES)),
        one(2, "nonResourceAttributes", Object(&NON_RESOURCE_ATTRIBUTES)),
    ],
);

pub(super) static LOCAL_SUBJECT_ACCESS_REVIEW: Message = message(
    "authorization.v1.LocalSubjectAccessReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&SUBJECT_ACCESS_REVIEW_SPEC)),
        one(3, "status", Object(&SUBJECT_ACCESS_REVIEW_STATUS)),
    ],
);

pub(super) static SELF_SUBJECT_RULES_REVIEW: Message = message(
    "authorization.v1.SelfSubjectRulesReview",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        one(2, "spec", Object(&SELF_SUBJECT_RULES_REVIEW_SPEC)),
        one(3, "status", Object(&SUBJECT_RULES_REVIEW_STATUS)),
    ],
);

pub(super) static SELF_SUBJECT_RULES_REVIEW_SPEC: Message = message(
    "authorization.v1.SelfSubjectRulesReviewSpec",
    &[one(1, "namespace", Text)],
);

pub(super) static SUBJECT_RULES_REVIEW_STATUS: Message = message(
    "authorization.v1.SubjectRulesReviewStatus",
    &[
        many(1, "resourceRules", Object(&RESOURCE_RULE)),
        many(2, "nonResourceRules", Object(&NON_RESOURCE_RULE)),
        one(3, "incomplete", Bool),
        one(4, "evaluationError", Text),
    ],
);

pub(super) static RESOURCE_RULE: Message = message(
    "authorization.v1.ResourceRule",
    &[
        many(1, "verbs", Text),
        many(2, "apiGroups", Text),
        many(3, "resources", Text),
        many(4, "resourceNames", Text),
    ],
);

pub(super) static NON_RESOURCE_RULE: Message = message(
    "authorization.v1.NonResourceRule",
    &[many(1, "verbs", Text), many(2, "nonResourceURLs", Text)],
);
