//! What the store remembers of each object: the parsed, compact form that plans are made from.
//!
//! Decides which parts of an object matter. Never keeps managed fields, foreign spec or whole manifests of works.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::content::{DeploymentConfig, Template};
use crate::facts::{AddonFacts, ClusterFacts};
use crate::kind::Kind;
use crate::names::LabelMap;
use crate::record::meta::Claims;
use crate::record::meta::{Condition, Edit, Meta, OwnerReference, PauseAuthor, SetBy, Status};
pub use crate::record::reference::{Applied, ConfigRef, ConfigType, Reference};
use crate::record::rollout::Progression;
pub use crate::record::work::{HashPlace, HookReport, Signal, Work, Workload};
use crate::registration::Registered;
use crate::removal::Farewell;
use crate::terms;
use api::ApprovalDecision;
use model::Name;
use model::{CheckDoubt, CheckResult, RolloutCheck};
use model::{ClusterKey, ClusterSource, ConfigRollout, Limit, RolloutStrategy, Selector};

/// A `ManagedCluster`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Identity and revision.
    pub meta: Meta,
    /// Annotations that are copied to its add-ons.
    pub annotations: LabelMap,
    /// The record of an add-on to which all of them were copied, "" when there are none.
    pub copied: Name,
    /// Its labels.
    pub labels: LabelMap,
    /// Whether the hub has accepted it; before that it has no namespace.
    pub accepted: bool,
    /// The add-ons that it does not want, as its annotation lists them.
    pub opt_out: Name,
    /// The cluster's own availability.
    pub available: Option<Status>,
    /// Reason and message of the cluster's availability while that is not known.
    pub unknown: Option<(Name, Name)>,
    /// Image mirrors as the cluster's annotation gives them, "" when it has none.
    pub image_registries: Name,
    /// All its annotations that templates may use.
    pub said: LabelMap,
    /// What admission may ask about the cluster.
    pub facts: Arc<ClusterFacts>,
}

impl Cluster {
    /// Returns what the cluster says under a key.
    pub fn value(&self, asked: &ClusterKey) -> Option<&Name> {
        let values = match asked.source {
            ClusterSource::Label => &self.labels,
            ClusterSource::Claim => &self.facts.claims,
            ClusterSource::Annotation => &self.said,
        };
        values.get(&asked.key)
    }

    /// Returns whether the cluster has opted out of an add-on.
    pub fn opts_out_of(&self, addon: &str) -> bool {
        let mut listed = self.opt_out.split(',').map(str::trim);
        listed.any(|name| name == "*" || name == addon)
    }

    /// Returns whether a selector matches the cluster's labels.
    pub fn is_matched_by(&self, selector: &Selector) -> bool {
        selector.matches(|key| self.labels.get(key).map(|value| &**value))
    }
}

/// A `RolloutFreeze`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FreezeRecord {
    /// Identity and revision.
    pub meta: Meta,
    /// Its name.
    pub name: Name,
    /// What it says, or the first fault of its spec: then it stops everything.
    pub freeze: Result<model::Freeze, String>,
    /// Who set it; absent where the hub does not record it.
    pub set_by: Option<SetBy>,
}

/// A `RolloutProfile`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileRecord {
    /// Identity and revision.
    pub meta: Meta,
    /// Its name.
    pub name: Name,
    /// Whether it is the default of the hub.
    pub is_default: bool,
    /// What it sets, or what is wrong with it: then nothing starts where it applies.
    pub profile: Result<Arc<model::RolloutProfile>, Name>,
    /// Who set its pause.
    pub pauses: Vec<PauseAuthor>,
}

/// A `RolloutCheck`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckRecord {
    /// Identity and revision.
    pub meta: Meta,
    /// What is checked, or the first fault of the spec.
    pub check: Result<RolloutCheck, Name>,
    /// The last result, or why there is none.
    pub result: Result<CheckResult, CheckDoubt>,
    /// How many evaluations in a row were false.
    pub failures: i64,
}

