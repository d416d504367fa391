//! What a rule sees, and what a rule is.
//!
//! Decides the two shapes that every rule file is made of. Never decides a verdict.

use super::body::{AddonBody, ClusterAddonBody, HubConfigBody};
use super::request::Operation;
use crate::field::Findings;
use crate::snapshot::Facts;
use serde_json::Value;

/// The operations that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// Only new objects: the rule is about something that never changes afterwards.
    Create,
    /// New and changed objects.
    CreateAndUpdate,
}

impl Operations {
    /// Tells whether a rule looks at this operation.
    pub fn includes(self, operation: Operation) -> bool {
        match (self, operation) {
            (Self::Create | Self::CreateAndUpdate, Operation::Create)
            | (Self::CreateAndUpdate, Operation::Update) => true,
            (Self::Create, Operation::Update)
            | (Self::Create | Self::CreateAndUpdate, Operation::Delete | Operation::Connect) => false,
        }
    }
}

/// A built-in check. The table of these is the catalogue; `tidegate explain <id>` prints `doc`.
pub(super) struct Rule<K: Kind> {
    /// Name of the rule: `family/what`.
    pub(super) id: &'static str,
    /// The operations that it looks at.
    pub(super) on: Operations,
    /// What it refuses or warns of, why, and the cure: a sentence, an empty line, then the rest.
    pub(super) doc: &'static str,
    /// The check: reads the subject, adds what it finds.
    pub(super) check: fn(&Subject<'_, K>, &mut Findings),
}

/// One object under examination, with everything that a rule may ask.
pub(super) struct Subject<'a, K: Kind> {
    /// Name of the object.
    pub(super) name: &'a str,
    /// Namespace of the object; for a cluster's add-on that is the cluster.
    pub(super) namespace: &'a str,
    /// What the object says.
    pub(super) body: K::Body<'a>,
    /// What the stored object says, on an update.
    pub(super) old: Option<K::Body<'a>>,
    /// What is known about the fleet.
    pub(super) facts: &'a Facts,
}

impl<K: Kind> std::fmt::Debug for Rule<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rule")
            .field("id", &self.id)
            .field("on", &self.on)
            .finish_non_exhaustive()
    }
}

impl<K: Kind> std::fmt::Debug for Subject<'_, K> {
    // Never the body: objects do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Subject");
        shown
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A kind that rules know how to read.
pub(super) trait Kind: Sized + 'static {
    /// Plural name of the resource.
    const RESOURCE: &'static str;
    /// What rules see of an object.
    type Body<'a>;
    /// Reads an object; what has the wrong type is left out, because the schema has told it already.
    fn read(object: &Value) -> Self::Body<'_>;
    /// The rules of this kind, family by family.
    fn families() -> &'static [&'static [Rule<Self>]];
}

/// An add-on as the hub sees it: `ClusterManagementAddOn`.
pub(super) enum Addon {}

/// An add-on on one cluster: `ManagedClusterAddOn`.
pub(super) enum ClusterAddon {}

/// A version as a configuration object: `AddOnHubConfig`.
pub(super) enum HubConfig {}

impl Kind for Addon {
    const RESOURCE: &'static str = "clustermanagementaddons";
    type Body<'a> = AddonBody<'a>;

    fn read(object: &Value) -> AddonBody<'_> {
        AddonBody::read(object)
    }

    fn families() -> &'static [&'static [Rule<Self>]] {
        super::rules::ON_ADDONS
    }
}

impl Kind for ClusterAddon {
    const RESOURCE: &'static str = "managedclusteraddons";
    type Body<'a> = ClusterAddonBody<'a>;

    fn read(object: &Value) -> ClusterAddonBody<'_> {
        ClusterAddonBody::read(object)
    }

    fn families() -> &'static [&'static [Rule<Self>]] {
        super::rules::ON_CLUSTER_ADDONS
    }
}

impl Kind for HubConfig {
    const RESOURCE: &'static str = "addonhubconfigs";
    type Body<'a> = HubConfigBody<'a>;

    fn read(object: &Value) -> HubConfigBody<'_> {
        HubConfigBody::read(object)
    }

    fn families() -> &'static [&'static [Rule<Self>]] {
        super::rules::ON_HUB_CONFIGS
    }
}
