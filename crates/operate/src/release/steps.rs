//! What of an add-on only Tidegate uses, and how it is removed.
//!
//! Decides by names: conditions that no other program writes and that would lie from now on, marks by which Tidegate knows its
//! own, role bindings with its label, and the annotation that makes an add-on its own. What users wrote, though it begins with
//! `tidegate.io/`, is theirs. Works, instances, configurations and OCM's own conditions stay as they are. Never writes.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use api::names::annotations::{LIFECYCLE, LIFECYCLE_TIDEGATE};
use api::names::conditions::{CERTIFICATE_REQUEST_REFUSED, READY, RECONCILING, STALLED};
use store::terms;

/// Conditions that Tidegate alone writes and keeps up to date.
const CONDITIONS: [&str; 7] = [
    READY,
    RECONCILING,
    STALLED,
    terms::ASSIGNED,
    terms::MERGED,
    CERTIFICATE_REQUEST_REFUSED,
    "Managed",
];
/// Annotations by which Tidegate remembers what it did.
const MARKS: [&str; 5] = [
    terms::INSTALLED_BY,
    terms::DESELECTED_AT,
    terms::COPIED_ANNOTATIONS,
    terms::GIVEN_VERSION,
    terms::HOOK_FAILED,
];

/// Everything of one add-on on the hub that may be removed, as the hub shows it.
#[derive(Debug, Clone, Default)]
pub struct RemovableObjects {
    /// The `ClusterManagementAddOn`, where there is one.
    pub addon: Option<Value>,
    /// Its `ManagedClusterAddOn`s.
    pub instances: Vec<Value>,
    /// The role bindings with Tidegate's label.
    pub bindings: Vec<Value>,
    /// Namespace and name of the bindings of OCM's add-on manager that stand beside these.
    pub twins: BTreeSet<(String, String)>,
}

/// What a step does to its object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// A JSON merge patch of the status.
    Status(Value),
    /// A JSON merge patch.
    Patch(Value),
    /// A deletion.
    Delete,
}

/// One write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The object as it was read; its revision is the precondition.
    pub object: Value,
    /// What is done.
    pub act: Act,
    /// What that means, for people.
    pub says: String,
}

/// Returns what has to be done so that nothing of the add-on is Tidegate's: the annotation that makes it its own goes last.
pub fn steps(held: &RemovableObjects) -> Vec<Step> {
    let each = held.instances.iter().chain(&held.addon);
    let conditions = each.clone().filter_map(without_conditions);
    let marks = held.instances.iter().filter_map(without_marks);
    let bindings = held
        .bindings
        .iter()
        .filter(|one| has_twin(held, one))
        .map(|binding| Step {
            object: binding.clone(),
            act: Act::Delete,
            says: "delete: OCM's own binding exists".to_owned(),
        });
    let lifecycle = held.addon.as_ref().and_then(unmarked);
    conditions.chain(marks).chain(bindings).chain(lifecycle).collect()
}

/// Returns the role bindings that stay for now: OCM's add-on manager has not given the agent these rights yet.
pub fn left(held: &RemovableObjects) -> impl Iterator<Item = &Value> {
    held.bindings.iter().filter(|one| !has_twin(held, one))
}

/// Returns namespace and name of the binding by which OCM's add-on manager gives the same role: the same name without the cluster and
/// the index of the permission.
pub fn twin_of(binding: &Value) -> Option<(String, String)> {
    let text = |pointer: &str| binding.pointer(pointer).and_then(Value::as_str);
    let (rest, _index) = text("/metadata/name")?.rsplit_once(':')?;
    let (name, _cluster) = rest.rsplit_once(':')?;
    Some((text("/metadata/namespace")?.to_owned(), name.to_owned()))
}

fn has_twin(held: &RemovableObjects, binding: &Value) -> bool {
    twin_of(binding).is_some_and(|twin| held.twins.contains(&twin))
}