/// A `RolloutApproval`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApprovalRecord {
    /// Identity and revision.
    pub meta: Meta,
    /// The add-on; empty for an upgrade.
    pub addon: Name,
    /// The upgrade, as `namespace/name`; empty for an add-on.
    pub upgrade: Name,
    /// The placement, as `namespace/name`.
    pub placement: Name,
    /// The decision group: its name, or its index where it has none.
    pub group: Name,
    /// The decision, if the webhook has recorded its author.
    pub decision: Option<ApprovalDecision>,
    /// The contents that were approved last, the newest first.
    pub approved: Vec<ApprovalDecision>,
    /// The status as it stands.
    pub status: Map<String, Value>,
    /// `metadata.ownerReferences`
    pub owners: Vec<OwnerReference>,
}

impl ApprovalRecord {
    /// Returns the decision about a content, if it is the last one.
    fn decided(&self, content: &str, result: &str) -> Option<&ApprovalDecision> {
        let decision = self.decision.as_ref();
        decision.filter(|one| one.content == content && one.result == result)
    }

    /// Returns the decision by which a content is rejected.
    pub fn rejects(&self, content: &str) -> Option<&ApprovalDecision> {
        self.decided(content, "Rejected")
    }

    /// Returns whether a content is approved: by the decision, or by an earlier one.
    pub fn approves(&self, content: &str) -> bool {
        self.decided(content, "Approved").is_some()
            || (self.rejects(content).is_none() && self.approved.iter().any(|one| one.content == content))
    }
}

/// A `Placement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placement {
    /// Identity and revision.
    pub meta: Meta,
    /// `status.numberOfSelectedClusters`: tells "selects nothing" from "not decided yet".
    pub selected: Option<i64>,
    /// `spec.decisionStrategy.groupStrategy.clustersPerDecisionGroup`
    pub per_group: Option<Limit>,
}

impl Placement {
    /// Returns whether decisions that name so many clusters are the whole: a scheduler that writes them again leaves a moment
    /// without them, or with empty ones, so that a cluster is absent is only believed when they name as many as the scheduler
    /// itself has counted. One that has not counted yet has written its decisions before it fills them in: empty ones say
    /// nothing.
    pub fn is_decided_by(&self, named: usize) -> bool {
        match self.selected {
            Some(counted) => i64::try_from(named).is_ok_and(|named| named >= counted),
            None => named > 0,
        }
    }
}

/// A `PlacementDecision`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Identity and revision.
    pub meta: Meta,
    /// Name of the placement that it belongs to.
    pub placement: Name,
    /// Index of the decision group; absent or unreadable counts as 0.
    pub group_index: u32,
    /// Name of the decision group, "" when it has none.
    pub group_name: Name,
    /// The clusters decided for.
    pub clusters: Vec<Name>,
}

/// How an add-on finds its clusters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InstallStrategy {
    /// A user or another program creates the add-ons.
    Manual,
    /// The union of placements.
    Placements,
    /// The labels of clusters; without a selector it selects nothing.
    Labels(Option<Selector>),
    /// A selector of labels that is invalid, with the reason.
    BadLabels(Name),
    /// A type that this version does not drive.
    Other(Name),
}

/// What the lifecycle annotation of an add-on says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lifecycle {
    /// The hub manages the add-on: it says so, or there is no annotation.
    Managed,
    /// Tidegate manages the add-on, even where another manager has the others.
    Tidegate,
    /// The annotation has no value.
    Empty,
    /// Anything else: the add-on manages itself.
    Own(Name),
}

/// The spec that a `ManagedClusterAddOn` is created with.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Creation {
    /// `installNamespace`
    pub install_namespace: Option<Name>,
    /// `configs`
    pub configs: Vec<ConfigRef>,
    /// `desiredVersion`
    pub desired_version: Option<Name>,
}

/// One entry of `spec.installStrategy.placements`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacementUse {
    /// Namespace of the placement.
    pub namespace: Name,
    /// Name of the placement.
    pub name: Name,
    /// Configurations of the clusters that it selects.
    pub configs: Vec<ConfigRef>,
    /// How changes are rolled out to them, or what is wrong with the strategy.
    pub rollout: Result<RolloutStrategy, Name>,
    /// The spec that add-ons of this placement are created with.
    pub creation: Creation,
}

/// A default configuration, in the place where its author wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefaultConfig {
    /// Group and resource.
    pub of: ConfigType,
    /// The object, absent where the type is supported without a default.
    pub config: Option<ConfigRef>,
}

