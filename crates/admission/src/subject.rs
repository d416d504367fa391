//! What a rule sees, and what a rule is.
//!
//! Decides the two shapes that every rule file is made of. Never decides a verdict.

use super::body::{AddonBody, ClusterAddonBody, DeploymentConfigBody, HubConfigBody, SetBindingBody};
use super::request::Operation;
use super::step_budget::StepBudget;
use super::template_body::TemplateBody;
use super::unconfirmed::Unconfirmed;
use super::upgrade_body::UpgradeBody;
use kubernetes::field::{Findings, Path};
use model::{HubNamespaces, Percent, ReservedSigners};
use serde_json::Value;
use store::{Facts, ObjectKey, Word};

/// The operations that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// Only new objects: the rule is about something that never changes afterwards.
    Create,
    /// New and changed objects.
    CreateAndUpdate,
    /// Only changed objects: the rule compares with what is stored.
    Update,
    /// Only objects that are to be deleted.
    Delete,
}

impl Operations {
    /// Tells whether a rule looks at this operation.
    pub fn includes(self, operation: Operation) -> bool {
        match (self, operation) {
            (Self::Create | Self::CreateAndUpdate, Operation::Create)
            | (Self::CreateAndUpdate | Self::Update, Operation::Update)
            | (Self::Delete, Operation::Delete) => true,
            (Self::Update | Self::Delete, Operation::Create)
            | (Self::Create | Self::Delete, Operation::Update)
            | (Self::Create | Self::CreateAndUpdate | Self::Update, Operation::Delete)
            | (Self::Create | Self::CreateAndUpdate | Self::Update | Self::Delete, Operation::Connect) => {
                false
            }
        }
    }

    /// Returns the words for it, as the reference page has them.
    pub fn words(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateAndUpdate => "create, update",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A built-in check. The table of these is the catalogue; `tidegate explain <id>` prints `doc`.
pub(super) struct Rule<K: Kind> {
    /// Name of the rule: `family/what`.
    pub(super) id: &'static str,
    /// Whether it may refuse; one that only warns refuses nothing when it gives up, either.
    pub(super) refuses: bool,
    /// The operations that it looks at.
    pub(super) on: Operations,
    /// What it refuses or warns of, why, and the cure: a sentence, an empty line, then the rest.
    pub(super) doc: &'static str,
    /// The check: reads the subject, adds what it finds.
    pub(super) check: Check<K>,
    /// What it reads of metadata: `labels` or `annotations`, and what the keys begin with. An update that changes nothing else
    /// is judged by it as well.
    pub(super) metadata: &'static [(&'static str, &'static str)],
}

/// Reads the subject and adds what it finds.
pub(super) type Check<K> = fn(&Subject<'_, K>, &mut Findings);

impl<K: Kind> Rule<K> {
    /// A rule that refuses.
    pub(super) const fn refuses(
        id: &'static str,
        on: Operations,
        doc: &'static str,
        check: Check<K>,
    ) -> Self {
        Self {
            id,
            refuses: true,
            on,
            doc,
            check,
            metadata: &[],
        }
    }

    /// A rule that only warns.
    pub(super) const fn warns(id: &'static str, on: Operations, doc: &'static str, check: Check<K>) -> Self {
        Self {
            refuses: false,
            ..Self::refuses(id, on, doc, check)
        }
    }

    /// The same rule, which reads these keys of metadata.
    pub(super) const fn reading(self, metadata: &'static [(&'static str, &'static str)]) -> Self {
        Self { metadata, ..self }
    }
}

/// A table of rules: per rule its severity, id, operations, check, what it reads of metadata, and documentation.
macro_rules! rules {
    ($vis:vis $table:ident of $kind:ident {
        $($severity:ident $id:expr, $on:ident, $check:expr $(, reading $metadata:expr)? => $doc:expr;)*
    }) => {
        $vis const $table: &[$crate::subject::Rule<$kind>] = &[$(
            $crate::subject::Rule::$severity($id, $crate::subject::Operations::$on, $doc, $check)
                $(.reading($metadata))?
        ),*];
    };
}
pub(super) use rules;

/// A share of an add-on's clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlastRadius(u8);

impl Default for BlastRadius {
    fn default() -> Self {
        Self(50)
    }
}

impl BlastRadius {
    /// Returns the share, unless it is more than everything.
    pub fn percent(percent: u8) -> Option<Self> {
        Percent::new(percent).map(|_| Self(percent))
    }

    /// Tells whether `some` of `all` clusters are more than the share.
    pub(super) fn is_exceeded_by(self, some: usize, all: usize) -> bool {
        some.saturating_mul(100) > all.saturating_mul(usize::from(self.0))
    }

    /// Returns the share in words.
    pub(super) fn words(self) -> String {
        format!("{}%", self.0)
    }
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
    /// The operator's choices.
    pub(super) blast_radius: BlastRadius,
    /// Where agents may have roles on the hub.
    pub(super) hub_namespaces: &'a HubNamespaces,
    /// Signers that only certain add-ons may have.
    pub(super) reserved_signers: &'a ReservedSigners,
    /// What only seems to be absent.
    pub(super) doubts: &'a Unconfirmed,
    /// How much the rule may still look at.
    pub(super) effort: &'a StepBudget<'a>,
}

impl<K: Kind> Subject<'_, K> {
    /// Tells whether an object that the facts do not have is absent, as far as is known. `rule` and `path` are those
    /// of the finding that rests on it: until the hub itself has said so, it warns and is asked for.
    pub(super) fn lacks(&self, object: ObjectKey, rule: &'static str, path: &Path) -> bool {
        match self.facts.confirmed.word_about(&object) {
            Word::Exists => false,
            Word::Absent => true,
            Word::Silent => {
                self.doubts.note(rule, path, Some(object));
                true
            }
        }
    }
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
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident<$a:lifetime> = $resource:literal, $body:ty, $object:pat => $read:expr;)+) => {$(
        $(#[$doc])*
        pub(super) enum $kind {}

        impl Kind for $kind {
            const RESOURCE: &'static str = $resource;
            type Body<$a> = $body;

            fn read($object: &Value) -> Self::Body<'_> {
                $read
            }
        }
    )+};
}

