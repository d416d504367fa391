//! What the operator chose for all add-ons.
//!
//! Decides nothing; kept in the store so that every plan uses the same settings.

use std::time::Duration;

use super::content::Template;
use super::parts::removals::RemovalBudget;
use super::removal::{HookTimeout, TimeoutPolicy};
use model::{HubNamespaces, Name, ReservedSigners};

/// The words of the `Progressing` condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Vocabulary {
    /// `Installing`, `InstallSucceed`, `UpgradeFailed`, …
    #[default]
    Lifecycle,
    /// `Progressing`, `Completed`, `Failed`: what current Open Cluster Management writes.
    Ocm,
}

/// Which add-ons are managed here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Managing {
    /// All that do not manage themselves.
    #[default]
    All,
    /// Only those whose lifecycle annotation says `tidegate`: another manager has the others.
    Marked,
}

/// Whether add-ons without a mark are another manager's at this moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fence {
    /// They are not: no other manager acts on them.
    #[default]
    Open,
    /// OCM's add-on manager is active, or that is not known: what its annotation gives it is left to it.
    Closed,
}

impl Fence {
    /// Returns whether they are left alone.
    pub fn is_closed(self) -> bool {
        self == Self::Closed
    }
}

/// Whether clusters are labelled with the add-ons that they have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DiscoveryLabels {
    /// `feature.open-cluster-management.io/addon-<name>` on every cluster, as the registration of a hub writes it.
    #[default]
    On,
    /// Labels are left alone.
    Off,
}

/// How an edit of a configuration that a cluster itself refers to is rolled out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClusterConfigs {
    /// At once, to all clusters that refer to it, whatever their placement's rollout strategy is.
    #[default]
    AtOnce,
    /// According to the rollout strategy of the cluster's placement, like every other change.
    Rollout,
}

/// Which AddOnTemplates an add-on may use besides those whose `spec.addonName` is its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TemplateSharing {
    /// Templates that request no hub permissions and no custom signer.
    #[default]
    WithoutAccess,
    /// All templates, as current Open Cluster Management does: an author of an add-on can give its agents what another add-on's template
    /// requests.
    WithAccess,
}

impl TemplateSharing {
    /// Returns whether an add-on may use a template: one for itself, or one that is shared.
    pub fn permits(self, template: &Template, addon: &str) -> bool {
        *template.addon == *addon || self == Self::WithAccess || !template.requests_access()
    }
}

/// What a variable of a template becomes that no configuration sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum UnsetVariables {
    /// The manifests are not rendered, and a condition names all of these variables. `INSTALL_NAMESPACE` is that of the instance.
    #[default]
    Fail,
    /// An empty text, as in current Open Cluster Management; also `INSTALL_NAMESPACE`, unless a configuration has `agentInstallNamespace`.
    Empty,
}

/// Whom the permissions of an add-on's agent are given to, beside its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AgentGroups {
    /// The add-on's agents of the one cluster.
    #[default]
    Cluster,
    /// Also the add-on's agents of all clusters, as current Open Cluster Management does.
    Stock,
}

/// Whether the roll-up of an add-on is also kept in an object of our own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum RollUps {
    /// Only in the ClusterManagementAddOn, as far as its definition holds it.
    #[default]
    InAddOn,
    /// Also in an `AddOnRollout`, where the hub serves that kind.
    InOwnKind,
}

/// What a lifecycle annotation without a value means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EmptyLifecycle {
    /// The same as no annotation: the hub manages the add-on.
    #[default]
    Managed,
    /// The add-on manages itself, as current Open Cluster Management reads it.
    Own,
}

/// Whose words and rules the statuses follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compat {
    /// Tidegate's own, which are more detailed.
    #[default]
    Tidegate,
    /// Those of current Open Cluster Management's add-on manager, to the letter.
    Ocm,
}

/// What counts as a failure in a rollout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Failures {
    /// What cannot be applied, what calls itself degraded, and agents that stay unavailable.
    #[default]
    Health,
    /// Only that the deadline has passed, as current Open Cluster Management has it.
    Deadline,
}

