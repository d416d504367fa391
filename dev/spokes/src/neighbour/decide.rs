//! What addon-framework writes for one ManagedClusterAddOn, from what stands on the hub: a pure function.
//!
//! Decides nothing of the manager's part: no installation, no assignment, no `Configured`, no `Progressing`. Deploys one
//! ConfigMap.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::conditions::{self, Word};
use super::framework::{Framework, Generation};
use super::hosted;
use super::json::{annotation, is_deleting, list, says, text};

pub(super) const ADDON_NAME: &str = "open-cluster-management.io/addon-name";
const HASHES: &str = "open-cluster-management.io/config-spec-hash";
const LIFECYCLE: &str = "addon.open-cluster-management.io/lifecycle";
const NAMESPACE: &str = "open-cluster-management-agent-addon";
const SIGNER: &str = "kubernetes.io/kube-apiserver-client";

/// What the program sees of one instance.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'v> {
    /// The ClusterManagementAddOn, in `v1alpha1`.
    pub addon: &'v Value,
    /// The ManagedClusterAddOn, in `v1alpha1`.
    pub instance: &'v Value,
    /// Its ManagedCluster.
    pub cluster: &'v Value,
    /// The names of all ManagedClusters.
    pub clusters: &'v BTreeSet<String>,
    /// All works with the label of the add-on.
    pub works: &'v [Value],
    /// The configurations of its types, by plural, namespace and name.
    pub configs: &'v BTreeMap<(String, String, String), Value>,
}

/// Names an object: kind, namespace, name.
pub type Key = (String, String, String);

/// One write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Write {
    /// A new work.
    Create(Value),
    /// A merge patch of an object.
    Patch(Key, Value),
    /// A merge patch of a status; lists are written as a whole.
    Status(Key, Value),
    /// The end of a work.
    Delete(Key),
}

/// Returns what the program writes next; at rest nothing.
pub fn decide(framework: &Framework, scene: &Scene<'_>, now: Timestamp) -> Vec<Write> {
    let mut writes: Vec<Write> = lifecycle(framework, scene.addon).into_iter().collect();
    writes.extend(addon_hashes(framework, scene));
    if !is_begun(framework, scene.instance) {
        return writes;
    }
    writes.extend(hosted::writes(framework, scene));
    if !is_deleting(scene.instance) {
        writes.extend(deployed(framework, scene));
        writes.extend(status(framework, scene, now));
    }
    writes
}

pub(super) fn key(object: &Value) -> Key {
    ["/kind", "/metadata/namespace", "/metadata/name"]
        .map(|pointer| text(object, pointer).to_owned())
        .into()
}

/// Exactly `self` becomes empty; other values belong to other managers.
fn lifecycle(framework: &Framework, addon: &Value) -> Option<Write> {
    let is_self = annotation(addon, LIFECYCLE) == Some("self");
    let patch = json!({"metadata": {"annotations": {(LIFECYCLE): ""}}});
    (is_self && framework.generation == Generation::New).then(|| Write::Patch(key(addon), patch))
}

/// Nothing begins before the manager has said whose instance it is.
fn is_begun(framework: &Framework, instance: &Value) -> bool {
    let owners = list(instance, "/metadata/ownerReferences");
    owners.iter().any(|owner| {
        text(owner, "/kind") == "ClusterManagementAddOn" && text(owner, "/name") == framework.addon
    })
}

fn deployed(framework: &Framework, scene: &Scene<'_>) -> Option<Write> {
    if annotation(scene.instance, hosted::HOSTING).is_some() {
        return None;
    }
    if framework.waits_for_configured && says(scene.instance, "Configured") != "True" {
        return None;
    }
    let instance = scene.instance;
    let owner = json!([{"apiVersion": text(instance, "/apiVersion"), "kind": "ManagedClusterAddOn",
        "name": framework.addon, "uid": text(instance, "/metadata/uid")}]);
    let metadata = json!({"labels": {(ADDON_NAME): framework.addon}, "ownerReferences": owner});
    let name = format!("addon-{}-deploy-0", framework.addon);
    stamped(
        framework,
        scene,
        (text(instance, "/metadata/namespace"), &name),
        metadata,
    )
}

