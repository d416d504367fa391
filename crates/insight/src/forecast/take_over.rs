//! What taking a hub over from another manager would write.
//!
//! Decides what counts: the writes of the first plans, until agents have to answer, on a hub in memory. Works that only look
//! different are not among them. Writes nothing.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::Value;

use super::difference::{Difference, of_works};
use super::world::{Moves, World};
use crate::offline::Hub;
use api::names::conditions::MANIFEST_APPLIED;
use api::reason::Reason;
use store::{Kind, ObjectKey, Settings};

/// The most plans in a row: agents answer none of them.
const MOST_WRITES: usize = 16;

/// What would happen to a work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is made.
    Created,
    /// It is written, with these differences.
    Written(Vec<Difference>),
    /// It goes.
    Deleted,
}

/// What happens to works, by namespace and name.
pub(super) type Fates = BTreeMap<(String, String), Fate>;

/// What taking over one add-on would write.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub struct TakeOver {
    /// The add-on.
    pub addon: String,
    /// How many works it has.
    pub works: usize,
    /// The works that would not stay as they are, by namespace and name.
    pub changed: Fates,
    /// How many objects of other kinds would be written.
    pub others: BTreeMap<&'static str, usize>,
    /// Clusters whose works are written because INSTALL_NAMESPACE has a value where OCM gives it none.
    pub namespaces: BTreeSet<String>,
    /// Clusters for which no work can be made, with the reason; theirs stay as they are.
    pub unrendered: BTreeMap<String, String>,
}

/// Returns what taking over every add-on of a hub would write, sorted by name.
pub fn take_over(hub: &Hub, settings: Settings, now: Timestamp) -> Vec<TakeOver> {
    let mut world = World::new(hub, settings, now);
    let addons: Vec<String> = world.store.addons().map(ToString::to_string).collect();
    addons.iter().map(|addon| one(hub, &mut world, addon)).collect()
}

fn one(hub: &Hub, world: &mut World<'_>, addon: &str) -> TakeOver {
    let mut touched: BTreeSet<ObjectKey> = BTreeSet::new();
    let mut moves = Moves::default();
    for _ in 0..MOST_WRITES {
        let Some(view) = world.store.view(addon) else {
            break;
        };
        let plan = plan::addon(&view, world.now);
        touched.extend(plan.actions.iter().map(|action| action.object().clone()));
        if !world.write(&plan, &mut moves) {
            break;
        }
    }
    let mut told = TakeOver {
        addon: addon.to_owned(),
        unrendered: unrendered(world, addon),
        ..TakeOver::default()
    };
    if let Some(view) = world.store.view(addon) {
        let instances = view.instances();
        told.works = instances
            .map(|instance| view.works(&instance.cluster).count())
            .sum();
    }
    for key in touched {
        let (old, new) = (hub.object(&key), world.object(&key));
        if key.kind != Kind::Work {
            let is_written = changed(old) != changed(new);
            *told.others.entry(key.kind.address().kind).or_default() += usize::from(is_written);
        } else if let Some(fate) = fate(old, new) {
            told.changed
                .insert((key.namespace.to_string(), key.name.to_string()), fate);
        }
    }
    told.others.retain(|_, count| *count > 0);
    told.namespaces = namespaces(world, &told);
    told
}

/// The variable that OCM sets only where a configuration has `agentInstallNamespace`.
const INSTALL_NAMESPACE: &str = "INSTALL_NAMESPACE";

/// Returns the clusters whose works differ in the value of `INSTALL_NAMESPACE` that only the ManagedClusterAddOn gives.
fn namespaces(world: &World<'_>, told: &TakeOver) -> BTreeSet<String> {
    let Some(view) = world.store.view(&told.addon) else {
        return BTreeSet::new();
    };
    let instances = view.instances().filter(|instance| {
        let differs = |(place, fate): (&(String, String), &Fate)| match fate {
            Fate::Written(differences) => {
                *place.0 == *instance.cluster
                    && differences
                        .iter()
                        .any(|one| shows(one, &instance.install_namespace))
            }
            Fate::Created | Fate::Deleted => false,
        };
        told.changed.iter().any(differs)
            && plan::origins(&view, &instance.cluster).is_some_and(|origins| {
                let mut variables = origins.variables.iter();
                variables.any(|one| one.name == INSTALL_NAMESPACE && one.from == plan::FROM_INSTANCE)
            })
    });
    instances.map(|instance| instance.cluster.to_string()).collect()
}

