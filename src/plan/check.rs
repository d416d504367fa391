//! Invariants of plans, checked without the planner: what must never be in a plan, whatever the planner thinks.
//!
//! Decides nothing and repairs nothing; tests and the background verifier call it.

use std::collections::BTreeSet;

use serde_json::Value;

use super::registration::Answer;
use super::types::{Action, Plan, Revision};
use super::work::{is_deploy_work, is_hook_work};
use crate::snapshot::{InstallStrategy, Kind, Name, ObjectKey, PlacementUse, Stage, View, terms};

/// Returns every invariant that the plan breaks, as sentences.
pub fn check(view: &View<'_>, plan: &Plan) -> Vec<String> {
    let mut broken = Vec::new();
    let mut written = BTreeSet::new();
    for action in &plan.actions {
        let (object, verb) = (action.object(), verb(action));
        if !written.insert((object.clone(), verb)) {
            broken.push(format!("{object} gets two writes of the kind {verb}"));
        }
        if let Some(fault) = fault(view, plan, action) {
            broken.push(format!("{verb} {object}: {fault}"));
        }
        if !view.addon.managed
            && !serves_everybody(action)
            && object.kind != Kind::Cluster
            && (object.kind != Kind::AddOn || verb != "status")
        {
            broken.push(format!("{verb} {object}: the add-on manages itself"));
        }
    }
    broken
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

/// The token infrastructure is for every add-on: its objects, and one condition.
fn serves_everybody(action: &Action) -> bool {
    match action {
        Action::Create { object, .. } | Action::Replace { object, .. } | Action::Delete { object, .. } => {
            object.kind.is_for_registration()
        }
        Action::Status { object, patch, .. } => {
            let status = patch.get("status").and_then(Value::as_object);
            object.kind == Kind::Instance
                && status.is_some_and(|fields| fields.keys().all(|field| field == "conditions"))
        }
        Action::Certify { .. } => false,
    }
}

/// A grant carries the add-on's label when it is made, and is one of the add-on's when it is changed or deleted.
fn granted(view: &View<'_>, object: &ObjectKey, body: Option<&Value>) -> Option<&'static str> {
    if object.kind == Kind::SigningRequest {
        return Some("requests are only answered");
    }
    let Some(body) = body else {
        return view.grant(object).is_none().then_some("the grant is not ours");
    };
    let label = body
        .pointer("/metadata/labels")
        .and_then(|labels| labels.get(terms::TOKEN_ADDON_NAME));
    if label.and_then(Value::as_str) != Some(&*view.addon.name) {
        return Some("the label with the add-on is absent");
    }
    let owners = body
        .pointer("/metadata/ownerReferences/0/uid")
        .and_then(Value::as_str);
    let instance = view.instance(&object.namespace);
    let is_owners = |uid: &str| instance.is_some_and(|instance| *instance.meta.uid == *uid);
    (!owners.is_none_or(is_owners)).then_some("the instance does not own it")
}

/// Only a request of the add-on, and only one that somebody may still answer.
fn certified(view: &View<'_>, object: &ObjectKey, answer: &Answer) -> Option<&'static str> {
    let Some(request) = view.requests().find(|request| request.name == object.name) else {
        return Some("the request is not one of the add-on");
    };
    let due = match answer {
        Answer::Approve(_) => Stage::Pending,
        Answer::Sign(_) => Stage::Approved,
    };
    if request.stage != due {
        Some("the request waits for another answer")
    } else if view.instance(&request.cluster).is_none() {
        Some("there is no instance")
    } else {
        None
    }
}

fn fault(view: &View<'_>, plan: &Plan, action: &Action) -> Option<&'static str> {
    match action {
        Action::Create { object, body, .. } if object.kind == Kind::Instance => {
            created_instance(view, object, body)
        }
        Action::Create { object, body, .. } if object.kind == Kind::Work => {
            created_work(view, plan, object, body)
        }
        Action::Create { object, body, .. } if object.kind.is_for_registration() => {
            granted(view, object, Some(body))
        }
        Action::Create { .. } => Some("this kind is never created"),
        Action::Replace {
            object,
            before,
            patch,
            ..
        } => replaced(view, object, patch).or_else(|| unguarded(before)),
        Action::Status {
            object,
            before,
            patch,
            ..
        } => status(object, patch).or_else(|| unguarded(before)),
        Action::Certify {
            object,
            before,
            answer,
        } => certified(view, object, answer).or_else(|| unguarded(before)),
        Action::Delete { object, before, .. } => {
            deleted(view, object, &before.uid).or_else(|| unguarded(before))
        }
    }
}

fn unguarded(before: &Revision) -> Option<&'static str> {
    (before.uid.is_empty() || before.version.is_empty()).then_some("there is no precondition")
}

fn replaced(view: &View<'_>, object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    if patch.get("status").is_some() {
        Some("the status is written elsewhere")
    } else if object.kind == Kind::Cluster {
        labelled(view, patch)
    } else if object.kind.is_for_registration() {
        granted(view, object, None)
    } else if object.kind == Kind::Instance {
        patch.get("spec").and_then(|spec| respecified(view, object, spec))
    } else if object.kind == Kind::Work {
        (!is_deploy_work(&view.addon.name, &object.name) && !is_forsaken(view, object))
            .then_some("the work is not ours")
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

/// The agent of a work is gone with its cluster.
fn is_forsaken(view: &View<'_>, work: &ObjectKey) -> bool {
    view.cluster(&work.namespace).is_none()
}

/// Only a version that a placement gave may be written again: one that equals what was recorded when it was given.
fn respecified(view: &View<'_>, object: &ObjectKey, spec: &Value) -> Option<&'static str> {
    let only_version = spec
        .as_object()
        .is_some_and(|fields| fields.keys().eq(["desiredVersion"]));
    let is_given = view.instance(&object.namespace).is_some_and(|instance| {
        !instance.installed_by.is_empty() && instance.desired_version == instance.given_version
    });
    (!only_version || !is_given).then_some("the spec of an instance belongs to its user")
}

fn status(object: &ObjectKey, patch: &Value) -> Option<&'static str> {
    let only_status = patch
        .as_object()
        .is_some_and(|fields| fields.len() == 1 && fields.contains_key("status"));
    if !matches!(object.kind, Kind::AddOn | Kind::Instance) {
        Some("this kind has no status of ours")
    } else if only_status {
        None
    } else {
        Some("a status write touches nothing else")
    }
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
    let carried = body
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(terms::CONFIG_HASHES));
    let carried = carried.and_then(Value::as_str).unwrap_or("{}");
    let carried: Value = serde_json::from_str(carried).unwrap_or_default();
    (carried != assigned(view, plan, object)).then_some("it carries other hashes than the status assigns")
}

/// The hashes that the status will assign after the plan, in the form that works carry.
fn assigned(view: &View<'_>, plan: &Plan, work: &ObjectKey) -> Value {
    let written = plan.actions.iter().find_map(|action| match action {
        Action::Status { object, patch, .. }
            if object.kind == Kind::Instance && object.namespace == work.namespace =>
        {
            patch.pointer("/status/configReferences")
        }
        Action::Create { .. }
        | Action::Replace { .. }
        | Action::Status { .. }
        | Action::Delete { .. }
        | Action::Certify { .. } => None,
    });
    let text = |entry: &Value, pointer: &str| {
        entry
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned()
    };
    let pairs: serde_json::Map<String, Value> = if let Some(entries) = written.and_then(Value::as_array) {
        let pair = |entry: &Value| {
            let group = text(entry, "/group");
            let dot = if group.is_empty() { "" } else { "." };
            let of = format!("{}{dot}{group}", text(entry, "/resource"));
            let key = format!(
                "{of}/{}/{}",
                text(entry, "/desiredConfig/namespace"),
                text(entry, "/desiredConfig/name")
            );
            (key, Value::from(text(entry, "/desiredConfig/specHash")))
        };
        entries.iter().map(pair).collect()
    } else {
        let instance = view.instance(&work.namespace);
        let references = instance.into_iter().flat_map(|instance| &instance.references);
        references
            .map(|one| (one.config.to_string(), Value::from(&*one.desired)))
            .collect()
    };
    Value::Object(pairs)
}

fn deleted(view: &View<'_>, object: &ObjectKey, uid: &str) -> Option<&'static str> {
    if object.kind == Kind::Work {
        let ours = is_deploy_work(&view.addon.name, &object.name)
            || is_hook_work(&view.addon.name, &object.name)
            || hosted_for_nobody(view, object);
        return (!ours).then_some("the work is not ours");
    }
    if object.kind.is_for_registration() {
        return granted(view, object, None);
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
        Some("a human made it")
    } else if declined {
        None
    } else if selects(view, object) {
        Some("the install strategy selects the cluster")
    } else {
        (!graceful).then_some("its time of grace has not begun")
    }
}

/// A work on a hosting cluster for a cluster that is gone.
fn hosted_for_nobody(view: &View<'_>, work: &ObjectKey) -> bool {
    let is_it = |found: &crate::snapshot::Work| {
        found.hosted && found.namespace == work.namespace && found.name == work.name
    };
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
