//! Every write of a plan by itself: who may be created, changed and deleted, and with which precondition.
//!
//! Decides nothing and repairs nothing; never asks the planner's own code what it thinks.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::Value;

use super::{beside, grants, kept, pace, pinned, removals, rolling, standing, unchanged, undone};
use plan::{Action, Plan, Revision};
use store::{InstallStrategy, Instance, Kind, Name, ObjectKey, PlacementUse, View, terms};

/// Returns every invariant that the plan breaks, as sentences.
pub fn check(view: &View<'_>, plan: &Plan, now: Timestamp) -> Vec<String> {
    let (written, homes) = (standing::written(plan), pace::homes(view));
    // Times on the hub are whole seconds, and so are those of plans.
    let second = Timestamp::from_second(now.as_second()).unwrap_or(now);
    let mut broken = pace::broken(view, &homes, &written, second);
    broken.extend(rolling::broken(view, &homes, &written, second));
    broken.extend(beside::broken(view, &written, second));
    broken.extend(undone::broken(view, &homes, &written));
    broken.extend(removals::broken(view, plan, now));
    if let Some(at) = plan.recheck_at.filter(|at| *at <= now) {
        broken.push(format!(
            "the plan asks to be made again at {at}, which is past: it would be made indefinitely"
        ));
    }
    let mut written = BTreeSet::new();
    for action in &plan.actions {
        let (object, verb) = (action.object(), verb(action));
        // Metadata and status are two writes: the second goes on from the revision that the first one made.
        if !written.insert((object.clone(), verb)) {
            broken.push(format!(
                "{object} gets two writes of the kind {verb}; the second can only fail"
            ));
        }
        if let Some(fault) = fault(view, plan, action) {
            broken.push(format!("{verb} {object}: {fault}"));
        }
        if !view.addon.managed
            && !grants::serves_all_users(action)
            && object.kind != Kind::Cluster
            && (object.kind != Kind::Rollout || verb != "delete")
            && (object.kind != Kind::AddOn || verb != "status")
        {
            broken.push(format!("{verb} {object}: the add-on manages itself"));
        }
    }
    broken
}

/// Whether a name is that of a work with hooks that run before an add-on is deleted.
fn is_hook_work(addon: &str, name: &str) -> bool {
    name.starts_with(&format!("addon-{addon}-pre-delete"))
}

fn verb(action: &Action) -> &'static str {
    match action {
        Action::Create { .. } => "create",
        Action::Replace { .. } => "replace",
        Action::Status { .. } => "status",
        Action::Delete { .. } => "delete",
        Action::Certify { .. } => "certify",
    }
}

fn fault(view: &View<'_>, plan: &Plan, action: &Action) -> Option<&'static str> {
    match action {
        Action::Create { object, body, .. } if object.kind == Kind::Instance => {
            created_instance(view, object, &body.value())
        }
        Action::Create { object, body, .. } if object.kind == Kind::Work => {
            created_work(view, plan, object, &body.value())
        }
        Action::Create { object, body, .. } if object.kind.is_for_registration() => {
            let body = body.value();
            grants::granted(view, object, Some(&body)).or_else(|| grants::held(view, object, &body))
        }
        Action::Create { object, body, .. } if object.kind == Kind::Rollout => {
            created_roll_up(view, object, &body.value())
        }
        Action::Create { object, body, .. } if object.kind == Kind::KeptContent => {
            kept::created(view, object, &body.value())
        }
        Action::Create { .. } => Some("this kind is never created"),
        Action::Replace {
            object,
            before,
            patch,
            ..
        } => replaced(view, plan, object, &patch.value()).or_else(|| unguarded(before)),
        Action::Status {
            object,
            before,
            patch,
            ..
        } => status(view, object, &patch.value()).or_else(|| unguarded(before)),
        Action::Certify {
            object,
            before,
            answer,
        } => grants::certified(view, object, answer).or_else(|| unguarded(before)),
        Action::Delete { object, before, .. } => {
            deleted(view, object, &before.uid).or_else(|| unguarded(before))
        }
    }
}

fn unguarded(before: &Revision) -> Option<&'static str> {
    (before.uid.is_empty() || before.version.is_empty()).then_some("there is no precondition")
}

