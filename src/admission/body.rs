//! What the rules see of an object: its leaves, each with its path.
//!
//! Decides how a document is read when half of it may be wrong: a value of the wrong type reads as absent here, and the
//! schema tells about it. So one misspelling never hides the faults beside it.

use serde_json::Value;

use crate::field::Path;
use crate::model::{
    RawBlock, RawConfigRollout, RawGroup, RawReference, RawRollingUpdate, RawStrategy, Scalar,
};
use crate::snapshot::terms;

/// A value with its path.
#[derive(Clone, Debug)]
pub(super) struct Node<'a> {
    pub(super) value: &'a Value,
    pub(super) path: Path,
}

impl<'a> Node<'a> {
    pub(super) fn root(value: &'a Value) -> Self {
        Self {
            value,
            path: Path::root(),
        }
    }

    /// Returns the entries of a map.
    pub(super) fn entries(&self) -> impl Iterator<Item = (&'a str, Self)> {
        let fields = self.value.as_object().into_iter().flatten();
        fields.map(|(name, value)| {
            // The API server writes plain names of entries like fields.
            let is_plain = name
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            let path = if is_plain && !name.is_empty() {
                self.path.key(name.clone())
            } else {
                self.path.entry(name)
            };
            (name.as_str(), Self { value, path })
        })
    }

    /// Returns a field; `null` counts as absent, as it does for the API server.
    pub(super) fn key(&self, name: &'static str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            value,
            path: self.path.key(name),
        })
    }

    fn items(&self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(|(index, value)| Self {
            value,
            path: self.path.index(index),
        })
    }

    pub(super) fn list(&self, name: &'static str) -> Vec<Self> {
        self.key(name)
            .map(|list| list.items().collect())
            .unwrap_or_default()
    }

    pub(super) fn text(&self, name: &str) -> Option<&'a str> {
        self.value.get(name)?.as_str()
    }

    pub(super) fn scalar(&self, name: &str) -> Option<Scalar<'a>> {
        self.value
            .get(name)
            .filter(|value| !value.is_null())
            .map(Scalar::from)
    }

    fn is_object(&self) -> bool {
        self.value.is_object()
    }
}

/// A reference to a configuration, where it stands.
#[derive(Clone, Debug)]
pub(super) struct ReferenceAt<'a> {
    /// Path of the reference.
    pub(super) path: Path,
    /// What it says.
    pub(super) raw: RawReference<'a>,
}

/// A configuration type that an add-on lists.
#[derive(Clone, Debug)]
pub(super) struct SupportedAt<'a> {
    /// Path of the entry.
    pub(super) path: Path,
    /// API group of the type.
    pub(super) group: Option<&'a str>,
    /// Plural resource name of the type.
    pub(super) resource: Option<&'a str>,
    /// The default object of the type; its path ends in `defaultConfig`.
    pub(super) default: Option<ReferenceAt<'a>>,
}

/// The spec that a placement creates add-ons with.
#[derive(Clone, Debug)]
pub(super) struct TemplateAt<'a> {
    /// Path of the template.
    pub(super) path: Path,
    /// The whole template, to compare two spellings.
    pub(super) value: &'a Value,
    /// Namespace for the agent.
    pub(super) install_namespace: Option<&'a str>,
    /// Configurations of the new add-on.
    pub(super) configs: Vec<ReferenceAt<'a>>,
    /// Version of the new add-on.
    pub(super) desired_version: Option<&'a str>,
}

/// A placement of an install strategy.
#[derive(Clone, Debug)]
pub(super) struct PlacementAt<'a> {
    /// Path of the entry.
    pub(super) path: Path,
    /// The whole entry, to compare it with what is stored.
    pub(super) value: &'a Value,
    /// Name of the placement.
    pub(super) name: Option<&'a str>,
    /// Namespace of the placement.
    pub(super) namespace: Option<&'a str>,
    /// What stands at `space`, a misspelling of `namespace`.
    pub(super) space: Option<&'a str>,
    /// Configurations of its clusters.
    pub(super) configs: Vec<ReferenceAt<'a>>,
    /// `addonSpec`.
    pub(super) spec: Option<TemplateAt<'a>>,
    /// `addonTemplate`.
    pub(super) template: Option<TemplateAt<'a>>,
    /// The rollout strategy and its path.
    pub(super) rollout: Option<(Path, RawStrategy<'a>)>,
}