kinds! {
    /// An add-on as the hub sees it: `ClusterManagementAddOn`.
    Addon<'a> = "clustermanagementaddons", AddonBody<'a>, object => AddonBody::read(object);
    /// An add-on on one cluster: `ManagedClusterAddOn`.
    ClusterAddon<'a> = "managedclusteraddons", ClusterAddonBody<'a>, object => ClusterAddonBody::read(object);
    /// A version as a configuration object: `AddOnHubConfig`.
    HubConfig<'a> = "addonhubconfigs", HubConfigBody<'a>, object => HubConfigBody::read(object);
    /// The manifests of an agent: `AddOnTemplate`.
    Template<'a> = "addontemplates", TemplateBody<'a>, object => TemplateBody::read(object);
    /// Settings of an agent: `AddOnDeploymentConfig`.
    DeploymentConfig<'a> = "addondeploymentconfigs", DeploymentConfigBody<'a>, object => DeploymentConfigBody::read(object);
    /// Which clusters a set of objects is for: `Placement`.
    Placement<'a> = "placements", (), _ => ();
    /// An upgrade of clusters: `ManagedClustersUpgrade`.
    Upgrade<'a> = "managedclustersupgrades", UpgradeBody, object => UpgradeBody::read(object);
    /// That a namespace may place on the clusters of a set: `ManagedClusterSetBinding`.
    SetBinding<'a> = "managedclustersetbindings", SetBindingBody<'a>, object => SetBindingBody::read(object);
    /// A policy of users: `AddOnPolicy`.
    AddonPolicy<'a> = "addonpolicies", &'a Value, object => object;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exactly_the_share_is_not_more_than_it() {
        let half = BlastRadius::default();
        assert!(!half.is_exceeded_by(5, 10) && half.is_exceeded_by(6, 10));
        assert_eq!(BlastRadius::percent(101), None);
        let none = BlastRadius::percent(0).expect("a share");
        assert!(none.is_exceeded_by(1, 1000) && !none.is_exceeded_by(0, 0));
    }
}
