//! The input of a rule ([`Subject`]), and the definition of a rule ([`Rule`]).

use super::approval_body::ApprovalBody;
use super::body::{
    AddonBody, ClusterAddonBody, DeploymentConfigBody, HubConfigBody, PlacementAt, SetBindingBody,
    placement_refs,
};
use super::freeze_body::FreezeBody;
use super::profile_body::ProfileBody;
use super::request::Operation;
use super::rollout_body::RolloutBody;
use super::step_budget::{Items, StepBudget};
use super::template_body::TemplateBody;
use super::unconfirmed::Unconfirmed;
use super::upgrade_body::UpgradeBody;
use kubernetes::field::{Findings, Path};
use model::{HubNamespaces, Percent, ReservedSigners};
use serde_json::Value;
use store::{Facts, ObjectKey, Word};

/// The operations that a rule checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    /// Only new objects, because the checked field is immutable.
    Create,
    /// New and changed objects.
    CreateAndUpdate,
    /// Only changed objects, because the rule compares them with the stored object.
    Update,
    /// Only deletions.
    Delete,
}

impl Operations {
    /// Returns whether a rule checks this operation.
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

    /// Returns the text for the reference page.
    pub fn words(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::CreateAndUpdate => "create and update",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// A built-in check. The table of these is the catalogue; `tidegate explain <id>` prints `doc`.
pub(super) struct Rule<K: Kind> {
    /// Name of the rule: `family/what`.
    pub(super) id: &'static str,
    /// Whether it can refuse. One that only warns does not refuse when it does not finish, either.
    pub(super) refuses: bool,
    /// The operations that it checks.
    pub(super) on: Operations,
    /// The title, an empty line, and the text: the reason, the action and the fix.
    pub(super) doc: &'static str,
    /// The check function.
    pub(super) check: Check<K>,
    /// The metadata that it reads: `labels` or `annotations`, and the prefix of the keys. The rule also checks an update that changes only
    /// these.
    pub(super) metadata: &'static [(&'static str, &'static str)],
}

/// Checks the subject and adds its findings.
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

    /// The same rule, which also reads these keys of metadata.
    pub(super) const fn reading(self, metadata: &'static [(&'static str, &'static str)]) -> Self {
        Self { metadata, ..self }
    }
}

/// A table of rules: for each rule its severity, id, operations, check, the metadata that it reads, and its documentation.
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
    /// Returns the share, or `None` if it is more than 100%.
    pub fn percent(percent: u8) -> Option<Self> {
        Percent::new(percent).map(|_| Self(percent))
    }

    /// Returns whether `some` of `all` clusters are more than the share.
    pub(super) fn is_exceeded_by(self, some: usize, all: usize) -> bool {
        some.saturating_mul(100) > all.saturating_mul(usize::from(self.0))
    }

    /// Returns the share as text.
    pub(super) fn words(self) -> String {
        format!("{}%", self.0)
    }
}

/// One object to check, with everything that a rule can read.
pub(super) struct Subject<'a, K: Kind> {
    /// Name of the object.
    pub(super) name: &'a str,
    /// Namespace of the object. For a ManagedClusterAddOn it is the name of the cluster.
    pub(super) namespace: &'a str,
    /// The object.
    pub(super) body: K::Body<'a>,
    /// The stored object, in an update.
    pub(super) old: Option<K::Body<'a>>,
    /// The facts about the fleet.
    pub(super) facts: &'a Facts,
    /// The share of clusters above which an edit warns.
    pub(super) blast_radius: BlastRadius,
    /// The namespaces in which agents can have roles on the hub.
    pub(super) hub_namespaces: &'a HubNamespaces,
    /// Signers that only certain add-ons can use.
    pub(super) reserved_signers: &'a ReservedSigners,
    /// Objects whose absence is not confirmed.
    pub(super) doubts: &'a Unconfirmed,
    /// The remaining step budget of the rule.
    pub(super) effort: &'a StepBudget<'a>,
}

