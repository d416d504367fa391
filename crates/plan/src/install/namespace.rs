//! The install namespace of an instance that was applied before its `ClusterManagementAddOn`.
//!
//! The webhook fills it in at creation from the placements. Before the `ClusterManagementAddOn` exists it cannot, and the default of
//! the definition is stored. It is replaced while nothing is installed; an agent is never moved.

use api::names::{DEFAULT_INSTALL_NAMESPACE, conditions};
use store::{Name, Site, Status, View};

/// Returns the namespace to write, if the applier of the instance gave none and a placement does.
pub(super) fn due<'v>(view: &View<'v>, site: &Site<'_>) -> Option<&'v str> {
    let instance = site.instance;
    let available = instance.condition(conditions::AVAILABLE);
    let is_installed =
        !site.works.is_empty() || available.is_some_and(|available| available.status == Status::True);
    if !instance.claims.omits_namespace
        || *instance.install_namespace != *DEFAULT_INSTALL_NAMESPACE
        || is_installed
    {
        return None;
    }
    let facts = &view.addon.facts;
    let selects = |namespace: &str, name: &str| {
        let mut decisions = view.decisions(&Name::from(namespace), &Name::from(name));
        decisions.any(|decision| decision.clusters.contains(&instance.cluster))
    };
    let given = facts.only_namespace().or_else(|| {
        let mut placements = facts.placements.iter().rev();
        placements.find_map(|placement| {
            let given = placement.template.install_namespace.as_ref()?;
            selects(&placement.namespace, &placement.name).then_some(given)
        })
    });
    given
        .map(model::InstallNamespace::as_str)
        .filter(|given| *given != DEFAULT_INSTALL_NAMESPACE)
}