/// The whole list is written, because a merge patch knows no items; the revision guards it.
fn without_conditions(object: &Value) -> Option<Step> {
    let all = object.pointer("/status/conditions")?.as_array()?;
    let is_ours = |one: &&Value| {
        let kind = one.get("type").and_then(Value::as_str);
        kind.is_some_and(|kind| CONDITIONS.contains(&kind))
    };
    let (gone, kept): (Vec<&Value>, Vec<&Value>) = all.iter().partition(is_ours);
    let names: Vec<&str> = gone
        .iter()
        .filter_map(|one| one.get("type").and_then(Value::as_str))
        .collect();
    (!names.is_empty()).then(|| Step {
        object: object.clone(),
        act: Act::Status(json!({"status": {"conditions": kept}})),
        says: format!("remove the conditions {}", names.join(", ")),
    })
}

fn without_marks(instance: &Value) -> Option<Step> {
    let all = instance.pointer("/metadata/annotations")?.as_object()?;
    let there: Vec<&str> = MARKS.into_iter().filter(|mark| all.contains_key(*mark)).collect();
    let gone: Map<String, Value> = there
        .iter()
        .map(|mark| ((*mark).to_owned(), Value::Null))
        .collect();
    (!there.is_empty()).then(|| Step {
        object: instance.clone(),
        act: Act::Patch(json!({"metadata": {"annotations": gone}})),
        says: format!("remove the annotations {}", there.join(", ")),
    })
}

fn unmarked(addon: &Value) -> Option<Step> {
    let all = addon.pointer("/metadata/annotations")?;
    (all.get(LIFECYCLE)? == LIFECYCLE_TIDEGATE).then(|| Step {
        object: addon.clone(),
        act: Act::Patch(json!({"metadata": {"annotations": {(LIFECYCLE): null}}})),
        says: format!(
            "remove the annotation {LIFECYCLE}={LIFECYCLE_TIDEGATE}: OCM's add-on manager manages the add-on from now on"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held() -> RemovableObjects {
        let conditions = json!([{"type": "Ready"}, {"type": "Available"}, {"type": "Assigned"}]);
        let binding =
            |name: &str| json!({"kind": "RoleBinding", "metadata": {"name": name, "namespace": "c1"}});
        RemovableObjects {
            addon: Some(
                json!({"kind": "ClusterManagementAddOn", "metadata": {"name": "hello",
                "annotations": {(LIFECYCLE): "tidegate", "tidegate.io/deletion-guard": "true"}}}),
            ),
            instances: vec![
                json!({"kind": "ManagedClusterAddOn", "metadata": {"name": "hello", "namespace": "c1", "annotations":
                {"tidegate.io/installed-by": "default/all", "tidegate.io/hook-timeout": "5m"}}, "status": {"conditions": conditions}}),
            ],
            bindings: vec![
                binding("open-cluster-management:hello:clusterrole:agent:c1:0"),
                binding("open-cluster-management:hello:role:agent:c1:1"),
            ],
            twins: BTreeSet::from([(
                "c1".to_owned(),
                "open-cluster-management:hello:clusterrole:agent".to_owned(),
            )]),
        }
    }

    #[test]
    fn what_users_and_ocm_wrote_stays_and_the_annotation_goes_last() {
        let held = held();
        let told: Vec<String> = steps(&held)
            .iter()
            .map(|step| format!("{}: {}", step.object["kind"].as_str().expect("a kind"), step.says))
            .collect();
        assert_eq!(
            told,
            [
                "ManagedClusterAddOn: remove the conditions Ready, Assigned",
                "ManagedClusterAddOn: remove the annotations tidegate.io/installed-by",
                "RoleBinding: delete: OCM's own binding exists",
                "ClusterManagementAddOn: remove the annotation addon.open-cluster-management.io/lifecycle=tidegate: OCM's add-on manager manages the add-on from now on",
            ]
        );
        let Act::Status(status) = &steps(&held)[0].act else {
            panic!("a status")
        };
        assert_eq!(status["status"]["conditions"], json!([{"type": "Available"}]));
        // An agent without OCM's binding would lose its rights.
        assert_eq!(left(&held).count(), 1);
    }

    #[test]
    fn nothing_is_left_to_do_when_it_is_done() {
        let mut held = held();
        held.addon =
            Some(json!({"metadata": {"name": "hello", "annotations": {(LIFECYCLE): "addon-manager"}}}));
        held.instances = vec![json!({"metadata": {"name": "hello", "namespace": "c1"}})];
        held.bindings.clear();
        assert_eq!(steps(&held), []);
    }
}