impl<K: Kind> Subject<'_, K> {
    /// Returns whether an object that is not in the facts is absent. `rule` and `path` are those of the finding that depends on it: until
    /// the hub has confirmed the absence, the finding only warns, and the object is read from the hub.
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
    // The body is omitted, because objects do not belong in logs.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Subject");
        shown
            .field("name", &self.name)
            .field("namespace", &self.namespace)
            .finish_non_exhaustive()
    }
}

/// A kind that rules can parse.
pub(super) trait Kind: Sized + 'static {
    /// Plural name of the resource.
    const RESOURCE: &'static str;
    /// The input of rules for an object.
    type Body<'a>;
    /// Parses an object. Values with a wrong type are omitted, because the schema reports them.
    fn read(object: &Value) -> Self::Body<'_>;
}

/// A kind whose changes are rolled out over placements.
pub(super) trait RolledOut: Kind {
    /// Returns the placements.
    fn placements<'s, 'a>(body: &'s Self::Body<'a>) -> &'s Items<PlacementAt<'a>>;
}

impl RolledOut for Addon {
    fn placements<'s, 'a>(body: &'s Self::Body<'a>) -> &'s Items<PlacementAt<'a>> {
        &body.placements
    }
}

impl RolledOut for ReplicaSet {
    fn placements<'s, 'a>(body: &'s Self::Body<'a>) -> &'s Items<PlacementAt<'a>> {
        body
    }
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
    /// An add-on: `ClusterManagementAddOn`.
    Addon<'a> = "clustermanagementaddons", AddonBody<'a>, object => AddonBody::read(object);
    /// An add-on on one cluster: `ManagedClusterAddOn`.
    ClusterAddon<'a> = "managedclusteraddons", ClusterAddonBody<'a>, object => ClusterAddonBody::read(object);
    /// A version of an add-on as a configuration: `AddOnHubConfig`.
    HubConfig<'a> = "addonhubconfigs", HubConfigBody<'a>, object => HubConfigBody::read(object);
    /// The manifests of an agent: `AddOnTemplate`.
    Template<'a> = "addontemplates", TemplateBody<'a>, object => TemplateBody::read(object);
    /// Settings of an agent: `AddOnDeploymentConfig`.
    DeploymentConfig<'a> = "addondeploymentconfigs", DeploymentConfigBody<'a>, object => DeploymentConfigBody::read(object);
    /// A selection of clusters: `Placement`.
    Placement<'a> = "placements", (), _ => ();
    /// An upgrade of clusters: `ManagedClustersUpgrade`.
    Upgrade<'a> = "managedclustersupgrades", UpgradeBody, object => UpgradeBody::read(object);
    /// A binding of a cluster set to a namespace: `ManagedClusterSetBinding`.
    SetBinding<'a> = "managedclustersetbindings", SetBindingBody<'a>, object => SetBindingBody::read(object);
    /// What must hold while a change is rolled out: `RolloutCheck`.
    RolloutCheck<'a> = "rolloutchecks", &'a Value, object => object;
    /// A time in which no change starts: `RolloutFreeze`.
    Freeze<'a> = "rolloutfreezes", FreezeBody, object => FreezeBody::read(object);
    /// The settings of an add-on's rollouts: `AddOnRollout`.
    Rollout<'a> = "addonrollouts", RolloutBody, object => RolloutBody::read(object);
    /// ManifestWorks for the clusters of placements: `ManifestWorkReplicaSet`.
    ReplicaSet<'a> = "manifestworkreplicasets", Items<PlacementAt<'a>>, object => placement_refs(object);
    /// The decision about a change that waits: `RolloutApproval`.
    Approval<'a> = "rolloutapprovals", ApprovalBody<'a>, object => ApprovalBody::read(object);
    /// Settings of rollouts that many share: `RolloutProfile`.
    Profile<'a> = "rolloutprofiles", ProfileBody, object => ProfileBody::read(object);
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
