//! The input of rules for an `AddOnTemplate`. Values with a wrong type are omitted, because the schema reports them.

use serde::Deserialize;
use serde_json::Value;

use super::body::{Node, listed};
use super::step_budget::{Items, StepBudget};
use api::names::labels::TEMPLATE_VERSION;
use api::v1alpha1::RegistrationSpec;
use kubernetes::field::Path;

/// The input of rules for an `AddOnTemplate`.
#[derive(Clone, Debug)]
pub(super) struct TemplateBody<'a> {
    /// `spec`, to compare it with what is stored.
    pub(super) spec: Option<Node<'a>>,
    /// `spec.addonName`.
    pub(super) addon: &'a str,
    /// `spec.agentSpec.workload.manifests`.
    pub(super) manifests: Items<Node<'a>>,
    /// Whether the agent registers and therefore has a kubeconfig.
    pub(super) registers: bool,
    /// `spec.registration`.
    pub(super) registration: Items<Node<'a>>,
    /// `spec.registration[].kubeClient.hubPermissions`.
    pub(super) permissions: Items<PermissionAt<'a>>,
    /// The version label.
    pub(super) version: Option<(Path, &'a str)>,
}

/// A hub permission that an agent requests: a role, and its namespace.
#[derive(Clone, Debug)]
pub(super) struct PermissionAt<'a> {
    /// `ClusterRole` or `Role`.
    pub(super) kind: &'a str,
    pub(super) role: &'a str,
    pub(super) role_path: Path,
    /// `None` for the namespace of each cluster.
    pub(super) namespace: Option<&'a str>,
    pub(super) namespace_path: Path,
}

impl<'a> PermissionAt<'a> {
    fn read(node: &Node<'a>) -> Option<Self> {
        let block = |name| node.key(name);
        match node.text("type")? {
            "CurrentCluster" => {
                let current = block("currentCluster")?;
                Some(Self {
                    kind: "ClusterRole",
                    role: current.text("clusterRoleName").unwrap_or_default(),
                    role_path: current.path.key("clusterRoleName"),
                    namespace: None,
                    namespace_path: node.path.clone(),
                })
            }
            "SingleNamespace" => {
                let single = block("singleNamespace")?;
                let role = single.key("roleRef")?;
                Some(Self {
                    kind: role.text("kind").unwrap_or_default(),
                    role: role.text("name").unwrap_or_default(),
                    role_path: role.path.key("name"),
                    namespace: Some(single.text("namespace").unwrap_or_default()),
                    namespace_path: single.path.key("namespace"),
                })
            }
            _ => None,
        }
    }
}

impl<'a> TemplateBody<'a> {
    /// Returns whether it requests anything on the hub beyond the agent's own name. What cannot be read counts as a request.
    pub(super) fn requests_access(&self, effort: &StepBudget<'_>) -> bool {
        let each = self.registration.each(effort);
        let mut each = each.map(|one| RegistrationSpec::deserialize(one.value));
        each.any(|one| one.map_or(true, |one| one.requests_access()))
    }

    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        let workload = spec
            .as_ref()
            .and_then(|spec| spec.key("agentSpec")?.key("workload"));
        Self {
            addon: spec
                .as_ref()
                .and_then(|spec| spec.text("addonName"))
                .unwrap_or_default(),
            manifests: listed(workload.as_ref(), "manifests", Some),
            registration: listed(spec.as_ref(), "registration", Some),
            permissions: permissions(spec.as_ref()),
            registers: spec
                .as_ref()
                .is_some_and(|spec| spec.key("registration").is_some()),
            spec,
            version: version_label(object),
        }
    }
}

fn version_label(object: &Value) -> Option<(Path, &str)> {
    let labels = Node::root(object).key("metadata")?.key("labels")?;
    let label = labels.text(TEMPLATE_VERSION).filter(|label| !label.is_empty())?;
    Some((labels.path.entry(TEMPLATE_VERSION), label))
}

fn permissions<'a>(spec: Option<&Node<'a>>) -> Items<PermissionAt<'a>> {
    let registrations = spec.and_then(|spec| spec.key("registration"));
    let clients = registrations
        .iter()
        .flat_map(Node::items)
        .filter(|one| one.text("type") == Some("KubeClient"));
    let lists: Vec<Node<'a>> = clients
        .filter_map(|one| one.key("kubeClient")?.key("hubPermissions"))
        .collect();
    let each = lists.iter().flat_map(Node::items);
    each.filter_map(|one| PermissionAt::read(&one)).collect()
}