/// What rules see of a `ClusterManagementAddOn`.
#[derive(Clone, Debug)]
pub(super) struct AddonBody<'a> {
    /// `spec.supportedConfigs`.
    pub(super) supported: Vec<SupportedAt<'a>>,
    /// `spec.configuration.configs`.
    pub(super) configured: Vec<ReferenceAt<'a>>,
    /// `spec.configuration.rolloutStrategy` and its path.
    pub(super) config_rollout: Option<(Path, RawConfigRollout<'a>)>,
    /// `spec.installStrategy.placements`.
    pub(super) placements: Vec<PlacementAt<'a>>,
    /// `spec.installStrategy.type`.
    pub(super) install_type: Option<&'a str>,
    /// `spec.installStrategy.labelSelector`.
    pub(super) label_selector: Option<Node<'a>>,
    /// `spec`, to compare parts of it with what is stored.
    pub(super) spec: Option<Node<'a>>,
}

/// What rules see of a `ManagedClusterAddOn`.
#[derive(Clone, Debug)]
pub(super) struct ClusterAddonBody<'a> {
    /// `spec.installNamespace`.
    pub(super) install_namespace: Option<&'a str>,
    /// `spec.configs`.
    pub(super) configs: Vec<ReferenceAt<'a>>,
    /// `spec.desiredVersion`, if it is not empty.
    pub(super) desired_version: Option<&'a str>,
    /// The version that a placement gave.
    pub(super) given_version: Option<&'a str>,
    /// `status.supportedConfigs`: group and resource.
    pub(super) declared: Vec<(&'a str, &'a str)>,
}

/// What rules see of an `AddOnHubConfig`.
#[derive(Clone, Debug)]
pub(super) struct HubConfigBody<'a> {
    /// `spec.desiredVersion`, if it is not empty.
    pub(super) desired_version: Option<&'a str>,
}

impl<'a> HubConfigBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        Self {
            desired_version: spec.as_ref().and_then(version),
        }
    }
}

/// What rules see of an `AddOnTemplate`.
#[derive(Clone, Debug)]
pub(super) struct TemplateBody<'a> {
    /// `spec.addonName`.
    pub(super) addon: &'a str,
    /// `spec.agentSpec.workload.manifests`.
    pub(super) manifests: Vec<Node<'a>>,
    /// Whether the agent registers, so that it has a kubeconfig.
    pub(super) registers: bool,
}

impl<'a> TemplateBody<'a> {
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
            manifests: listed(workload.as_ref(), "manifests"),
            registers: spec.is_some_and(|spec| spec.key("registration").is_some()),
        }
    }
}

/// What rules see of an `AddOnDeploymentConfig`: it has many small parts, which each rule reads for itself.
#[derive(Clone, Debug)]
pub(super) struct DeploymentConfigBody<'a> {
    /// `spec`.
    pub(super) spec: Option<Node<'a>>,
}

impl<'a> DeploymentConfigBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        Self {
            spec: Node::root(object).key("spec"),
        }
    }

    /// Returns the items of a list of the spec.
    pub(super) fn list(&self, name: &'static str) -> Vec<Node<'a>> {
        listed(self.spec.as_ref(), name)
    }

    /// Returns a field of the spec.
    pub(super) fn key(&self, name: &'static str) -> Option<Node<'a>> {
        self.spec.as_ref()?.key(name)
    }
}

// An empty version is none.
fn version<'a>(node: &Node<'a>) -> Option<&'a str> {
    node.text("desiredVersion").filter(|text| !text.is_empty())
}

impl<'a> AddonBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        let configuration = spec.as_ref().and_then(|spec| spec.key("configuration"));
        let rollout = configuration
            .as_ref()
            .and_then(|configuration| configuration.key("rolloutStrategy"));
        let install = spec.as_ref().and_then(|spec| spec.key("installStrategy"));
        Self {
            supported: listed(spec.as_ref(), "supportedConfigs")
                .iter()
                .map(supported)
                .collect(),
            configured: references(configuration.as_ref()),
            config_rollout: rollout.map(|node| (node.path.clone(), config_rollout(&node))),
            placements: listed(install.as_ref(), "placements")
                .iter()
                .map(placement)
                .collect(),
            install_type: install.as_ref().and_then(|install| install.text("type")),
            label_selector: install.as_ref().and_then(|install| install.key("labelSelector")),
            spec,
        }
    }
}