fn replaced(view: &View<'_>, plan: &Plan, object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    if patch.get("status").is_some() {
        Some("the status is written elsewhere")
    } else if object.kind == Kind::Cluster {
        labelled(view, patch)
    } else if object.kind.is_for_registration() {
        grants::granted(view, object, None)
            .or_else(|| grants::held(view, object, patch))
            .or_else(|| grants::changed(view, object, patch))
    } else if object.kind == Kind::Instance {
        let respecified = patch.get("spec").and_then(|spec| respecified(view, object, spec));
        respecified.or_else(|| annotated(view, object, patch))
    } else if object.kind == Kind::Work {
        if is_forsaken(view, object) {
            return None;
        }
        foreign(view, object).or_else(|| pinned::fault(view, plan, object, patch))
    } else if object.kind == Kind::Rollout {
        anothers_roll_up(view, object)
    } else {
        Some("this kind is never patched")
    }
}

/// Of a cluster only one label is ours.
fn labelled(view: &View<'_>, patch: &Value) -> Option<&'static str> {
    let ours = format!("{}{}", terms::FEATURE_PREFIX, view.addon.name);
    let is_one = |at: &str, key: &str| {
        let fields = patch.pointer(at).and_then(Value::as_object);
        fields.is_some_and(|fields| fields.len() == 1 && fields.contains_key(key))
    };
    let only = is_one("", "metadata") && is_one("/metadata", "labels") && is_one("/metadata/labels", &ours);
    (!only).then_some("of a cluster only the label of the add-on is ours")
}

/// The agent of a work was deleted with its cluster.
fn is_forsaken(view: &View<'_>, work: &ObjectKey) -> bool {
    view.cluster(&work.namespace).is_none()
}

/// An annotation that another field manager owns is never written, and never removed.
fn annotated(view: &View<'_>, object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    let claims = &view.instance(&object.namespace)?.claims;
    let written = patch.pointer("/metadata/annotations")?.as_object()?;
    let is_theirs = claims.annotations.iter().any(|key| written.contains_key(&**key));
    is_theirs.then_some("another field manager owns the annotation")
}

/// Only a version that a placement gave may be written again: one that equals what was recorded when it was given, or that the
/// manager that applies the instance leaves out, and that no other field manager owns. And the install namespace of an instance
/// without works, where the manager that applies it leaves that out.
fn respecified(view: &View<'_>, object: &ObjectKey, spec: &Value) -> Option<&'static str> {
    let may_write = |field: &str, instance: &Instance| match field {
        "desiredVersion" => {
            !instance.installed_by.is_empty()
                && (instance.desired_version == instance.given_version
                    || (instance.desired_version.is_empty() && !instance.claims.adopter.is_empty()))
                && !instance.claims.version
        }
        "installNamespace" => {
            instance.claims.omits_namespace && view.works(&object.namespace).next().is_none()
        }
        _ => false,
    };
    let instance = view.instance(&object.namespace);
    let fields = spec.as_object();
    let is_ours = fields
        .zip(instance)
        .is_some_and(|(fields, instance)| fields.keys().all(|field| may_write(field, instance)));
    (!is_ours).then_some("the spec of an instance belongs to its user")
}

fn status(view: &View<'_>, object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    let only_status = patch
        .as_object()
        .is_some_and(|fields| fields.len() == 1 && fields.contains_key("status"));
    if !matches!(object.kind, Kind::AddOn | Kind::Instance | Kind::Rollout) {
        Some("this kind has no status of ours")
    } else if !only_status {
        Some("a status write touches nothing else")
    } else if unchanged::is_unchanged(view, object, patch) {
        Some("the status write changes nothing")
    } else {
        None
    }
}

/// A work is ours when the store files it under the add-on and its name is one that the add-on's deployment gives.
fn foreign(view: &View<'_>, object: &ObjectKey) -> Option<&'static str> {
    let prefix = format!("addon-{}-deploy-", view.addon.name);
    let numbered = object
        .name
        .strip_prefix(&*prefix)
        .is_some_and(|number| number.parse::<u32>().is_ok());
    let filed = view
        .works(&object.namespace)
        .any(|work| work.namespace == object.namespace && work.name == object.name);
    (!numbered || !filed).then_some("the work is not ours")
}

fn created_instance(view: &View<'_>, object: &ObjectKey, body: &Value) -> Option<&'static str> {
    let mark = body
        .pointer("/metadata/annotations")
        .and_then(|marks| marks.get(terms::INSTALLED_BY));
    let cluster = view.cluster(&object.namespace);
    if !matches!(
        view.addon.strategy,
        InstallStrategy::Placements | InstallStrategy::Labels(_)
    ) {
        Some("this install strategy creates no instances")
    } else if view.instance(&object.namespace).is_some() {
        Some("the instance exists")
    } else if cluster.is_none_or(|cluster| cluster.meta.deleting) {
        Some("the cluster is absent or being deleted")
    } else if cluster.is_some_and(|cluster| cluster.opts_out_of(&view.addon.name)) {
        Some("the cluster has opted out")
    } else if !selects(view, object) {
        Some("nothing selects the cluster")
    } else if mark.is_none() {
        Some("the mark of our own instances is absent")
    } else if body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str)
        != Some(&*view.addon.meta.uid)
    {
        Some("the add-on does not own it")
    } else {
        None
    }
}

fn created_roll_up(view: &View<'_>, object: &ObjectKey, body: &Value) -> Option<&'static str> {
    let owner = body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    if view.roll_up().is_some() {
        Some("the roll-up exists")
    } else if owner != Some(&*view.addon.meta.uid) {
        Some("the add-on does not own it")
    } else {
        anothers_roll_up(view, object)
    }
}

/// An add-on has one roll-up, that of its name.
fn anothers_roll_up(view: &View<'_>, object: &ObjectKey) -> Option<&'static str> {
    (object.name != view.addon.name).then_some("the roll-up is another add-on's")
}

fn created_work(view: &View<'_>, plan: &Plan, object: &ObjectKey, body: &Value) -> Option<&'static str> {
    let Some(instance) = view.instance(&object.namespace) else {
        return Some("there is no instance");
    };
    let owner = body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    let foreground = |one: &Name| **one == *"foregroundDeletion";
    let unowned = owner.is_none() && instance.farewell.finalizers.iter().any(foreground);
    if owner != Some(&*instance.meta.uid) && !unowned {
        return Some("the instance does not own it");
    }
    let label = body
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(terms::ADDON_NAME));
    if label.and_then(Value::as_str) != Some(&*view.addon.name) {
        return Some("the label with the add-on is absent");
    }
    if is_hook_work(&view.addon.name, &object.name) {
        return (!instance.meta.deleting).then_some("hooks run before a deletion, and only then");
    }
    if view
        .cluster(&object.namespace)
        .is_none_or(|cluster| cluster.meta.deleting)
    {
        return Some("the cluster is absent or being deleted");
    }
    if instance.meta.deleting {
        return Some("the instance is being deleted");
    }
    pinned::fault(view, plan, object, body)
}

fn deleted(view: &View<'_>, object: &ObjectKey, uid: &str) -> Option<&'static str> {
    if object.kind == Kind::Work {
        let ours = is_hook_work(&view.addon.name, &object.name) || hosted_for_no_cluster(view, object);
        return foreign(view, object).filter(|_| !ours);
    }
    if object.kind.is_for_registration() {
        return grants::granted(view, object, None);
    }
    if object.kind == Kind::Rollout {
        let kept = view.addon.managed && !view.is_anothers();
        return anothers_roll_up(view, object).or_else(|| kept.then_some("the add-on is managed here"));
    }
    if object.kind == Kind::KeptContent {
        return kept::deleted(view, object);
    }
    if object.kind != Kind::Instance {
        return Some("this kind is never deleted");
    }
    let Some(instance) = view.instance(&object.namespace) else {
        return Some("there is no instance");
    };
    let leaving = view
        .cluster(&object.namespace)
        .is_some_and(|cluster| cluster.meta.deleting);
    let declined = view
        .cluster(&object.namespace)
        .is_some_and(|cluster| cluster.opts_out_of(&view.addon.name));
    let graceful = view.settings().decision_grace.is_zero() || instance.deselected_at.is_some();
    if *instance.meta.uid != *uid {
        return Some("it is another instance");
    }
    if leaving {
        return None;
    }
    if !matches!(
        view.addon.strategy,
        InstallStrategy::Placements | InstallStrategy::Labels(_)
    ) {
        Some("this install strategy deletes no instances")
    } else if instance.installed_by.is_empty() {
        Some("a user created it")
    } else if !instance.claims.adopter.is_empty() {
        Some("another field manager applies it")
    } else if declined {
        None
    } else if selects(view, object) {
        Some("the install strategy selects the cluster")
    } else {
        (!graceful).then_some("its time of grace has not begun")
    }
}

/// A work on a hosting cluster for a deleted cluster.
fn hosted_for_no_cluster(view: &View<'_>, work: &ObjectKey) -> bool {
    let is_it =
        |found: &store::Work| found.hosted && found.namespace == work.namespace && found.name == work.name;
    let mut all = view.all_works();
    all.any(|(cluster, found)| is_it(found) && view.cluster(cluster).is_none())
}

fn selects(view: &View<'_>, instance: &ObjectKey) -> bool {
    match &view.addon.strategy {
        InstallStrategy::Placements => {}
        InstallStrategy::Labels(selector) => {
            let cluster = view.cluster(&instance.namespace);
            return cluster
                .zip(selector.as_ref())
                .is_some_and(|(cluster, selector)| cluster.is_matched_by(selector));
        }
        InstallStrategy::Manual | InstallStrategy::BadLabels(_) | InstallStrategy::Other(_) => return false,
    }
    let decisions = |used: &PlacementUse| view.decisions(&used.namespace, &used.name);
    view.addon
        .placements
        .iter()
        .flat_map(decisions)
        .any(|decision| decision.clusters.contains(&instance.namespace))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use store::{Event, Settings, Store};

    const VALUES: &str = "addon.open-cluster-management.io/values";

    /// What is said of a write to an instance with the marks of a placement, deselected long ago, that `manager` applies or edits.
    fn said(operation: &str, write: impl Fn(ObjectKey, Revision) -> Action) -> Vec<String> {
        let mut store = Store::new(Settings::default());
        let placement = json!({"name": "all", "namespace": "default"});
        let addon = json!({"metadata": {"name": "hello", "uid": "a", "resourceVersion": "1"},
            "spec": {"installStrategy": {"type": "Placements", "placements": [placement]}}});
        let cluster = json!({"metadata": {"name": "c1", "uid": "c", "resourceVersion": "2"}, "spec": {"hubAcceptsClient": true}});
        let fields = json!({"f:spec": {"f:desiredVersion": {}}, "f:metadata": {"f:annotations": {(format!("f:{VALUES}")): {}}}});
        let annotations = json!({(terms::INSTALLED_BY): "default/all", (terms::GIVEN_VERSION): "v1", (VALUES): "1",
            (terms::DESELECTED_AT): "2030-01-01T00:00:00Z"});
        let entry = json!({"manager": "other", "operation": operation, "fieldsV1": fields});
        let instance = json!({"metadata": {"name": "hello", "namespace": "c1", "uid": "i", "resourceVersion": "3",
            "annotations": annotations, "managedFields": [entry]}, "spec": {"desiredVersion": "v1"}});
        for (kind, object) in [
            (Kind::AddOn, addon),
            (Kind::Cluster, cluster),
            (Kind::Instance, instance),
        ] {
            store.apply(Event::Applied { kind, object });
        }
        let view = store.view("hello").expect("the add-on is there");
        let found = view.instance("c1").expect("the instance is there");
        let plan = Plan {
            actions: vec![write(
                ObjectKey::new(Kind::Instance, "c1", "hello"),
                Revision::from(&found.meta),
            )],
            ..Plan::default()
        };
        check(&view, &plan, "2030-01-02T00:00:00Z".parse().expect("a time"))
    }

    fn patch(patch: Value) -> impl Fn(ObjectKey, Revision) -> Action {
        move |object, before| Action::Replace {
            object,
            before,
            patch: patch.clone().into(),
            why: "a test",
        }
    }

    fn delete(object: ObjectKey, before: Revision) -> Action {
        Action::Delete {
            object,
            before,
            why: "a test",
        }
    }

    #[test]
    fn what_another_field_manager_owns_is_in_no_plan() {
        let is_said = |said: Vec<String>, phrase: &str| said.iter().any(|one| one.contains(phrase));
        for operation in ["Apply", "Update"] {
            let version = said(operation, patch(json!({"spec": {"desiredVersion": "v2"}})));
            assert!(is_said(version, "belongs to its user"), "{operation}");
            for value in [json!("2"), Value::Null] {
                let annotation = patch(json!({"metadata": {"annotations": {(VALUES): value}}}));
                assert!(
                    is_said(said(operation, annotation), "owns the annotation"),
                    "{operation}"
                );
            }
        }
        assert!(is_said(said("Apply", delete), "another field manager applies it"));
        let edited = said("Update", delete);
        assert!(!is_said(edited, "applies it"), "who edits it does not keep it");
        let ours = patch(json!({"metadata": {"annotations": {(terms::DESELECTED_AT): null}}}));
        assert_eq!(said("Update", ours), Vec::<String>::new());
    }
}
