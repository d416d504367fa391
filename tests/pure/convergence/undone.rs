//! What must be true at the end of a scenario in which rollouts are undone: a rolled-back cluster has the previous good content, and none
//! has the failed content.
//!
//! Derived from the records on the hub and the users' objects, not from the planner.

use api::hash::SpecHash;
use serde_json::Value;
use store::{Kind, ObjectKey};

use super::ended::{CONFIGS, TEMPLATES};
use super::hub::{Hub, Object, text};
use super::told::{condition, held, list};
use super::user::ADDON;

/// Returns whether the rollout over the first placement was undone.
pub(crate) fn stands(hub: &Hub) -> bool {
    let addon = hub.get(&ObjectKey::new(Kind::AddOn, "", ADDON));
    addon.is_some_and(|addon| good(addon, 0).is_some())
}

/// Returns what the clusters of a placement are to have whose rollout was undone; nothing where it was not.
pub(crate) fn good(addon: &Value, index: usize) -> Option<&str> {
    let told = progression(addon, index)?;
    condition(told, "/conditions", "Undone")?;
    condition(told, "/conditions", "KnownGood").map(|good| text(good, "/message"))
}

/// Returns the name of the default configuration.
pub(crate) fn default_config(addon: &Value) -> &str {
    let mut listed = list(addon, "/spec/supportedConfigs");
    let default = listed.find(|one| one["resource"] == CONFIGS);
    let name = default.map_or("", |one| text(one, "/defaultConfig/name"));
    if name.is_empty() { "config0" } else { name }
}

fn progression(addon: &Value, index: usize) -> Option<&Value> {
    let place = list(addon, "/spec/installStrategy/placements").nth(index)?;
    let mut told = list(addon, "/status/installProgressions");
    told.find(|one| text(one, "/name") == text(place, "/name"))
}

/// Returns whether an instance has template and configuration of what was good; what it has of its own counts as the specs want
/// it.
pub(crate) fn is_back(object: &Value, good: &str, (template, config): (bool, bool)) -> (bool, bool) {
    let assigned = assigned(object);
    let is_good = |resource: &str| part(&assigned, resource) == part(good, resource);
    let chooses = !text(object, "/spec/desiredVersion").is_empty();
    let has_own = list(object, "/spec/configs").next().is_some();
    (
        if chooses { template } else { is_good(TEMPLATES) },
        if has_own { config } else { is_good(CONFIGS) },
    )
}

fn part<'a>(listed: &'a str, resource: &str) -> Vec<&'a str> {
    let entries = listed.split("; ");
    entries.filter(|entry| entry.starts_with(resource)).collect()
}

/// Returns whether all of a list of contents is on the hub.
pub(crate) fn is_on(hub: &Hub, listed: &str) -> bool {
    listed.split("; ").all(|entry| {
        let (config, hash) = entry.split_once(' ').unwrap_or_default();
        let mut parts = config.split('/').skip(1);
        let (namespace, name) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
        let kind = if config.starts_with(TEMPLATES) {
            Kind::Template
        } else {
            Kind::DeploymentConfig
        };
        let found = hub.get(&ObjectKey::new(kind, namespace, name));
        found.is_some_and(|found| SpecHash::of(found).to_string() == hash)
    })
}

/// What was undone is what the specs want now, no cluster has it, and the add-on is not green. Members come with the index of
/// their placement.
pub(crate) fn judge(addon: &Value, members: &[(usize, &Object)]) -> Result<(), String> {
    for index in 0..list(addon, "/spec/installStrategy/placements").count() {
        let told = progression(addon, index);
        let Some((told, undone)) =
            told.and_then(|told| Some((told, condition(told, "/conditions", "Undone")?)))
        else {
            continue;
        };
        let failed = text(undone, "/message").split(": ").next().unwrap_or_default();
        let wants: Vec<String> = list(told, "/configReferences").map(reference).collect();
        if failed != wants.join("; ") {
            return Err(format!(
                "undone: {failed} was undone, and the specs want {wants:?}"
            ));
        }
        let ready = condition(addon, "/status/conditions", "Ready");
        if ready.is_some_and(|ready| ready["status"] == "True") {
            return Err(format!("green: the add-on is Ready, and {failed} was undone"));
        }
        let reasons = ["UndoImpossible", "RolloutPaused"];
        // What a cluster has of its own is no part of an undo, and may be what failed for others.
        let inherits = |object: &Object| list(object, "/spec/configs").next().is_none();
        let has = members.iter().find(|(home, object)| {
            *home == index
                && inherits(object)
                && assigned(object) == failed
                && !reasons.contains(&held(object))
        });
        if let Some((_, object)) = has {
            let cluster = text(object, "/metadata/namespace");
            return Err(format!("undone: {cluster} still has {failed}"));
        }
    }
    Ok(())
}

/// What an instance is assigned, as a whole.
fn assigned(object: &Value) -> String {
    let each = list(object, "/status/configReferences").map(reference);
    each.collect::<Vec<_>>().join("; ")
}

/// One reference with its hash, as the controllers note it.
fn reference(one: &Value) -> String {
    format!(
        "{}.{}/{}/{} {}",
        text(one, "/resource"),
        text(one, "/group"),
        text(one, "/desiredConfig/namespace"),
        text(one, "/desiredConfig/name"),
        text(one, "/desiredConfig/specHash")
    )
}