/// A `ClusterManagementAddOn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AddOn {
    /// Identity and revision.
    pub meta: Meta,
    /// The add-on's name.
    pub name: Name,
    /// What the lifecycle annotation says.
    pub lifecycle: Lifecycle,
    /// Whether that leaves the add-on to us.
    pub managed: bool,
    /// `spec.supportedConfigs`, in order.
    pub supported: Vec<DefaultConfig>,
    /// `spec.configuration.configs`, in order.
    pub configuration: Vec<ConfigRef>,
    /// How changes of `spec.configuration.configs` are rolled out, or what is wrong with the strategy.
    pub configuration_rollout: Result<ConfigRollout, Name>,
    /// What is wrong with annotations in which settings of rollouts stood once; absent where there are none.
    pub outdated: Option<Name>,
    /// Until when its removals go without a budget.
    pub removals_until: Option<Timestamp>,
    /// How the add-on finds its clusters.
    pub strategy: InstallStrategy,
    /// `spec.installStrategy.placements`, in order.
    pub placements: Vec<PlacementUse>,
    /// `status.observedGeneration`
    pub observed: Option<i64>,
    /// `status.defaultconfigReferences`, with their hashes.
    pub defaults: Vec<(ConfigRef, Name)>,
    /// `status.installProgressions`, absent while it has not been written.
    pub progressions: Option<Vec<Progression>>,
    /// `status.conditions`
    pub conditions: Vec<Condition>,
    /// `status.supportedVersions`
    pub supported_versions: Vec<Name>,
    /// `status.defaultVersion`, "" when it is absent.
    pub default_version: Name,
    /// What admission may ask about the add-on.
    pub facts: Arc<AddonFacts>,
}

/// A `ManagedClusterAddOn`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Instance {
    /// Identity and revision.
    pub meta: Meta,
    /// The add-on (the object's name).
    pub addon: Name,
    /// The cluster (the object's namespace).
    pub cluster: Name,
    /// Its owners.
    pub owners: Arc<[OwnerReference]>,
    /// What other field managers own of it.
    pub claims: Arc<Claims>,
    /// What it says about its end.
    pub farewell: Farewell,
    /// What made us create it, "" when the mark is absent: then we never delete it.
    pub installed_by: Name,
    /// Since when nothing selects its cluster any more.
    pub deselected_at: Option<Timestamp>,
    /// Its annotations that are copied from the cluster.
    pub annotations: LabelMap,
    /// Which of them were copied from the cluster, as our annotation says; "" when it is absent.
    pub copied: Name,
    /// The hosting cluster, "" when the agent runs on the cluster itself.
    pub hosting_cluster: Name,
    /// `spec.installNamespace`
    pub install_namespace: Name,
    /// `spec.configs`
    pub configs: Box<[ConfigRef]>,
    /// `spec.desiredVersion`, "" when it is absent.
    pub desired_version: Name,
    /// The version that a placement gave, as far as we have recorded it, "" when it gave none.
    pub given_version: Name,
    /// `status.currentVersion`, "" when it is absent.
    pub current_version: Name,
    /// `status.lastVersion`, "" when it is absent.
    pub last_version: Name,
    /// `status.observedGeneration`
    pub observed: Option<i64>,
    /// `status.supportedConfigs`
    pub supported: Arc<[ConfigType]>,
    /// `status.configReferences`
    pub references: Arc<[Reference]>,
    /// `status.healthCheck.mode`, "" when absent.
    pub health_mode: Name,
    /// `status.conditions`, those of other writers included: a list is patched as a whole.
    pub conditions: Box<[Condition]>,
    /// `status.registrations`
    pub registrations: Box<[Registered]>,
    /// `status.kubeClientDriver`, which the cluster's own agent writes.
    pub driver: Name,
    /// `status.namespace`
    pub namespace: Name,
}

impl Instance {
    /// Returns whether an install strategy gave it and may take it away again: what another manager applies stays.
    pub fn is_given(&self) -> bool {
        !self.installed_by.is_empty() && !self.claims.is_adopted()
    }

    /// Returns whether its version is what a placement gave: no user has chosen another one, and no other manager owns it. What a
    /// user made by hand belongs to the user, whatever is in it. A manager that applies the object and leaves the version out
    /// has chosen none.
    pub fn has_given_version(&self) -> bool {
        let is_theirs = self.claims.version || self.claims.has(terms::GIVEN_VERSION);
        let is_left_out = self.desired_version.is_empty() && self.claims.is_adopted();
        let is_unchanged = self.desired_version == self.given_version || is_left_out;
        !self.installed_by.is_empty() && is_unchanged && !is_theirs
    }

