//! Which lists of the built-in kinds are merged by a strategic merge patch.
//!
//! Decides nothing but this table: a list that is not named here is replaced as a whole.

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

const fn by(key: &'static str) -> Field {
    Field::Merge { key, item: &EMPTY }
}

pub(super) static METADATA: Node = Node(&[("finalizers", Field::Set), ("ownerReferences", by("uid"))]);
static PLAIN_KIND: Node = Node(&[("metadata", Field::Object(&METADATA))]);
static CONDITIONS: Node = Node(&[("conditions", by("type"))]);
static NAMESPACE: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("status", Field::Object(&CONDITIONS)),
]);
static SERVICE_ACCOUNT: Node = Node(&[("metadata", Field::Object(&METADATA)), ("secrets", by("name"))]);
static WEBHOOK: Node = Node(&[("matchConditions", by("name"))]);
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

static POLICY_SPEC: Node = Node(&[("matchConditions", by("name")), ("variables", by("name"))]);
static POLICY: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("spec", Field::Object(&POLICY_SPEC)),
]);

static CONTAINER: Node = Node(&[
    ("env", by("name")),
    ("ports", by("containerPort")),
    ("volumeDevices", by("devicePath")),
    ("volumeMounts", by("mountPath")),
]);
const CONTAINERS: Field = Field::Merge {
    key: "name",
    item: &CONTAINER,
};
/// The spec of a pod and the specs around it: no two of them use one name for different lists.
static SPEC: Node = Node(&[
    ("jobTemplate", Field::Object(&WORKLOAD)),
    ("template", Field::Object(&WORKLOAD)),
    ("containers", CONTAINERS),
    ("initContainers", CONTAINERS),
    ("ephemeralContainers", CONTAINERS),
    ("hostAliases", by("ip")),
    ("imagePullSecrets", by("name")),
    ("topologySpreadConstraints", by("topologyKey")),
    ("volumes", by("name")),
]);
/// What has the spec of a pod at some depth: kubectl patches it with the merge keys that it knows itself.
static WORKLOAD: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("spec", Field::Object(&SPEC)),
    ("status", Field::Object(&CONDITIONS)),
]);
static SERVICE_SPEC: Node = Node(&[("ports", by("port"))]);
static SERVICE: Node = Node(&[
    ("metadata", Field::Object(&METADATA)),
    ("spec", Field::Object(&SERVICE_SPEC)),
    ("status", Field::Object(&CONDITIONS)),
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
        (
            "" | "apps" | "batch",
            "Pod"
            | "ReplicationController"
            | "Deployment"
            | "ReplicaSet"
            | "StatefulSet"
            | "DaemonSet"
            | "Job"
            | "CronJob",
        ) => &WORKLOAD,
        ("", "Service") => &SERVICE,
        _ => &PLAIN_KIND,
    }
}
