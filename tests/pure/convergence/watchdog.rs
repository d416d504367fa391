//! Watchdogs: invariants of every single write, checked against the hub and not the planner's view.
//!
//! Views may be late; if an invariant depends on what the process could know, it is checked against what the process had observed when
//! it planned.

use std::collections::{BTreeMap, BTreeSet};

use api::hash::SpecHash;
use plan::Action;
use serde_json::Value;
use store::{Kind, ObjectKey};

use super::hub::{Hub, Object, is_deleting, text};
use super::manager::{Seen, Tried};
use super::spec::amount_of;
use super::user::{ADDON, is_taken_over, message_of};

const MARK: &str = "tidegate.io/installed-by";
const OPT_OUT: &str = "tidegate.io/opt-out";
const HASHES: &str = "open-cluster-management.io/config-spec-hash";
const DECISION_OF: &str = "cluster.open-cluster-management.io/placement";
const GROUP_OF: &str = "cluster.open-cluster-management.io/decision-group-name";

/// Returns what is wrong with a write. `ordered` says whether the views of this case are only ever late.
pub(crate) fn look(hub: &Hub, tried: &Tried, ordered: bool) -> Result<(), String> {
    let object = tried.action.object();
    if tried.met_own && ordered {
        return Err(format!(
            "own write: {object} was written from a view without the process's own last write"
        ));
    }
    if tried.result.is_err() {
        return Ok(());
    }
    if let Some(before) = overwritten(tried) {
        return Err(format!(
            "overwritten: {object} was planned from revision {before}, and another one was there"
        ));
    }
    let fault = match &tried.action {
        Action::Delete { .. } if object.kind == Kind::Instance => unmarked(tried),
        Action::Replace { .. } if object.kind == Kind::Instance => written_over(hub, tried),
        Action::Create { .. } if object.kind == Kind::Instance => leaving(&tried.seen, object),
        Action::Create { .. } | Action::Replace { .. } if object.kind == Kind::Work && ordered => {
            unassigned(hub, object)
        }
        Action::Status { .. } if object.kind == Kind::Instance && ordered => crowded(hub, tried),
        Action::Status { .. } if object.kind == Kind::AddOn && ordered => premature(hub, tried),
        _ => None,
    };
    fault.map_or(Ok(()), |fault| Err(format!("unsafe: {object}: {fault}")))
}

/// A write lands on the revision that it was planned from, or not at all.
fn overwritten(tried: &Tried) -> Option<&str> {
    let planned = match &tried.action {
        Action::Create { .. } => return None,
        Action::Replace { before, .. }
        | Action::Status { before, .. }
        | Action::Delete { before, .. }
        | Action::Certify { before, .. } => before,
    };
    let stored = text(tried.before.as_ref()?, "/metadata/resourceVersion");
    (*stored != *planned.version).then_some(&*planned.version)
}

/// What a human made stays, unless its cluster or the whole add-on goes.
fn unmarked(tried: &Tried) -> Option<String> {
    let before = tried.before.as_ref()?;
    let object = tried.action.object();
    let addon = tried
        .seen
        .0
        .get(&ObjectKey::new(Kind::AddOn, "", object.name.clone()));
    let cluster = tried
        .seen
        .0
        .get(&ObjectKey::new(Kind::Cluster, "", object.namespace.clone()));
    let goes =
        addon.is_none_or(|addon| is_deleting(addon)) || cluster.is_none_or(|cluster| is_deleting(cluster));
    let marked = before["metadata"]["annotations"].get(MARK).is_some();
    let fault = if is_taken_over(before) {
        Some("an add-on that another client applies was deleted")
    } else {
        (!marked).then_some("an add-on without the mark was deleted")
    };
    fault.filter(|_| !goes).map(ToOwned::to_owned)
}

/// The version of an instance that a GitOps tool applies is not written over.
fn written_over(hub: &Hub, tried: &Tried) -> Option<String> {
    let before = tried.before.as_ref().filter(|before| is_taken_over(before))?;
    let after = hub.get(tried.action.object())?;
    let version = |one: &Value| text(one, "/spec/desiredVersion").to_owned();
    (version(before) != version(after))
        .then(|| "a version that another client applies was overwritten".to_owned())
}

fn leaving(seen: &Seen, object: &ObjectKey) -> Option<String> {
    let cluster = seen
        .0
        .get(&ObjectKey::new(Kind::Cluster, "", object.namespace.clone()));
    cluster
        .is_none_or(|cluster| is_deleting(cluster))
        .then(|| "it was created for a cluster that is absent or being deleted".to_owned())
}