/// Returns the write that makes a work carry the hashes of the present assignment, if it does not.
pub(super) fn stamped(
    framework: &Framework,
    scene: &Scene<'_>,
    (namespace, name): (&str, &str),
    mut metadata: Value,
) -> Option<Write> {
    let hashes = hashes(scene.instance)?;
    let spec = json!({"workload": {"manifests": [{"apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": framework.addon, "namespace": NAMESPACE}, "data": {"runs-with": hashes}}]}});
    let of = |work: &&Value| {
        text(work, "/metadata/namespace") == namespace && text(work, "/metadata/name") == name
    };
    let annotations = (!hashes.is_empty()).then(|| json!({(HASHES): hashes}));
    let Some(stored) = scene.works.iter().find(of) else {
        let fields = metadata.as_object_mut()?;
        fields.insert("name".to_owned(), json!(name));
        fields.insert("namespace".to_owned(), json!(namespace));
        fields.extend(annotations.map(|annotations| ("annotations".to_owned(), annotations)));
        return Some(Write::Create(json!({
            "apiVersion": "work.open-cluster-management.io/v1", "kind": "ManifestWork", "metadata": metadata, "spec": spec})));
    };
    let is_same =
        stored.get("spec") == Some(&spec) && annotation(stored, HASHES).unwrap_or_default() == hashes;
    let patch = json!({"metadata": {"annotations": annotations}, "spec": spec});
    (!is_same).then(|| Write::Patch(key(stored), patch))
}

/// Returns the hashes of the assignment as a work carries them; nothing where one of them is not known yet.
fn hashes(instance: &Value) -> Option<String> {
    let mut all = Map::new();
    for one in list(instance, "/status/configReferences") {
        let hash = text(one, "/desiredConfig/specHash");
        if hash.is_empty() {
            return None;
        }
        let group = text(one, "/group");
        let dot = if group.is_empty() { "" } else { "." };
        let key = format!(
            "{}{dot}{group}/{}/{}",
            text(one, "/resource"),
            text(one, "/desiredConfig/namespace"),
            text(one, "/desiredConfig/name")
        );
        all.insert(key, json!(hash));
    }
    Some(if all.is_empty() {
        String::new()
    } else {
        Value::Object(all).to_string()
    })
}

fn status(framework: &Framework, scene: &Scene<'_>, now: Timestamp) -> Option<Write> {
    let instance = scene.instance;
    let mut patch = Map::new();
    let mut put = |field: &str, wanted: Value| {
        let known = instance.pointer(&format!("/status/{field}"));
        if known != Some(&wanted) {
            patch.insert(field.to_owned(), wanted);
        }
    };
    let types = framework.types.iter();
    let types = types.map(|of| json!({"group": of.group, "resource": of.resource}));
    put("supportedConfigs", types.collect());
    let mode = if framework.is_customized {
        "Customized"
    } else {
        "Lease"
    };
    put("healthCheck", json!({"mode": mode}));
    let asked = text(instance, "/spec/installNamespace");
    put(
        "namespace",
        json!(if asked.is_empty() { NAMESPACE } else { asked }),
    );
    put("registrations", registrations(framework, instance));
    let references = list(instance, "/status/configReferences");
    let hashed: Vec<Value> = references
        .iter()
        .map(|one| hashed(framework, scene, one))
        .collect();
    if !references.is_empty() {
        put("configReferences", Value::Array(hashed));
    }
    put("conditions", Value::Array(stated(framework, scene, now)));
    (!patch.is_empty()).then(|| Write::Status(key(instance), Value::Object(patch)))
}

/// One registration; the driver and a subject that the agent has put there stay.
fn registrations(framework: &Framework, instance: &Value) -> Value {
    let known = list(instance, "/status/registrations").first();
    if let Some(known) = known.filter(|known| known.get("subject").is_some()) {
        return json!([known]);
    }
    let (cluster, addon) = (text(instance, "/metadata/namespace"), &framework.addon);
    let group = format!("system:open-cluster-management:cluster:{cluster}:addon:{addon}");
    json!([{"signerName": SIGNER, "subject": {"user": format!("{group}:agent:{addon}-agent"),
        "groups": [group, format!("system:open-cluster-management:addon:{addon}")]}}])
}