/// OCM's manager does not decorate StatefulSets at all; their environment is another difference.
fn shows(difference: &Difference, namespace: &str) -> bool {
    let has = |text: &str| text.contains(INSTALL_NAMESPACE) || text.contains(namespace);
    let new = difference.new.as_ref().map(Value::to_string);
    let old = difference.old.as_ref().map(Value::to_string);
    !difference.path.starts_with("StatefulSet ")
        && new.is_some_and(|new| has(&new) || difference.path.contains(INSTALL_NAMESPACE))
        && !old.is_some_and(|old| has(&old))
}

/// Returns an object without its revision, which moves with every write in memory.
fn changed(object: Option<&Value>) -> Option<Value> {
    let mut object = object?.clone();
    let metadata = object.get_mut("metadata").and_then(Value::as_object_mut);
    metadata.map(|metadata| metadata.remove("resourceVersion"));
    Some(object)
}

/// Returns what becomes of a work; nothing when it stays as it is.
pub(super) fn fate(old: Option<&Value>, new: Option<&Value>) -> Option<Fate> {
    match (old, new) {
        (None, None) => None,
        (None, Some(_)) => Some(Fate::Created),
        (Some(_), None) => Some(Fate::Deleted),
        (Some(_), Some(new)) if new.pointer("/metadata/deletionTimestamp").is_some() => Some(Fate::Deleted),
        (Some(old), Some(new)) => {
            let is_written = changed(Some(old)) != changed(Some(new));
            is_written.then(|| Fate::Written(of_works(old, new)))
        }
    }
}

/// Returns the clusters for which no work can be made.
fn unrendered(world: &World<'_>, addon: &str) -> BTreeMap<String, String> {
    let instances = world
        .objects
        .iter()
        .filter(|(key, _)| key.kind == Kind::Instance && &*key.name == addon);
    let refused = instances.filter_map(|(key, instance)| {
        let conditions = instance.pointer("/status/conditions").and_then(Value::as_array);
        let text = |condition: &Value, field: &str| {
            let text = condition.get(field).and_then(Value::as_str);
            text.unwrap_or_default().to_owned()
        };
        let says = conditions.into_iter().flatten().find(|condition| {
            text(condition, "type") == MANIFEST_APPLIED
                && *text(condition, "reason") == Reason::ManifestWorkApplyFailed
        })?;
        Some((key.namespace.to_string(), text(says, "message")))
    });
    refused.collect()
}

#[cfg(test)]
mod tests {
    use kubernetes::field::Listing;
    use serde_json::json;

    use super::super::take_over_text::take_over_text;
    use super::super::test_hub::{asked, at_rest, now, pod};
    use super::*;

    const NAMESPACE: &str = "open-cluster-management-agent-addon";
    const TOLD: &str = "3 clusters: INSTALL_NAMESPACE is spec.installNamespace of the ManagedClusterAddOn; \
        OCM leaves it empty if no AddOnDeploymentConfig sets agentInstallNamespace";

    #[test]
    fn a_namespace_that_only_the_add_on_of_the_cluster_gives_is_named() {
        let binding = json!({"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding",
            "metadata": {"name": "holds-{{INSTALL_NAMESPACE}}"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}, "subjects": []});
        for (namespace, expected) in [("", 3), (NAMESPACE, 0)] {
            let manifests = json!([binding, pod(&json!({}), &json!({}))]);
            let hub = at_rest(&asked(&manifests, &json!({"agentInstallNamespace": namespace})));
            let told = take_over(&hub, Settings::default(), now());
            assert!(
                told[0].changed.is_empty() && told[0].namespaces.is_empty(),
                "{told:#?}"
            );
            // As OCM renders it: without a value.
            let mut stock = hub.clone();
            let entry = json!({"name": "INSTALL_NAMESPACE", "value": NAMESPACE}).to_string();
            for (key, work) in hub.objects().iter().filter(|(key, _)| key.kind == Kind::Work) {
                let text = work["spec"].to_string();
                let text = text.replace(&format!("holds-{NAMESPACE}"), "holds-");
                let text = text.replace(&format!(",{entry}"), "");
                assert!(!text.contains("INSTALL_NAMESPACE"), "{text}");
                stock.set_spec(key, serde_json::from_str(&text).expect("JSON"));
            }
            let told = take_over(&stock, Settings::default(), now());
            assert_eq!(
                (told[0].changed.len(), told[0].namespaces.len()),
                (3, expected),
                "{namespace:?}"
            );
            assert_eq!(
                take_over_text(&told, Listing::Whole).contains(TOLD),
                expected > 0,
                "{}",
                take_over_text(&told, Listing::Whole)
            );
        }
    }
}
