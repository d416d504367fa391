//! Which clusters get the add-on: the union of its placements, and who must be created, adopted or pruned.
//!
//! Never touches a `ManagedClusterAddOn` that a human made, except for its owner reference; never lets a placement that
//! is missing or undecided hold the others, or take away what it once gave.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::owners;
use super::types::{Action, Revision, Wait, WaitOn};
use super::version;
use crate::snapshot::{
    Cluster, ConfigRef, Creation, Decision, InstallStrategy, Instance, Kind, Name, ObjectKey, Placement,
    PlacementUse, View, terms,
};

/// What is known about the clusters of a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Known {
    /// Somebody decided it, perhaps for no cluster at all.
    Decided,
    /// The placement does not exist.
    NoPlacement,
    /// The placement exists, but nobody has decided it.
    NoDecision,
}

/// One placement of the add-on with the clusters that it selects.
#[derive(Debug)]
pub(super) struct Selected<'v> {
    /// The entry of the install strategy.
    pub by: &'v PlacementUse,
    /// Its clusters.
    pub clusters: BTreeSet<&'v Name>,
    /// Whether they are known.
    pub known: Known,
}

/// Which clusters get the add-on.
#[derive(Debug, Default)]
pub(super) struct Wanted<'v> {
    /// The placements in the order of the spec.
    pub placements: Vec<Selected<'v>>,
    /// Every wanted cluster with the index of the placement that configures it: the last one that selects it.
    pub home: BTreeMap<&'v Name, usize>,
}

/// Returns which clusters get the add-on.
pub(super) fn wanted<'v>(view: &View<'v>) -> Wanted<'v> {
    let mut wanted = Wanted::default();
    if view.addon.strategy != InstallStrategy::Placements {
        return wanted;
    }
    for (index, by) in view.addon.placements.iter().enumerate() {
        let selected = select(view, by);
        for cluster in &selected.clusters {
            wanted.home.insert(cluster, index);
        }
        wanted.placements.push(selected);
    }
    wanted
}

/// While a placement is unknown it keeps what it gave: nobody can say that a cluster was deselected, and an uninstall or a
/// change of configuration is hard to take back. What it gave is marked, or else runs with its configurations.
fn select<'v>(view: &View<'v>, by: &'v PlacementUse) -> Selected<'v> {
    let decisions: Vec<&Decision> = view.decisions(&by.namespace, &by.name).collect();
    let known = match view.placement(&by.namespace, &by.name) {
        None => Known::NoPlacement,
        Some(placement) if !is_complete(placement, &decisions) => Known::NoDecision,
        Some(_) => Known::Decided,
    };
    let decided: BTreeSet<&Name> = decisions
        .into_iter()
        .flat_map(|decision| &decision.clusters)
        .collect();
    let clusters = if known == Known::Decided {
        decided
    } else {
        let mark = mark(by);
        let given = |instance: &&Instance| {
            *instance.installed_by == *mark
                || decided.contains(&instance.cluster)
                || runs_with(instance, &by.configs)
        };
        view.instances()
            .filter(given)
            .map(|instance| &instance.cluster)
            .collect()
    };
    Selected { by, clusters, known }
}

/// A scheduler that writes its decisions anew leaves a moment without them, or with empty ones: they are only believed
/// when they name as many clusters as the scheduler itself has counted.
fn is_complete(placement: &Placement, decisions: &[&Decision]) -> bool {
    let named: usize = decisions.iter().map(|decision| decision.clusters.len()).sum();
    match placement.selected {
        Some(counted) => i64::try_from(named).is_ok_and(|named| named >= counted),
        None => !decisions.is_empty(),
    }
}

fn runs_with(instance: &Instance, configs: &[ConfigRef]) -> bool {
    let carries = |config: &ConfigRef| instance.references.iter().any(|one| one.config == *config);
    !configs.is_empty() && configs.iter().all(carries)
}

/// Returns the writes that give the add-on to the wanted clusters and take it from the others.
pub(super) fn membership(view: &View<'_>, wanted: &Wanted<'_>) -> (Vec<Action>, Vec<Wait>) {
    let mut actions: Vec<Action> = view
        .instances()
        .filter_map(|instance| tend(view, wanted, instance))
        .collect();
    let mut waits = Vec::new();
    match &view.addon.strategy {
        InstallStrategy::Manual => {}
        InstallStrategy::Other(kind) => waits.push(Wait::addon(WaitOn::InstallStrategy(kind.clone()))),
        InstallStrategy::Placements => {
            waits.extend(wanted.placements.iter().filter_map(undecided));
            for (cluster, index) in &wanted.home {
                match entry(view, wanted, cluster, *index) {
                    Entry::Create(action) => actions.push(action),
                    Entry::Wait(on) => waits.push(Wait::cluster(cluster, on)),
                    Entry::Nothing => {}
                }
            }
            actions.extend(
                view.instances()
                    .filter_map(|instance| prune(view, wanted, instance)),
            );
        }
    }
    (actions, waits)
}

fn undecided(selected: &Selected<'_>) -> Option<Wait> {
    let (namespace, name) = (selected.by.namespace.clone(), selected.by.name.clone());
    match selected.known {
        Known::Decided => None,
        Known::NoPlacement => Some(Wait::addon(WaitOn::Placement(namespace, name))),
        Known::NoDecision => Some(Wait::addon(WaitOn::Decision(namespace, name))),
    }
}

enum Entry {
    Create(Action),
    Wait(WaitOn),
    Nothing,
}