/// A work carries the hashes that the status assigns, and the text that belongs to the hash.
fn unassigned(hub: &Hub, object: &ObjectKey) -> Option<String> {
    let work = hub.get(object)?;
    let instance = hub.get(&ObjectKey::new(Kind::Instance, object.namespace.clone(), ADDON))?;
    let carried = work["metadata"]["annotations"]
        .get(HASHES)
        .and_then(Value::as_str)
        .unwrap_or("{}");
    let carried: BTreeMap<String, String> = serde_json::from_str(carried).unwrap_or_default();
    let assigned: BTreeMap<String, String> = references(instance)
        .map(|one| {
            let place = format!(
                "{}/{}",
                text(one, "/desiredConfig/namespace"),
                text(one, "/desiredConfig/name")
            );
            let key = format!("{}.{}/{place}", text(one, "/resource"), text(one, "/group"));
            (key, text(one, "/desiredConfig/specHash").to_owned())
        })
        .collect();
    if carried != assigned {
        return Some(format!(
            "it carries {carried:?}, and the status assigns {assigned:?}"
        ));
    }
    let message = text(work, "/spec/workload/manifests/0/data/message");
    let config = format!("default/{}", message.split('-').next().unwrap_or_default());
    let hash = assigned
        .iter()
        .find(|(key, _)| key.ends_with(&config))
        .map(|(_, hash)| hash)?;
    let stored = hub
        .of_kind(Kind::DeploymentConfig)
        .find(|(_, config)| message_of(config) == message);
    let present = stored.map(|(_, config)| SpecHash::of(config).to_string());
    (present.as_ref().is_some_and(|present| present != hash))
        .then(|| format!("its text is {message:?}, which is not the assigned content"))
}

fn references(instance: &Value) -> impl Iterator<Item = &Value> {
    let listed = instance
        .pointer("/status/configReferences")
        .and_then(Value::as_array);
    listed.into_iter().flatten()
}

/// What an instance should have.
fn desired(instance: &Value) -> Vec<(&str, &str)> {
    references(instance)
        .map(|one| {
            (
                text(one, "/desiredConfig/name"),
                text(one, "/desiredConfig/specHash"),
            )
        })
        .collect()
}

/// Whether an instance has assigned content that its agent has not confirmed: it occupies a slot.
fn was_sent(instance: &Value) -> bool {
    let same = |one: &Value| {
        ["name", "namespace", "specHash"].iter().all(|field| {
            text(one, &format!("/desiredConfig/{field}")) == text(one, &format!("/lastAppliedConfig/{field}"))
        })
    };
    !is_deleting(instance) && references(instance).any(|one| !same(one))
}

/// A configuration that is not on the hub (it has no hash) cannot be rolled out.
fn in_flight(instance: &Value) -> bool {
    was_sent(instance) && references(instance).all(|one| !text(one, "/desiredConfig/specHash").is_empty())
}

/// A cluster may start only within its placement's limit, as far as the process could know it.
fn crowded(hub: &Hub, tried: &Tried) -> Option<String> {
    let object = tried.action.object();
    let before = tried.before.as_ref()?;
    let after = hub.get(object)?;
    if desired(before) == desired(after) || !in_flight(after) || was_sent(before) {
        return None;
    }
    if has_own_configs(after) || !is_decided(&tried.seen) {
        return None;
    }
    let addon = tried
        .seen
        .0
        .get(&ObjectKey::new(Kind::AddOn, "", object.name.clone()))?;
    if text(addon, "/spec/installStrategy/type") != "Placements" {
        return None;
    }
    let homes = homes(&tried.seen, addon);
    let home = homes.get(&*object.namespace)?;
    let strategy = &home.strategy["progressive"];
    let own = homes.values().filter(|other| other.index == home.index);
    let limit = amount_of(&strategy["maxConcurrency"], own.count())?;
    let canaries = strategy["mandatoryDecisionGroups"]
        .as_array()
        .is_some_and(|groups| !groups.is_empty());
    if strategy.get("progressDeadline").is_some() || (canaries && home.canary) {
        return None;
    }
    let neighbours = homes
        .iter()
        .filter(|(_, other)| other.index == home.index && !(canaries && other.canary));
    let flying: Vec<&str> = neighbours
        .filter(|(cluster, _)| {
            let key = ObjectKey::new(Kind::Instance, **cluster, object.name.clone());
            let leaves = opts_out(&tried.seen, cluster) || is_troubled(hub, cluster);
            hub.get(&key)
                .is_some_and(|instance| in_flight(instance) && !has_own_configs(instance) && !leaves)
        })
        .map(|(cluster, _)| *cluster)
        .collect();
    let count = flying.len();
    (count > limit.max(1)).then(|| {
        format!(
            "{count} clusters are in flight ({}), and {limit} may be",
            flying.join(", ")
        )
    })
}