/// What the operator chose for all add-ons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// Whose words and rules the statuses follow.
    pub compat: Compat,
    /// What counts as a failure in a rollout.
    pub failures: Failures,
    /// The words of the `Progressing` condition.
    pub reasons: Vocabulary,
    /// How long an add-on stays on a cluster that nothing selects any more.
    pub decision_grace: Duration,
    /// How long an object that does not exist yet may still be created, before `Stalled` reports that the user has to act.
    pub arrival_grace: Duration,
    /// What a lifecycle annotation without a value means.
    pub empty_lifecycle: EmptyLifecycle,
    /// Which add-ons are managed here.
    pub managing: Managing,
    /// Whether add-ons that would be those of OCM's add-on manager are left to it.
    pub fence: Fence,
    /// How long pre-delete hooks may take.
    pub hook_timeout: HookTimeout,
    /// What happens to an instance whose hooks have not completed in time.
    pub hook_timeout_policy: TimeoutPolicy,
    /// Whether clusters are labelled with the add-ons that they have.
    pub discovery_labels: DiscoveryLabels,
    /// How an edit of a cluster's own configuration is rolled out.
    pub cluster_configs: ClusterConfigs,
    /// Whom permissions are given to.
    pub agent_groups: AgentGroups,
    /// Which templates of other add-ons an add-on may use.
    pub template_sharing: TemplateSharing,
    /// What a variable of a template becomes that no configuration sets.
    pub unset_variables: UnsetVariables,
    /// Where roll-ups are kept.
    pub roll_ups: RollUps,
    /// The account of the hub's gRPC server, as the hub spells its user: its requests for certificates are those of the agent
    /// that it names.
    pub grpc_server: Name,
    /// How long an agent may be unavailable after a change until that is a failure.
    pub startup: Duration,
    /// How many instances of an add-on may be removed in a minute.
    pub removal_budget: RemovalBudget,
    /// Where agents may have roles on the hub, beside the cluster's namespace and the add-on's own.
    pub hub_namespaces: HubNamespaces,
    /// Signers that only certain add-ons may have.
    pub reserved_signers: ReservedSigners,
    /// The namespace of the controllers, where content of cluster-scoped objects is kept.
    pub namespace: Name,
}

/// Returns the user by which a hub knows a service account.
#[must_use]
pub fn service_account(namespace: &str, name: &str) -> Name {
    format!("system:serviceaccount:{namespace}:{name}").into()
}

impl Settings {
    /// Returns what holds where the operator chose nothing but whose words and rules.
    pub fn of(compat: Compat) -> Self {
        match compat {
            Compat::Tidegate => Self::default(),
            Compat::Ocm => Self {
                compat,
                failures: Failures::Deadline,
                reasons: Vocabulary::Ocm,
                empty_lifecycle: EmptyLifecycle::Own,
                cluster_configs: ClusterConfigs::AtOnce,
                agent_groups: AgentGroups::Stock,
                discovery_labels: DiscoveryLabels::Off,
                unset_variables: UnsetVariables::Empty,
                ..Self::default()
            },
        }
    }

    /// Returns whether the statuses are those of current Open Cluster Management.
    pub fn is_ocm(&self) -> bool {
        self.compat == Compat::Ocm
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compat: Compat::default(),
            failures: Failures::default(),
            reasons: Vocabulary::default(),
            decision_grace: Duration::from_secs(10),
            arrival_grace: Duration::from_secs(10),
            hook_timeout: HookTimeout::default(),
            hook_timeout_policy: TimeoutPolicy::default(),
            discovery_labels: DiscoveryLabels::default(),
            empty_lifecycle: EmptyLifecycle::default(),
            managing: Managing::default(),
            fence: Fence::default(),
            cluster_configs: ClusterConfigs::default(),
            agent_groups: AgentGroups::default(),
            template_sharing: TemplateSharing::default(),
            unset_variables: UnsetVariables::default(),
            roll_ups: RollUps::default(),
            grpc_server: service_account("open-cluster-management-hub", "grpc-server-sa"),
            startup: Duration::from_mins(2),
            removal_budget: RemovalBudget::default(),
            hub_namespaces: HubNamespaces::default(),
            reserved_signers: ReservedSigners::default(),
            namespace: Name::from("tidegate"),
        }
    }
}
