//! The settings that control a rollout, and the decisions about it: as they are on the hub, read as the requesting user.
//!
//! Decides only which objects belong to a rollout. What they mean is decided by the planners, and shown in the states of clusters.

use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::cli::CliError;
use crate::controllers::resource;
use insight::cockpit::{Target, TargetKind, set_by_text};
use kubernetes::field::Path;
use model::Freeze;
use store::{Kind, freeze_set_by};

/// Returns the settings of a rollout, its approvals, its profile and its checks, and the freezes of the hub. Kinds that the user may not
/// list are named in `missing`.
pub(super) async fn settings_of(client: &Client, target: &Target) -> Result<Value, CliError> {
    let mut missing = Vec::new();
    let mut read = async |kind: Kind| -> Result<Vec<Value>, CliError> {
        let found = listed(client, kind).await?;
        if found.is_none() {
            missing.push(kind.address().resource);
        }
        let mut found = found.unwrap_or_default();
        found.iter_mut().for_each(drop_managed_fields);
        Ok(found)
    };
    let (rollouts, approvals) = (read(Kind::Rollout).await?, read(Kind::Approval).await?);
    let (profiles, checks) = (read(Kind::Profile).await?, read(Kind::Check).await?);
    let freezes = freezes_of(client, Timestamp::now()).await?;
    if freezes.is_none() {
        missing.push(Kind::Freeze.address().resource);
    }
    let own = |one: &&Value| match target.kind {
        TargetKind::ClusterManagementAddOn => text(one, "/spec/addon") == target.name,
        TargetKind::ManagedClustersUpgrade => {
            text(one, "/spec/upgrade") == format!("{}/{}", target.namespace, target.name)
        }
    };
    let settings = rollouts
        .iter()
        .find(own)
        .filter(|_| target.kind == TargetKind::ClusterManagementAddOn);
    let named = [settings.map(|one| text(one, "/spec/profile"))];
    let default = settings.map(|one| text(one, "/status/defaultProfile"));
    let profile = named.into_iter().flatten().chain(default);
    let profile = profile.into_iter().find(|name| !name.is_empty());
    let profile = profiles
        .iter()
        .find(|one| profile.is_some_and(|name| text(one, "/metadata/name") == name));
    let used: Vec<&Value> = checks
        .iter()
        .filter(|check| {
            let name = text(check, "/metadata/name");
            [settings, profile]
                .into_iter()
                .flatten()
                .any(|one| lists_check(one, name))
        })
        .collect();
    let approvals: Vec<&Value> = approvals.iter().filter(own).collect();
    Ok(
        json!({"settings": settings, "profile": profile, "approvals": approvals, "checks": used, "freezes": freezes,
        "missing": missing}),
    )
}

/// Returns the freezes of the hub with their states, those in force first; nothing where the user may not list them.
pub(super) async fn freezes_of(client: &Client, now: Timestamp) -> Result<Option<Vec<Value>>, CliError> {
    let Some(found) = listed(client, Kind::Freeze).await? else {
        return Ok(None);
    };
    let mut all: Vec<(usize, Value)> = found.iter().map(|object| freeze(object, now)).collect();
    all.sort_by_key(|(order, _)| *order);
    Ok(Some(all.into_iter().map(|(_, freeze)| freeze).collect()))
}

/// Returns a freeze with its state, and its place in the list.
fn freeze(object: &Value, now: Timestamp) -> (usize, Value) {
    let spec = object.get("spec").cloned().unwrap_or_default();
    let raw = serde_json::from_value(spec.clone()).ok();
    let read = raw.and_then(|raw| Freeze::parse(&raw, &Path::root().key("spec")).ok());
    let (order, state) = match read {
        // An invalid freeze stops all changes.
        None => (0, "Invalid"),
        Some(freeze) if freeze.is_in_force(now) => (1, "Active"),
        Some(freeze) if freeze.has_ended(now) => (3, "Ended"),
        Some(_) => (2, "Planned"),
    };
    let name = text(object, "/metadata/name");
    let set_by = freeze_set_by(object).as_ref().map(set_by_text);
    (
        order,
        json!({"name": name, "state": state, "spec": spec, "setBy": set_by}),
    )
}

fn drop_managed_fields(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Returns whether settings list a check, for all placements or for one.
fn lists_check(settings: &Value, name: &str) -> bool {
    let has = |level: &Value| {
        let checks = level.get("checks").and_then(Value::as_array);
        checks.into_iter().flatten().any(|check| check == name)
    };
    let spec = settings.get("spec").unwrap_or(&Value::Null);
    let placements = spec.get("placements").and_then(Value::as_array);
    has(spec) || placements.into_iter().flatten().any(has)
}

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// Returns all objects of a kind; nothing where the user may not list them, or the hub has no such kind.
async fn listed(client: &Client, kind: Kind) -> Result<Option<Vec<Value>>, CliError> {
    let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(kind));
    let found = match api.list(&ListParams::default()).await {
        Ok(found) => found.items,
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => return Ok(None),
        Err(error) => return Err(CliError::acting("read the hub")(error)),
    };
    let each = found
        .into_iter()
        .filter_map(|object| serde_json::to_value(object).ok());
    Ok(Some(each.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_freeze_has_a_state_and_its_place_in_the_list() {
        let now: Timestamp = "2026-12-21T00:00:00Z".parse().expect("a time");
        let rows = [
            (json!({"reason": "r"}), (1, "Active")),
            (
                json!({"reason": "r", "from": "2026-12-22T00:00:00Z"}),
                (2, "Planned"),
            ),
            (
                json!({"reason": "r", "until": "2026-12-20T00:00:00Z"}),
                (3, "Ended"),
            ),
            (json!({"reason": "r", "until": "tomorrow"}), (0, "Invalid")),
        ];
        for (spec, (order, state)) in rows {
            let annotations = json!({"tidegate.io/set-by": "* 2026-12-19T00:00:00Z alice"});
            let metadata = json!({"name": "x", "annotations": annotations});
            let (at, told) = freeze(&json!({"metadata": metadata, "spec": spec}), now);
            assert_eq!(
                (at, &told["state"], &told["name"], &told["setBy"]),
                (
                    order,
                    &json!(state),
                    &json!("x"),
                    &json!("alice at 2026-12-19 00:00:00Z")
                )
            );
        }
    }

    #[test]
    fn a_check_is_listed_for_all_placements_or_for_one() {
        let settings = json!({"spec": {"checks": ["a"], "placements": [{"name": "p", "checks": ["b"]}]}});
        assert!(lists_check(&settings, "a") && lists_check(&settings, "b"));
        assert!(!lists_check(&settings, "c") && !lists_check(&Value::Null, "a"));
    }
}
