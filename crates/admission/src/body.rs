//! The input of rules: the values of an object, each with its path.
//!
//! A value with a wrong type counts as absent, and the schema reports it, so that one mistake does not hide other faults. Lists and maps
//! are returned as [`Items`], which cost a step of the budget for each item.

use serde_json::Value;

use super::step_budget::{Items, StepBudget};
use api::v1alpha1::AddOnDependency;
use kubernetes::field::Path;
use model::{RawBlock, RawConfigRollout, RawGroup, RawReference, RawRollingUpdate, RawStrategy, Scalar};
use store::terms;

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

    /// Returns the entries of a map; each one costs a step.
    pub(super) fn entries<'s>(
        &'s self,
        effort: &'s StepBudget<'_>,
    ) -> impl Iterator<Item = (&'a str, Self)> + 's {
        let fields = self.value.as_object().into_iter().flatten();
        fields.take_while(|_| effort.spend(1)).map(|(name, value)| {
            // The API server prints simple keys like fields.
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

    /// Returns a field; `null` counts as absent, as in the API server.
    pub(super) fn key(&self, name: &'static str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(Self {
            value,
            path: self.path.key(name),
        })
    }

    pub(super) fn items(&self) -> impl Iterator<Item = Self> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().enumerate().map(|(index, value)| Self {
            value,
            path: self.path.index(index),
        })
    }

    /// Returns the items of a list.
    pub(super) fn list(&self, name: &'static str) -> Items<Self> {
        listed(Some(self), name, Some)
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

/// A reference to a configuration with its path.
#[derive(Clone, Debug)]
pub(super) struct ReferenceAt<'a> {
    /// Path of the reference.
    pub(super) path: Path,
    /// The reference.
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

/// The template from which a placement creates ManagedClusterAddOns.
#[derive(Clone, Debug)]
pub(super) struct TemplateAt<'a> {
    /// Path of the template.
    pub(super) path: Path,
    /// The whole template, to compare `addonSpec` and `addonTemplate`.
    pub(super) value: &'a Value,
    /// Namespace for the agent.
    pub(super) install_namespace: Option<&'a str>,
    /// Configurations of the new add-on.
    pub(super) configs: Items<ReferenceAt<'a>>,
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
    /// The value of `space`, a misspelling of `namespace`.
    pub(super) space: Option<&'a str>,
    /// Configurations of its clusters.
    pub(super) configs: Items<ReferenceAt<'a>>,
    /// `addonSpec`.
    pub(super) spec: Option<TemplateAt<'a>>,
    /// `addonTemplate`.
    pub(super) template: Option<TemplateAt<'a>>,
    /// The rollout strategy and its path.
    pub(super) rollout: Option<(Path, RawStrategy<'a>)>,
}

/// The input of rules for a `ClusterManagementAddOn`.
#[derive(Clone, Debug)]
pub(super) struct AddonBody<'a> {
    /// The whole object.
    pub(super) object: &'a Value,
    /// `spec.supportedConfigs`.
    pub(super) supported: Items<SupportedAt<'a>>,
    /// `spec.configuration.configs`.
    pub(super) configured: Items<ReferenceAt<'a>>,
    /// `spec.configuration.rolloutStrategy` and its path.
    pub(super) config_rollout: Option<(Path, RawConfigRollout<'a>)>,
    /// `spec.installStrategy.placements`.
    pub(super) placements: Items<PlacementAt<'a>>,
    /// `spec.installStrategy.type`.
    pub(super) install_type: Option<&'a str>,
    /// `spec.installStrategy.labelSelector`.
    pub(super) label_selector: Option<Node<'a>>,
    /// `spec`, to compare parts of it with what is stored.
    pub(super) spec: Option<Node<'a>>,
    /// The required ones of `spec.dependencies`: the paths of their names, and the names.
    pub(super) dependencies: Items<(Path, &'a str)>,
    /// `metadata.annotations`.
    pub(super) annotations: Option<Node<'a>>,
}

/// The input of rules for a `ManagedClusterAddOn`.
#[derive(Clone, Debug)]
pub(super) struct ClusterAddonBody<'a> {
    /// The whole object.
    pub(super) object: &'a Value,
    /// `spec.installNamespace`.
    pub(super) install_namespace: Option<&'a str>,
    /// `spec.configs`.
    pub(super) configs: Items<ReferenceAt<'a>>,
    /// `spec.desiredVersion`, if it is not empty.
    pub(super) desired_version: Option<&'a str>,
    /// The version that a placement has set.
    pub(super) given_version: Option<&'a str>,
    /// `status.supportedConfigs`: group and resource.
    pub(super) declared: Items<(&'a str, &'a str)>,
    /// `metadata.annotations`.
    pub(super) annotations: Option<Node<'a>>,
}

/// The input of rules for an `AddOnHubConfig`.
#[derive(Clone, Debug)]
pub(super) struct HubConfigBody<'a> {
    /// `spec`, to compare it with what is stored.
    pub(super) spec: Option<Node<'a>>,
    /// `spec.desiredVersion`, if it is not empty.
    pub(super) desired_version: Option<&'a str>,
}

impl<'a> HubConfigBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        Self {
            desired_version: spec.as_ref().and_then(version),
            spec,
        }
    }
}