impl<'a> ClusterAddonBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        let status = Node::root(object).key("status");
        Self {
            install_namespace: spec.as_ref().and_then(|spec| spec.text("installNamespace")),
            configs: references(spec.as_ref()),
            desired_version: spec.as_ref().and_then(version),
            given_version: Node::root(object)
                .key("metadata")
                .and_then(|metadata| metadata.key("annotations")?.text(terms::GIVEN_VERSION)),
            declared: listed(status.as_ref(), "supportedConfigs")
                .iter()
                .filter_map(|entry| Some((entry.text("group").unwrap_or_default(), entry.text("resource")?)))
                .collect(),
        }
    }
}

fn listed<'a>(node: Option<&Node<'a>>, name: &'static str) -> Vec<Node<'a>> {
    node.map(|node| node.list(name)).unwrap_or_default()
}

// Entries that are no objects are left out; positions come from the list, so paths stay right.
fn references<'a>(node: Option<&Node<'a>>) -> Vec<ReferenceAt<'a>> {
    listed(node, "configs")
        .iter()
        .filter(|entry| entry.is_object())
        .map(reference)
        .collect()
}

fn reference<'a>(node: &Node<'a>) -> ReferenceAt<'a> {
    let raw = RawReference {
        group: node.text("group"),
        resource: node.text("resource"),
        namespace: node.text("namespace"),
        name: node.text("name"),
    };
    ReferenceAt {
        path: node.path.clone(),
        raw,
    }
}

fn supported<'a>(node: &Node<'a>) -> SupportedAt<'a> {
    let (group, resource) = (node.text("group"), node.text("resource"));
    let default = node.key("defaultConfig").map(|default| ReferenceAt {
        raw: RawReference {
            group,
            resource,
            namespace: default.text("namespace"),
            name: default.text("name"),
        },
        path: default.path,
    });
    SupportedAt {
        path: node.path.clone(),
        group,
        resource,
        default,
    }
}

fn placement<'a>(node: &Node<'a>) -> PlacementAt<'a> {
    PlacementAt {
        path: node.path.clone(),
        value: node.value,
        name: node.text("name"),
        namespace: node.text("namespace"),
        space: node.text("space"),
        configs: references(Some(node)),
        spec: node.key("addonSpec").map(template),
        template: node.key("addonTemplate").map(template),
        rollout: node
            .key("rolloutStrategy")
            .map(|node| (node.path.clone(), strategy(&node))),
    }
}

fn template(node: Node<'_>) -> TemplateAt<'_> {
    TemplateAt {
        value: node.value,
        install_namespace: node.text("installNamespace"),
        configs: references(Some(&node)),
        desired_version: version(&node),
        path: node.path,
    }
}

fn strategy<'a>(node: &Node<'a>) -> RawStrategy<'a> {
    RawStrategy {
        kind: node.scalar("type"),
        all: node.key("all").map(|node| block(&node)),
        progressive: node.key("progressive").map(|node| block(&node)),
        progressive_per_group: node.key("progressivePerGroup").map(|node| block(&node)),
    }
}

fn block<'a>(node: &Node<'a>) -> RawBlock<'a> {
    RawBlock {
        groups: node.list("mandatoryDecisionGroups").iter().map(group).collect(),
        max_concurrency: node.scalar("maxConcurrency"),
        max_failures: node.scalar("maxFailures"),
        min_success_time: node.scalar("minSuccessTime"),
        progress_deadline: node.scalar("progressDeadline"),
    }
}

fn group<'a>(node: &Node<'a>) -> RawGroup<'a> {
    RawGroup {
        name: node.text("groupName"),
        index: node.value.get("groupIndex").and_then(Value::as_i64),
    }
}

fn config_rollout<'a>(node: &Node<'a>) -> RawConfigRollout<'a> {
    RawConfigRollout {
        kind: node.scalar("type"),
        rolling: node
            .key("rollingUpdateWithPlacement")
            .map(|node| RawRollingUpdate {
                name: node.text("name"),
                namespace: node.text("namespace"),
                at_once: node.scalar("maxConcurrentlyUpdating"),
            }),
    }
}
