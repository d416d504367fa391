//! The roles and bindings that every cluster has.
//!
//! The permissions of administrators, editors, viewers and unauthenticated users from the start.

use serde_json::{Value, json};

use super::GROUP;

const READ: &[&str] = &["get", "list", "watch"];
const WRITE: &[&str] = &["create", "delete", "deletecollection", "patch", "update"];
const CREATE: &[&str] = &["create"];

/// Group, resources and verbs.
type Row = (
    &'static str,
    &'static [&'static str],
    &'static [&'static [&'static str]],
);

/// What viewers may do: read everything that holds no secrets.
const VIEW: &[Row] = &[
    (
        "",
        &["bindings", "configmaps", "endpoints", "events", "limitranges"],
        &[READ],
    ),
    (
        "",
        &[
            "namespaces",
            "namespaces/status",
            "resourcequotas",
            "resourcequotas/status",
        ],
        &[READ],
    ),
    (
        "",
        &["persistentvolumeclaims", "persistentvolumeclaims/status"],
        &[READ],
    ),
    (
        "",
        &[
            "pods",
            "pods/log",
            "pods/status",
            "serviceaccounts",
            "services",
            "services/status",
        ],
        &[READ],
    ),
    (
        "",
        &[
            "replicationcontrollers",
            "replicationcontrollers/scale",
            "replicationcontrollers/status",
        ],
        &[READ],
    ),
    (
        "apps",
        &["controllerrevisions", "daemonsets", "daemonsets/status"],
        &[READ],
    ),
    (
        "apps",
        &["deployments", "deployments/scale", "deployments/status"],
        &[READ],
    ),
    (
        "apps",
        &["replicasets", "replicasets/scale", "replicasets/status"],
        &[READ],
    ),
    (
        "apps",
        &["statefulsets", "statefulsets/scale", "statefulsets/status"],
        &[READ],
    ),
    (
        "autoscaling",
        &["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
        &[READ],
    ),
    (
        "batch",
        &["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
        &[READ],
    ),
    ("discovery.k8s.io", &["endpointslices"], &[READ]),
    (
        "networking.k8s.io",
        &["ingresses", "ingresses/status", "networkpolicies"],
        &[READ],
    ),
    (
        "policy",
        &["poddisruptionbudgets", "poddisruptionbudgets/status"],
        &[READ],
    ),
];

/// What editors may do besides: change it, read secrets and act as service accounts.
const EDIT: &[Row] = &[
    (
        "",
        &["pods/attach", "pods/exec", "pods/portforward", "pods/proxy"],
        &[READ, WRITE],
    ),
    ("", &["secrets", "services/proxy"], &[READ, WRITE]),
    ("", &["serviceaccounts"], &[&["impersonate"], WRITE]),
    (
        "",
        &[
            "pods",
            "configmaps",
            "events",
            "persistentvolumeclaims",
            "services",
        ],
        &[WRITE],
    ),
    (
        "",
        &["replicationcontrollers", "replicationcontrollers/scale"],
        &[WRITE],
    ),
    ("", &["pods/eviction", "serviceaccounts/token"], &[CREATE]),
    (
        "apps",
        &[
            "daemonsets",
            "deployments",
            "deployments/rollback",
            "deployments/scale",
        ],
        &[WRITE],
    ),
    (
        "apps",
        &[
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
        ],
        &[WRITE],
    ),
    ("autoscaling", &["horizontalpodautoscalers"], &[WRITE]),
    ("batch", &["cronjobs", "jobs"], &[WRITE]),
    ("coordination.k8s.io", &["leases"], &[READ, WRITE]),
    ("networking.k8s.io", &["ingresses", "networkpolicies"], &[WRITE]),
    ("policy", &["poddisruptionbudgets"], &[WRITE]),
];

/// What administrators of a namespace may do besides: give away what they have.
const ADMIN: &[Row] = &[
    ("authorization.k8s.io", &["localsubjectaccessreviews"], &[CREATE]),
    (GROUP, &["rolebindings", "roles"], &[READ, WRITE]),
];

/// What every authenticated user may ask.
const BASIC: &[Row] = &[
    ("authentication.k8s.io", &["selfsubjectreviews"], &[CREATE]),
    (
        "authorization.k8s.io",
        &["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
        &[CREATE],
    ),
];

const EVERYTHING: &[Row] = &[("*", &["*"], &[&["*"]])];

const PUBLIC: &[&str] = &["/healthz", "/livez", "/readyz", "/version", "/version/"];
const DISCOVERY: &[&str] = &[
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
];

/// Returns the objects that a hub with access control starts with.
pub(crate) fn bootstrap() -> Vec<Value> {
    let masters = ["system:masters"];
    let authenticated = ["system:authenticated"];
    let all_users = ["system:authenticated", "system:unauthenticated"];
    let label = |to: &str| format!("{GROUP}/aggregate-to-{to}");
    vec![
        role("cluster-admin", None, EVERYTHING, (&["*"], &["*"])),
        role("system:discovery", None, &[], (&["get"], DISCOVERY)),
        role("system:public-info-viewer", None, &[], (&["get"], PUBLIC)),
        role("system:basic-user", None, BASIC, (&[], &[])),
        role("system:aggregate-to-view", Some(label("view")), VIEW, (&[], &[])),
        role("system:aggregate-to-edit", Some(label("edit")), EDIT, (&[], &[])),
        role(
            "system:aggregate-to-admin",
            Some(label("admin")),
            ADMIN,
            (&[], &[]),
        ),
        aggregated("view", Some(label("edit")), &label("view")),
        aggregated("edit", Some(label("admin")), &label("edit")),
        aggregated("admin", None, &label("admin")),
        binding("cluster-admin", &masters),
        binding("system:basic-user", &authenticated),
        binding("system:discovery", &authenticated),
        binding("system:public-info-viewer", &all_users),
    ]
}

fn metadata(name: &str, label: Option<String>) -> Value {
    let mut labels = serde_json::Map::new();
    labels.insert("kubernetes.io/bootstrapping".to_owned(), json!("rbac-defaults"));
    if let Some(label) = label {
        labels.insert(label, json!("true"));
    }
    let annotations = json!({ "rbac.authorization.kubernetes.io/autoupdate": "true" });
    json!({ "name": name, "labels": labels, "annotations": annotations })
}

fn role(name: &str, label: Option<String>, rows: &[Row], (verbs, urls): (&[&str], &[&str])) -> Value {
    let mut rules: Vec<Value> = rows
        .iter()
        .map(|(group, resources, verbs)| {
            json!({ "apiGroups": [group], "resources": resources, "verbs": verbs.concat() })
        })
        .collect();
    if !urls.is_empty() {
        rules.push(json!({ "nonResourceURLs": urls, "verbs": verbs }));
    }
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole",
        "metadata": metadata(name, label), "rules": rules,
    })
}

fn aggregated(name: &str, label: Option<String>, selects: &str) -> Value {
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": metadata(name, label),
        "aggregationRule": { "clusterRoleSelectors": [{ "matchLabels": { selects: "true" } }] },
        "rules": [],
    })
}

fn binding(role: &str, groups: &[&str]) -> Value {
    let subjects: Vec<Value> = groups
        .iter()
        .map(|group| json!({ "kind": "Group", "name": group, "apiGroup": GROUP }))
        .collect();
    json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding", "metadata": metadata(role, None),
        "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": role }, "subjects": subjects,
    })
}