fn entry(view: &View<'_>, wanted: &Wanted<'_>, cluster: &Name, index: usize) -> Entry {
    if let Some(instance) = view.instance(cluster) {
        return if instance.meta.deleting {
            Entry::Wait(WaitOn::Deletion)
        } else {
            Entry::Nothing
        };
    }
    let Some(found) = view.cluster(cluster) else {
        return Entry::Wait(WaitOn::Cluster);
    };
    if found.meta.deleting {
        return Entry::Nothing;
    }
    let Some(selected) = wanted.placements.get(index) else {
        return Entry::Nothing;
    };
    Entry::Create(create(view, selected.by, cluster, found))
}

fn create(view: &View<'_>, by: &PlacementUse, cluster: &Name, found: &Cluster) -> Action {
    let mut annotations: Map<String, Value> = found
        .annotations
        .iter()
        .map(|(key, value)| (key.to_string(), Value::from(&**value)))
        .collect();
    annotations.insert(terms::INSTALLED_BY.to_owned(), Value::from(mark(by)));
    if let Some(version) = &by.creation.desired_version {
        annotations.insert(terms::GIVEN_VERSION.to_owned(), Value::from(&**version));
    }
    let body = json!({
        "apiVersion": Kind::Instance.api_version(),
        "kind": Kind::Instance.address().kind,
        "metadata": {
            "name": &*view.addon.name,
            "namespace": &**cluster,
            "annotations": annotations,
            "ownerReferences": [owners::of_addon(view.addon, true)],
        },
        "spec": spec(&by.creation),
    });
    let object = ObjectKey::new(Kind::Instance, cluster.clone(), view.addon.name.clone());
    Action::Create {
        object,
        body,
        why: "a placement selects the cluster",
    }
}

fn mark(by: &PlacementUse) -> String {
    format!("{}/{}", by.namespace, by.name)
}

/// The placement's template is copied here and, but for a version that nobody chose (`version::follow`), nowhere else:
/// what a user changes later stays changed.
fn spec(creation: &Creation) -> Value {
    let mut spec = Map::new();
    if let Some(namespace) = &creation.install_namespace {
        spec.insert("installNamespace".to_owned(), Value::from(&**namespace));
    }
    if !creation.configs.is_empty() {
        spec.insert(
            "configs".to_owned(),
            creation.configs.iter().map(render_config).collect(),
        );
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
    if !config.namespace.is_empty() {
        entry.insert("namespace".to_owned(), Value::from(&*config.namespace));
    }
    entry.insert("name".to_owned(), Value::from(&*config.name));
    Value::Object(entry)
}

/// The add-on owns its instances, and the mark of those that a placement gave follows the placement that gives them now.
fn tend(view: &View<'_>, wanted: &Wanted<'_>, instance: &Instance) -> Option<Action> {
    if instance.meta.deleting || is_pruned(view, wanted, instance) {
        return None;
    }
    let (mut metadata, mut annotations, mut patch) = (Map::new(), Map::new(), Map::new());
    let mut why = "another placement gives the add-on now";
    if let Some(mark) = passed_on(wanted, instance) {
        annotations.insert(terms::INSTALLED_BY.to_owned(), Value::from(mark));
    }
    if let Some(version) = version::follow(home(wanted, instance), instance) {
        annotations.insert(terms::GIVEN_VERSION.to_owned(), version.clone());
        patch.insert("spec".to_owned(), json!({"desiredVersion": version}));
        why = "the placement gives another version";
    }
    if !annotations.is_empty() {
        metadata.insert("annotations".to_owned(), Value::Object(annotations));
    }
    if let Some(owners) = owners::adopted(view.addon, &instance.owners) {
        metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        why = "the add-on owns its instances";
    }
    if metadata.is_empty() {
        return None;
    }
    patch.insert("metadata".to_owned(), Value::Object(metadata));
    Some(Action::Replace {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        patch: Value::Object(patch),
        why,
    })
}

/// Returns the placement that configures the cluster of an instance.
fn home<'w, 'v>(wanted: &'w Wanted<'v>, instance: &Instance) -> Option<&'w Selected<'v>> {
    let index = wanted.home.get(&instance.cluster)?;
    wanted.placements.get(*index)
}

/// Returns the new mark of an instance whose cluster has gone from one placement to another. A placement that is unknown
/// gives nothing away: it may still want the cluster.
fn passed_on(wanted: &Wanted<'_>, instance: &Instance) -> Option<String> {
    if instance.installed_by.is_empty() {
        return None;
    }
    let home = wanted
        .home
        .get(&instance.cluster)
        .and_then(|index| wanted.placements.get(*index))?;
    if is_mark_of(home.by, &instance.installed_by) {
        return None;
    }
    let mut unknown = wanted
        .placements
        .iter()
        .filter(|selected| selected.known != Known::Decided);
    let kept = unknown.any(|selected| is_mark_of(selected.by, &instance.installed_by));
    (!kept).then(|| mark(home.by))
}

fn is_mark_of(by: &PlacementUse, mark: &str) -> bool {
    mark.split_once('/')
        .is_some_and(|(namespace, name)| *namespace == *by.namespace && *name == *by.name)
}

fn is_leaving(view: &View<'_>, instance: &Instance) -> bool {
    view.cluster(&instance.cluster)
        .is_some_and(|cluster| cluster.meta.deleting)
}

fn is_pruned(view: &View<'_>, wanted: &Wanted<'_>, instance: &Instance) -> bool {
    view.addon.strategy == InstallStrategy::Placements
        && !instance.installed_by.is_empty()
        && (!wanted.home.contains_key(&instance.cluster) || is_leaving(view, instance))
}

fn prune(view: &View<'_>, wanted: &Wanted<'_>, instance: &Instance) -> Option<Action> {
    (!instance.meta.deleting && is_pruned(view, wanted, instance)).then(|| Action::Delete {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        why: if is_leaving(view, instance) {
            "the cluster is being deleted"
        } else {
            "no placement selects the cluster"
        },
    })
}