/// An add-on is not done while an agent has yet to speak about what its cluster was assigned last, be it what it had before.
fn premature(hub: &Hub, tried: &Tried) -> Option<String> {
    let addon = hub.get(tried.action.object())?;
    let placements = addon.pointer("/status/installProgressions")?.as_array()?;
    let is_done = |placement: &Value| says(placement, "Progressing", "Completed");
    if placements.is_empty() || !placements.iter().all(is_done) || !is_decided(&tried.seen) {
        return None;
    }
    let homes = homes(&tried.seen, tried.seen.0.get(tried.action.object())?);
    let mut open = hub.of_kind(Kind::Instance).filter(|(key, instance)| {
        let is_out =
            is_deleting(instance) || has_own_configs(instance) || opts_out(&tried.seen, &key.namespace);
        homes.contains_key(&*key.namespace)
            && !is_out
            && says(&instance["status"], "Assigned", "ConfigurationsAssigned")
    });
    let (key, work) = open.find_map(|(key, _)| {
        let mut works = hub
            .of_kind(Kind::Work)
            .filter(|(work, _)| work.namespace == key.namespace);
        works.find(|(_, work)| is_unheard(work))
    })?;
    let generation = &work["metadata"]["generation"];
    Some(format!(
        "it is said to be done, and the agent has not spoken about generation {generation} of {key}"
    ))
}

fn says(status: &Value, kind: &str, reason: &str) -> bool {
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| text(one, "/type") == kind && text(one, "/reason") == reason)
}

fn is_unheard(work: &Value) -> bool {
    let mut conditions = work["status"]["conditions"].as_array().into_iter().flatten();
    !conditions.any(|one| one["observedGeneration"] == work["metadata"]["generation"])
}

/// While a placement is not decided, it is unknown which clusters are its own.
fn is_decided(seen: &Seen) -> bool {
    let placements = seen.0.iter().filter(|(key, _)| key.kind == Kind::Placement);
    let is_decided = |(key, placement): (&ObjectKey, &Object)| {
        let of = |one: &Value| one["metadata"]["labels"][DECISION_OF].as_str() == Some(&*key.name);
        let decisions = seen
            .0
            .iter()
            .filter(|(key, one)| key.kind == Kind::Decision && of(one));
        let named = decisions.map(|(_, one)| one["status"]["decisions"].as_array().map_or(0, Vec::len));
        placement["status"]["numberOfSelectedClusters"].as_u64() == u64::try_from(named.sum::<usize>()).ok()
    };
    placements.clone().count() == 2 && placements.into_iter().all(is_decided)
}

fn opts_out(seen: &Seen, cluster: &str) -> bool {
    let found = seen.0.get(&ObjectKey::new(Kind::Cluster, "", cluster));
    found.is_none_or(|found| is_deleting(found) || found["metadata"]["annotations"].get(OPT_OUT).is_some())
}

/// A cluster that failed gives its place to another one.
fn is_troubled(hub: &Hub, cluster: &str) -> bool {
    let here = hub.objects().filter(|(key, _)| &*key.namespace == cluster);
    let mut conditions =
        here.flat_map(|(_, one)| one["status"]["conditions"].as_array().into_iter().flatten());
    conditions.any(|one| {
        let (kind, status) = (text(one, "/type"), text(one, "/status"));
        let failed = kind == "Progressing" && text(one, "/reason").ends_with("Failed");
        failed || (["Applied", "Available"].contains(&kind) && status == "False")
    })
}

/// What a cluster refers to by itself travels at once, whatever its placement says.
fn has_own_configs(instance: &Value) -> bool {
    let listed = instance.pointer("/spec/configs").and_then(Value::as_array);
    listed.is_some_and(|listed| !listed.is_empty())
}

/// Where a cluster gets its configuration from.
#[derive(Debug)]
struct Home<'s> {
    index: usize,
    strategy: &'s Value,
    canary: bool,
}

fn homes<'s>(seen: &'s Seen, addon: &'s Value) -> BTreeMap<&'s str, Home<'s>> {
    let placements = addon
        .pointer("/spec/installStrategy/placements")
        .and_then(Value::as_array);
    let mut homes = BTreeMap::new();
    for (index, placement) in placements.into_iter().flatten().enumerate() {
        let name = text(placement, "/name");
        let decisions = seen.0.iter().filter(|(key, one)| {
            key.kind == Kind::Decision && one["metadata"]["labels"][DECISION_OF].as_str() == Some(name)
        });
        for (_, decision) in decisions {
            let canary = decision["metadata"]["labels"][GROUP_OF].as_str() == Some("canary");
            let listed = decision.pointer("/status/decisions").and_then(Value::as_array);
            let strategy = &placement["rolloutStrategy"];
            for one in listed.into_iter().flatten() {
                homes.insert(
                    text(one, "/clusterName"),
                    Home {
                        index,
                        strategy,
                        canary,
                    },
                );
            }
        }
    }
    homes
}

/// Returns the clusters that have an add-on of ours.
pub(crate) fn marked(hub: &Hub) -> BTreeSet<ObjectKey> {
    let ours = hub
        .of_kind(Kind::Instance)
        .filter(|(_, one)| one["metadata"]["annotations"].get(MARK).is_some() && !is_taken_over(one));
    ours.map(|(key, _)| key.clone()).collect()
}
