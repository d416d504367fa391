//! Which lists of the built-in kinds are merged by a strategic merge patch.
//!
//! Decides nothing but this table: a list that is not named here is replaced as a whole. The workload kinds have theirs in
//! `workloads`.

/// The members of an object that are not plain.
#[derive(Clone, Copy, Debug)]
pub struct Node(pub &'static [(&'static str, Field)]);

/// How one member of an object is merged.
#[derive(Clone, Copy, Debug)]
pub enum Field {
    /// Objects merge, lists are replaced.
    Plain,
    /// An object with members that are not plain.
    Object(&'static Node),
    /// A list of objects, merged by `key`.
    Merge {
        /// Member that tells two items apart.
        key: &'static str,
        /// How an item is merged.
        item: &'static Node,
    },
    /// A list of scalars, merged as a set.
    Set,
}

impl Node {
    /// Returns how the member `name` is merged.
    pub fn field(&self, name: &str) -> Field {
        self.0
            .iter()
            .find(|(member, _)| *member == name)
            .map_or(Field::Plain, |(_, field)| *field)
    }
}

impl Field {
    /// Returns how the object, or each item of the list, is merged.
    pub fn node(self) -> &'static Node {
        match self {
            Self::Plain | Self::Set => &EMPTY,
            Self::Object(node) | Self::Merge { item: node, .. } => node,
        }
    }

    /// Returns the key by which a list is merged.
    pub fn merge_key(self) -> Option<&'static str> {
        match self {
            Self::Merge { key, .. } => Some(key),
            Self::Plain | Self::Object(_) | Self::Set => None,
        }
    }
}

static EMPTY: Node = Node(&[]);
pub(super) static METADATA: Node = Node(&[
    ("finalizers", Field::Set),
    (
        "ownerReferences",
        Field::Merge {
            key: "uid",
            item: &EMPTY,
        },
    ),
]);
static PLAIN_KIND: Node = Node(&[("metadata", Field::Object(&METADATA))]);
static NAMESPACE_STATUS: Node = Node(&[(
    "conditions",
    Field::Merge {
        key: "type",
        item: &EMPTY,
    },
)]);
static NAMESPACE: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("status", Field::Object(&NAMESPACE_STATUS)),
]);
static SERVICE_ACCOUNT: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    (
        "secrets",
        Field::Merge {
            key: "name",
            item: &EMPTY,
        },
    ),
]);
static WEBHOOK: Node = Node(&[(
    "matchConditions",
    Field::Merge {
        key: "name",
        item: &EMPTY,
    },
)]);
static WEBHOOK_CONFIGURATION: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    (
        "webhooks",
        Field::Merge {
            key: "name",
            item: &WEBHOOK,
        },
    ),
]);

static POLICY_SPEC: Node = Node(&[
    (
        "matchConditions",
        Field::Merge {
            key: "name",
            item: &EMPTY,
        },
    ),
    (
        "variables",
        Field::Merge {
            key: "name",
            item: &EMPTY,
        },
    ),
]);
static POLICY: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("spec", Field::Object(&POLICY_SPEC)),
]);

/// Returns the table of a built-in kind.
pub fn of(group: &str, kind: &str) -> &'static Node {
    match (group, kind) {
        ("", "Namespace") => &NAMESPACE,
        ("", "ServiceAccount") => &SERVICE_ACCOUNT,
        (
            "admissionregistration.k8s.io",
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration",
        ) => &WEBHOOK_CONFIGURATION,
        ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy") => &POLICY,
        _ => super::workloads::of(group, kind).unwrap_or(&PLAIN_KIND),
    }
}
