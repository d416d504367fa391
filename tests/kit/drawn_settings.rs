//! Random settings, so that the simulator and the properties of plans run with every combination.
//!
//! A new setting does not compile until it has values here.

use std::time::Duration;

use model::{HubNamespaces, ReservedSigners};
use store::{
    AgentGroups, ClusterConfigs, Compat, DiscoveryLabels, EmptyLifecycle, Failures, Fence, HookTimeout,
    Managing, RemovalBudget, RollUps, Settings, TemplateSharing, TimeoutPolicy, UnsetVariables, Vocabulary,
};

/// How many settings are drawn.
pub(crate) const DRAWN: usize = 13;

/// Returns settings; `below` returns a number below the one that it is given. The first value of each is the default.
pub(crate) fn drawn(mut below: impl FnMut(usize) -> usize) -> Settings {
    let seconds = |of: u64| Duration::from_secs(of);
    let default = Settings::default();
    Settings {
        compat: pick(&mut below, &[Compat::Tidegate, Compat::Ocm]),
        failures: pick(&mut below, &[Failures::Health, Failures::Deadline]),
        reasons: pick(&mut below, &[Vocabulary::Lifecycle, Vocabulary::Ocm]),
        decision_grace: seconds(pick(&mut below, &[10, 0, 45])),
        arrival_grace: seconds(pick(&mut below, &[10, 0, 45])),
        empty_lifecycle: pick(&mut below, &[EmptyLifecycle::Managed, EmptyLifecycle::Own]),
        // The other value leaves every add-on alone that is not marked; who draws it marks the add-on.
        managing: Managing::All,
        // The controllers close it while OCM's add-on manager is active.
        fence: Fence::Open,
        hook_timeout: pick(&mut below, &[HookTimeout::default(), HookTimeout::Never]),
        hook_timeout_policy: pick(&mut below, &[TimeoutPolicy::Release, TimeoutPolicy::Block]),
        discovery_labels: pick(&mut below, &[DiscoveryLabels::On, DiscoveryLabels::Off]),
        cluster_configs: pick(&mut below, &[ClusterConfigs::AtOnce, ClusterConfigs::Rollout]),
        agent_groups: pick(&mut below, &[AgentGroups::Cluster, AgentGroups::Stock]),
        roll_ups: RollUps::InAddOn,
        grpc_server: default.grpc_server,
        startup: seconds(pick(&mut below, &[120, 5])),
        removal_budget: pick(&mut below, &[RemovalBudget::default(), RemovalBudget::Unlimited]),
        template_sharing: pick(
            &mut below,
            &[TemplateSharing::WithoutAccess, TemplateSharing::WithAccess],
        ),
        unset_variables: pick(&mut below, &[UnsetVariables::Fail, UnsetVariables::Empty]),
        hub_namespaces: HubNamespaces::default(),
        reserved_signers: ReservedSigners::default(),
        namespace: default.namespace,
    }
}

fn pick<T: Copy>(below: &mut impl FnMut(usize) -> usize, of: &[T]) -> T {
    of[below(of.len())]
}