/// The input of rules for a `ManagedClusterSetBinding`.
#[derive(Clone, Debug)]
pub(super) struct SetBindingBody<'a> {
    /// `spec.clusterSet`.
    pub(super) set: &'a str,
}

impl<'a> SetBindingBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        Self {
            set: spec.and_then(|spec| spec.text("clusterSet")).unwrap_or_default(),
        }
    }
}

/// The input of rules for an `AddOnDeploymentConfig`. Each rule parses the parts that it needs.
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
    pub(super) fn list(&self, name: &'static str) -> Items<Node<'a>> {
        listed(self.spec.as_ref(), name, Some)
    }

    /// Returns a field of the spec.
    pub(super) fn key(&self, name: &'static str) -> Option<Node<'a>> {
        self.spec.as_ref()?.key(name)
    }
}

fn annotations(object: &Value) -> Option<Node<'_>> {
    Node::root(object).key("metadata")?.key("annotations")
}

// An empty version is the same as no version.
fn version<'a>(node: &Node<'a>) -> Option<&'a str> {
    node.text("desiredVersion").filter(|text| !text.is_empty())
}

impl<'a> AddonBody<'a> {
    /// Returns the annotation with the types that clusters cannot override.
    pub(super) fn protected(&self) -> Option<&'a str> {
        self.annotations.as_ref()?.text(terms::PROTECTED_CONFIGS)
    }

    /// Returns the annotation with the types of which all levels are merged.
    pub(super) fn merged(&self) -> Option<&'a str> {
        self.annotations.as_ref()?.text(terms::MERGED_CONFIGS)
    }

    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        let configuration = spec.as_ref().and_then(|spec| spec.key("configuration"));
        let rollout = configuration
            .as_ref()
            .and_then(|configuration| configuration.key("rolloutStrategy"));
        let install = spec.as_ref().and_then(|spec| spec.key("installStrategy"));
        Self {
            object,
            supported: listed(spec.as_ref(), "supportedConfigs", |node| Some(supported(&node))),
            configured: references(configuration.as_ref()),
            config_rollout: rollout.map(|node| (node.path.clone(), config_rollout(&node))),
            placements: listed(install.as_ref(), "placements", |node| Some(placement(&node))),
            install_type: install.as_ref().and_then(|install| install.text("type")),
            label_selector: install.as_ref().and_then(|install| install.key("labelSelector")),
            dependencies: listed(spec.as_ref(), "dependencies", |node| {
                let is_required = node.text("type") != Some(AddOnDependency::OPTIONAL);
                Some((node.path.key("name"), node.text("name").filter(|_| is_required)?))
            }),
            spec,
            annotations: annotations(object),
        }
    }
}

impl<'a> ClusterAddonBody<'a> {
    /// Reads an object.
    pub(super) fn read(object: &'a Value) -> Self {
        let spec = Node::root(object).key("spec");
        let status = Node::root(object).key("status");
        Self {
            object,
            install_namespace: spec.as_ref().and_then(|spec| spec.text("installNamespace")),
            configs: references(spec.as_ref()),
            desired_version: spec.as_ref().and_then(version),
            given_version: annotations(object).and_then(|all| all.text(terms::GIVEN_VERSION)),
            annotations: annotations(object),
            declared: listed(status.as_ref(), "supportedConfigs", |entry| {
                Some((entry.text("group").unwrap_or_default(), entry.text("resource")?))
            }),
        }
    }
}

/// Parses every item of a list, once.
pub(super) fn listed<'a, T>(
    node: Option<&Node<'a>>,
    name: &'static str,
    read: impl Fn(Node<'a>) -> Option<T>,
) -> Items<T> {
    let list = node.and_then(|node| node.key(name));
    list.iter().flat_map(Node::items).filter_map(read).collect()
}

// Entries that are no objects are omitted. The index is that in the list, so paths are right.
fn references<'a>(node: Option<&Node<'a>>) -> Items<ReferenceAt<'a>> {
    listed(node, "configs", |entry| {
        entry.is_object().then(|| reference(&entry))
    })
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

/// Returns the placements of a ManifestWorkReplicaSet, which are in its namespace.
pub(super) fn placement_refs(object: &Value) -> Items<PlacementAt<'_>> {
    let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
    let spec = Node::root(object).key("spec");
    listed(spec.as_ref(), "placementRefs", |node| {
        Some(PlacementAt {
            namespace,
            ..placement(&node)
        })
    })
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
    RawStrategy::read(node.scalar("type"), |kind| {
        node.key(kind.block()).map(|node| block(&node))
    })
}

fn block<'a>(node: &Node<'a>) -> RawBlock<'a> {
    RawBlock {
        groups: node
            .key("mandatoryDecisionGroups")
            .iter()
            .flat_map(Node::items)
            .map(|node| group(&node))
            .collect(),
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