/// Returns a reference with the hash and the generation of the object, where the program knows the type.
fn hashed(framework: &Framework, scene: &Scene<'_>, one: &Value) -> Value {
    let mut one = one.clone();
    let of = |kind: &&super::ConfigKind| {
        kind.resource == text(&one, "/resource") && kind.group == text(&one, "/group")
    };
    if !framework.types.iter().any(|kind| of(&kind)) {
        return one;
    }
    let place = ["/resource", "/desiredConfig/namespace", "/desiredConfig/name"]
        .map(|pointer| text(&one, pointer).to_owned())
        .into();
    let Some(config) = scene.configs.get(&place) else {
        return one;
    };
    let generation = config.pointer("/metadata/generation").cloned();
    if let Some(hash) = one.pointer_mut("/desiredConfig").and_then(Value::as_object_mut) {
        hash.insert("specHash".to_owned(), json!((framework.hash)(config)));
    }
    if let Some(seen) = one.get_mut("lastObservedGeneration") {
        *seen = json!(generation);
    }
    one
}

/// The hashes in the status of the add-on are filled in by the program that knows the type.
fn addon_hashes(framework: &Framework, scene: &Scene<'_>) -> Option<Write> {
    let addon = scene.addon;
    let mut patch = Map::new();
    let fill = |list: &[Value]| -> Value { list.iter().map(|one| hashed(framework, scene, one)).collect() };
    let defaults = list(addon, "/status/defaultconfigReferences");
    let filled = fill(defaults);
    if filled != json!(defaults) {
        patch.insert("defaultconfigReferences".to_owned(), filled);
    }
    let progressions = list(addon, "/status/installProgressions");
    let mut filled = json!(progressions);
    for one in filled.as_array_mut().into_iter().flatten() {
        if let Some(references) = one.get_mut("configReferences") {
            *references = fill(references.as_array().map_or(&[], Vec::as_slice));
        }
    }
    if filled != json!(progressions) {
        patch.insert("installProgressions".to_owned(), filled);
    }
    (!patch.is_empty()).then(|| Write::Status(key(addon), Value::Object(patch)))
}

/// Returns all conditions of the instance, with those of this program as they should be.
fn stated(framework: &Framework, scene: &Scene<'_>, now: Timestamp) -> Vec<Value> {
    let instance = scene.instance;
    let mut conditions = list(instance, "/status/conditions").to_vec();
    let mut put = |kind: &str, word: Word| conditions::put(&mut conditions, kind, word, now);
    let registered = "Registration of the addon agent is configured".to_owned();
    put(
        "RegistrationApplied",
        Word::Says(("True", "SetPermissionApplied", registered)),
    );
    let cluster = text(instance, "/metadata/namespace");
    let of_hosts = hosted::works(scene);
    let is_own = |work: &&Value| text(work, "/metadata/namespace") == cluster && !of_hosts.contains(work);
    let own: Vec<&Value> = scene.works.iter().filter(is_own).collect();
    let host = annotation(instance, hosted::HOSTING);
    let is_here = |work: &&&Value| Some(text(work, "/metadata/namespace")) == host;
    let here: Vec<&Value> = of_hosts.iter().filter(is_here).copied().collect();
    if hashes(instance).is_none() {
        let told = "failed to get manifest from agent interface: a configuration has no hash".to_owned();
        put(
            "ManifestApplied",
            Word::Says(("False", "ManifestWorkApplyFailed", told)),
        );
    } else if host.is_some() || !own.is_empty() {
        put(
            "ManifestApplied",
            conditions::applied(instance, "ManifestApplied", &own),
        );
    }
    if let Some(host) = host {
        put(
            "HostingClusterValidity",
            Word::Says(hosted::validity(scene, host)),
        );
    }
    if !here.is_empty() {
        let kind = "HostingManifestApplied";
        put(kind, conditions::applied(instance, kind, &here));
    }
    let all: Vec<&Value> = own.iter().chain(&here).copied().collect();
    put(
        "Available",
        conditions::available(framework, instance, scene.cluster, &all),
    );
    conditions
}

#[cfg(test)]
#[path = "decide_tests.rs"]
mod tests;