    /// Returns the condition of a type.
    pub fn condition(&self, kind: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| &*condition.kind == kind)
    }

    /// Returns which of its `AddOnDeploymentConfig`s its works are made from.
    pub fn layering(&self) -> Layering {
        let recorded = self.condition(terms::MERGED);
        Layering::of(recorded.is_some_and(|recorded| recorded.status == Status::True))
    }
}

/// Which of several `AddOnDeploymentConfig`s count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Layering {
    /// The first.
    #[default]
    Replace,
    /// All of them, each for what those before it leave open.
    Merge,
}

impl Layering {
    /// Returns whether all count.
    pub fn of(all_count: bool) -> Self {
        if all_count { Self::Merge } else { Self::Replace }
    }

    /// Returns those of a list that count.
    pub fn counting<T>(self, all: impl Iterator<Item = T>) -> impl Iterator<Item = T> {
        all.take(match self {
            Self::Replace => 1,
            Self::Merge => usize::MAX,
        })
    }
}

/// Content of a configuration object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// An `AddOnDeploymentConfig`.
    Deployment(DeploymentConfig),
    /// An `AddOnTemplate`.
    Template(Template),
    /// An `AddOnHubConfig`.
    Hub,
}

/// A configuration object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// Identity and revision.
    pub meta: Meta,
    /// Its spec hash.
    pub hash: Name,
    /// The version of the add-on that it stands for: the label of a template, or what an `AddOnHubConfig` asks for.
    pub version: Option<Name>,
    /// Whether `version` can be read as one; asked for every cluster, so it is found out once.
    pub is_version: bool,
    /// The add-on that a template is for, "" for other kinds.
    pub addon: Name,
    /// What it says.
    pub content: Arc<Content>,
    /// The text of which `hash` is the hash: all of it that counts, as JSON.
    pub text: Arc<str>,
    /// The last edit of its spec, where the hub records it.
    pub edit: Option<Edit>,
    /// Why it was changed: the annotation `kubernetes.io/change-cause`.
    pub cause: Option<Name>,
}

/// Content that is kept in a `ControllerRevision`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeptContent {
    /// Identity and revision.
    pub meta: Meta,
    /// The add-on that owns it.
    pub addon: Name,
    /// Its number: later content has a higher one.
    pub revision: i64,
    /// When it was kept.
    pub kept_at: Option<Timestamp>,
    /// The object whose content it is, as it was, or why there is none.
    pub content: Result<(ConfigRef, Config), Name>,
}

impl Config {
    /// Returns the object with the annotation that says why its content was written.
    pub fn object_with_cause(&self, config: &ConfigRef) -> Value {
        let mut object = self.object(config);
        let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
        if let (Some(metadata), Some(cause)) = (metadata, &self.cause) {
            let annotations = json!({(terms::CHANGE_CAUSE): &**cause});
            metadata.insert("annotations".to_owned(), annotations);
        }
        object
    }

    /// Returns the object as it is written: its content, its names and, of a template, its version.
    pub fn object(&self, config: &ConfigRef) -> Value {
        let mut metadata = Map::from_iter([("name".to_owned(), json!(&*config.name))]);
        if !config.namespace.is_empty() {
            metadata.insert("namespace".to_owned(), json!(&*config.namespace));
        }
        if let Some(version) = self.version.as_ref().filter(|_| !self.addon.is_empty()) {
            let labels = json!({(terms::TEMPLATE_VERSION): &**version});
            metadata.insert("labels".to_owned(), labels);
        }
        let mut object: Map<String, Value> = serde_json::from_str(&self.text).unwrap_or_default();
        object.insert("metadata".to_owned(), Value::Object(metadata));
        if let Some(kind) = Kind::of_config(&config.of.group, &config.of.resource) {
            object.insert("apiVersion".to_owned(), json!(kind.api_version()));
            object.insert("kind".to_owned(), json!(kind.address().kind));
        }
        Value::Object(object)
    }

    /// Returns the version, if it can be read as one.
    pub fn readable_version(&self) -> Option<&Name> {
        self.version.as_ref().filter(|_| self.is_version)
    }
}
