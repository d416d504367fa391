//! The instance that an install strategy creates.
//!
//! The placement's template is copied here and, but for a version that no user chose (`version::follow`) and an install namespace
//! that no user gave (`due_namespace`), nowhere else: what a user changes later stays changed.

use serde_json::{Map, Value, json};

use super::annotations;
use crate::owners;
use crate::types::Action;
use api::names::{DEFAULT_CONFIG_NAMESPACE, DEFAULT_INSTALL_NAMESPACE, conditions};
use store::{Cluster, ConfigRef, Creation, Kind, Name, ObjectKey, PlacementUse, Site, Status, View, terms};

/// Returns the mark of the instances that a placement gives.
pub(super) fn mark(by: &PlacementUse) -> String {
    format!("{}/{}", by.namespace, by.name)
}

/// What an instance is made from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Giver<'v> {
    /// A placement, with its template.
    Placement(&'v PlacementUse),
    /// The label selector, which has none.
    Labels,
}

/// Returns the creation of the instance of a cluster.
pub(super) fn create(view: &View<'_>, giver: Giver<'_>, name: &Name, cluster: &Cluster) -> Action {
    let (mark, spec, why) = match giver {
        Giver::Placement(by) => (
            mark(by),
            spec(view, &by.creation),
            "a placement selects the cluster",
        ),
        Giver::Labels => (
            terms::BY_LABELS.to_owned(),
            spec(view, &Creation::default()),
            "the label selector matches the cluster",
        ),
    };
    let mut annotations = annotations::copied(cluster);
    annotations.insert(terms::INSTALLED_BY.to_owned(), Value::from(mark));
    if let Giver::Placement(by) = giver
        && let Some(version) = &by.creation.desired_version
    {
        annotations.insert(terms::GIVEN_VERSION.to_owned(), Value::from(&**version));
    }
    let body = json!({
        "apiVersion": Kind::Instance.api_version(),
        "kind": Kind::Instance.address().kind,
        "metadata": {
            "name": &*view.addon.name,
            "namespace": &**name,
            "annotations": annotations,
            "ownerReferences": [owners::of_addon(view.addon, true)],
        },
        "spec": spec,
    });
    let object = ObjectKey::new(Kind::Instance, name.clone(), view.addon.name.clone());
    Action::Create {
        object,
        body: body.into(),
        why,
    }
}

/// What no cluster may have of its own is not given to it as its own either.
fn spec(view: &View<'_>, creation: &Creation) -> Value {
    let mut spec = Map::new();
    if let Some(namespace) = &creation.install_namespace {
        spec.insert("installNamespace".to_owned(), Value::from(&**namespace));
    }
    let protects = |config: &&ConfigRef| view.addon.facts.protects(&config.of.group, &config.of.resource);
    let configs = creation.configs.iter().filter(|config| !protects(config));
    let configs: Vec<Value> = configs.map(render_config).collect();
    if !configs.is_empty() {
        spec.insert("configs".to_owned(), Value::Array(configs));
    }
    if let Some(version) = &creation.desired_version {
        spec.insert("desiredVersion".to_owned(), Value::from(&**version));
    }
    Value::Object(spec)
}

fn render_config(config: &ConfigRef) -> Value {
    let mut entry = Map::new();
    entry.insert("group".to_owned(), Value::from(&*config.of.group));
    entry.insert("resource".to_owned(), Value::from(&*config.of.resource));
    if let Some(namespace) = namespace(config) {
        entry.insert("namespace".to_owned(), Value::from(namespace));
    }
    entry.insert("name".to_owned(), Value::from(&*config.name));
    Value::Object(entry)
}

/// Manifests leave the namespace out, and their authors show what comes of it: a configuration in the hub's own namespace.
fn namespace(config: &ConfigRef) -> Option<&str> {
    let kind = Kind::of_config(&config.of.group, &config.of.resource);
    let needs_one = kind.is_some_and(|kind| kind.address().namespaced) && *config.name != *terms::NO_DEFAULT;
    let filled = needs_one.then_some(DEFAULT_CONFIG_NAMESPACE);
    Some(&*config.namespace)
        .filter(|namespace| !namespace.is_empty())
        .or(filled)
}

// The webhook fills it in at creation from the placements. Before the `ClusterManagementAddOn` exists it cannot, and the default of
// the definition is stored. It is replaced while nothing is installed; an agent is never moved.
/// Returns the install namespace to write to an instance that was applied before its `ClusterManagementAddOn`, if the applier of the instance gave none and a placement does.
pub(super) fn due_namespace<'v>(view: &View<'v>, site: &Site<'_>) -> Option<&'v str> {
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
