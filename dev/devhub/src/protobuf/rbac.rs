//! Messages of roles and their bindings.
//!
//! Decides number, name and kind of every field, as Kubernetes 1.36 numbers them.

use super::message::Kind::{Object, Text};
use super::message::{Message, many, message, one};
use super::meta::{LABEL_SELECTOR, OBJECT_META};

pub(super) static ROLE: Message = message(
    "rbac.v1.Role",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "rules", Object(&POLICY_RULE)),
    ],
);

pub(super) static POLICY_RULE: Message = message(
    "rbac.v1.PolicyRule",
    &[
        many(1, "verbs", Text),
        many(2, "apiGroups", Text),
        many(3, "resources", Text),
        many(4, "resourceNames", Text),
        many(5, "nonResourceURLs", Text),
    ],
);

pub(super) static ROLE_BINDING: Message = message(
    "rbac.v1.RoleBinding",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "subjects", Object(&SUBJECT)),
        one(3, "roleRef", Object(&ROLE_REF)),
    ],
);

pub(super) static SUBJECT: Message = message(
    "rbac.v1.Subject",
    &[
        one(1, "kind", Text),
        one(2, "apiGroup", Text),
        one(3, "name", Text),
        one(4, "namespace", Text),
    ],
);

pub(super) static ROLE_REF: Message = message(
    "rbac.v1.RoleRef",
    &[
        one(1, "apiGroup", Text),
        one(2, "kind", Text),
        one(3, "name", Text),
    ],
);

pub(super) static CLUSTER_ROLE: Message = message(
    "rbac.v1.ClusterRole",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "rules", Object(&POLICY_RULE)),
        one(3, "aggregationRule", Object(&AGGREGATION_RULE)),
    ],
);

pub(super) static AGGREGATION_RULE: Message = message(
    "rbac.v1.AggregationRule",
    &[many(1, "clusterRoleSelectors", Object(&LABEL_SELECTOR))],
);

pub(super) static CLUSTER_ROLE_BINDING: Message = message(
    "rbac.v1.ClusterRoleBinding",
    &[
        one(1, "metadata", Object(&OBJECT_META)),
        many(2, "subjects", Object(&SUBJECT)),
        one(3, "roleRef", Object(&ROLE_REF)),
    ],
);
