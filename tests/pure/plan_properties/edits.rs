//! Random edits of an add-on: install strategies, rollout strategies, its own configurations. Every number is one edit, valid or not.

use serde_json::json;
use store::{Kind, ObjectKey};

use crate::kit::world::World;

/// Strategy 0 is Manual, 1 Placements, 2 follows labels, and 3 has a selector without a meaning; 4 and 5 are 0 and 2 with the
/// placements kept, as a user keeps them who wants to go back.
pub(crate) fn put_addon(world: &mut World, strategy: u8) {
    let config = |n: usize| json!({"group": super::GROUP, "resource": "addondeploymentconfigs", "name": format!("config{n}"), "namespace": "default"});
    let placements = json!([
        {"name": "p0", "namespace": "default"}, {"name": "p1", "namespace": "default", "configs": [config(1)]}]);
    let labels = json!({"matchLabels": {"env": "prod"}});
    let strategy = match strategy {
        4 => json!({"type": "Manual", "placements": placements}),
        5 => json!({"type": "ClusterLabelSelector", "labelSelector": labels, "placements": placements}),
        0 => json!({"type": "Manual"}),
        1 => json!({"type": "Placements", "placements": placements}),
        2 => json!({"type": "ClusterLabelSelector", "labelSelector": labels}),
        _ => json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"": "prod"}}}),
    };
    let spec = json!({
        "supportedConfigs": [
            {"group": super::GROUP, "resource": "addontemplates", "defaultConfig": {"name": "hello"}},
            {"group": super::GROUP, "resource": "addondeploymentconfigs",
                "defaultConfig": {"name": "config0", "namespace": "default"}}],
        "installStrategy": strategy,
    });
    world.put(Kind::AddOn, json!({"metadata": {"name": "hello"}, "spec": spec}));
}

pub(crate) fn edit_addon(world: &mut World, edit: impl FnOnce(&mut serde_json::Value)) {
    let key = ObjectKey::new(Kind::AddOn, "", "hello");
    let mut addon = world.objects[&key].clone();
    edit(&mut addon);
    world.put(Kind::AddOn, addon);
}

/// Another object is the default configuration: a change by name.
pub(crate) fn put_default(world: &mut World, which: usize) {
    edit_addon(world, |addon| {
        addon["spec"]["supportedConfigs"][1]["defaultConfig"]["name"] = json!(format!("config{which}"));
    });
}

/// Another strategy for a placement, whether it has a meaning or not.
pub(crate) fn put_rollout(world: &mut World, placement: usize, kind: u8) {
    let strategies = [
        json!({"type": "All"}),
        json!({"type": "Progressive", "progressive": {"maxConcurrency": 1, "minSuccessTime": "10s"}}),
        json!({"type": "Progressive", "progressive":
            {"mandatoryDecisionGroups": [{}], "maxConcurrency": "50%", "maxFailures": 1, "progressDeadline": "7s"}}),
        json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"minSuccessTime": "1500ms", "progressDeadline": "1m"}}),
        json!({"type": "All", "all": {"minSuccessTime": "30s", "progressDeadline": "20s", "maxFailures": 1}}),
        json!({"type": "Progressive", "progressive": {"maxConcurrency": "130%"}}),
        json!({"type": "Progressive", "progressive": {"maxConcurrency": "30%", "maxFailures": "50%"}}),
        json!({"type": "Progressive", "progressive": {"maxConcurrency": 1, "maxFailures": 2}}),
        json!({"type": "Progressive", "progressive": {"mandatoryDecisionGroups": [{"groupName": "canary"}], "maxConcurrency": 2}}),
        json!({"type": "ProgressivePerGroup", "progressivePerGroup": {"maxFailures": 1}}),
        json!({"type": "ProgressivePerGroup", "progressivePerGroup":
            {"mandatoryDecisionGroups": [{"groupIndex": 1}], "maxFailures": "100%", "progressDeadline": "9s"}}),
    ];
    edit_addon(world, |addon| {
        if let Some(entry) = addon["spec"]["installStrategy"]["placements"].get_mut(placement) {
            entry["rolloutStrategy"] = strategies[usize::from(kind)].clone();
        }
    });
}

pub(crate) fn put_rolling(world: &mut World, kind: u8) {
    let list = json!([{"group": super::GROUP, "resource": "addondeploymentconfigs", "name": "config0", "namespace": "default"}]);
    let follows = |name: &str, most: serde_json::Value| {
        json!({"type": "RollingUpdateWithPlacement", "rollingUpdateWithPlacement":
            {"name": name, "namespace": "default", "maxConcurrentlyUpdating": most}})
    };
    let configurations = [
        json!(null),
        json!({"configs": list}),
        json!({"configs": list, "rolloutStrategy": follows("p1", json!(1))}),
        json!({"configs": list, "rolloutStrategy": {"type": "Sometimes"}}),
        json!({"configs": list, "rolloutStrategy": follows("p0", json!("30%"))}),
        json!({"configs": list, "rolloutStrategy": follows("never-was", json!(1))}),
    ];
    edit_addon(world, |addon| {
        addon["spec"]["configuration"] = configurations[usize::from(kind)].clone();
    });
}

/// What becomes of rollouts that have stopped.
pub(crate) fn put_on_failure(world: &mut World, kind: u8) {
    let modes = [
        ("Undo", None),
        ("Stop", None),
        ("Undo", Some("Stop")),
        ("Stop", Some("Undo")),
    ];
    let (all, one) = modes[usize::from(kind)];
    world.set_rollout("hello", None, "onFailure", &json!(all));
    world.set_rollout("hello", Some("default/p1"), "onFailure", &json!(one));
}

/// What was undone until now is tried again.
pub(crate) fn put_retry(world: &mut World) {
    let at = json!(world.now);
    world.set_rollout("hello", None, "retriedAt", &at);
}

/// Sets an annotation of the add-on.
pub(crate) fn annotate(world: &mut World, name: &str, text: &str) {
    edit_addon(world, |addon| {
        addon["metadata"]["annotations"][format!("tidegate.io/{name}")] = json!(text);
    });
}

pub(crate) fn put_other_template(world: &mut World) {
    let spec = json!({"addonName": "hello", "agentSpec": {"workload": {"manifests": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "y"}}]}}});
    world.put(
        Kind::Template,
        json!({"metadata": {"name": "other"}, "spec": spec}),
    );
}

pub(crate) fn own_config() -> serde_json::Value {
    json!({"group": super::GROUP, "resource": "addondeploymentconfigs", "name": "config1", "namespace": "default"})
}

pub(crate) fn own_template() -> serde_json::Value {
    json!({"group": super::GROUP, "resource": "addontemplates", "name": "other"})
}

/// Writes the default profile, or deletes it.
pub(crate) fn put_profile(world: &mut World, kind: u8) {
    let window = |cron: &str| json!([{"cron": cron, "duration": "1m"}]);
    let prod = json!({"matchLabels": {"env": "prod"}});
    let spec = match kind {
        0 => json!({"default": true, "pause": {"reason": "all of them"}}),
        1 => {
            json!({"default": true, "rolloutStrategy": {"type": "Progressive", "progressive": {"maxConcurrency": 1}}, "orderBy": "env"})
        }
        2 => {
            json!({"default": true, "clusterWindows": [{"clusterSelector": prod, "windows": window("0 3 * * *")}]})
        }
        3 => json!({"default": true, "windows": window("*/2 * * * *"), "onFailure": "Undo"}),
        4 => json!({"default": true, "onFailure": "banana"}),
        5 => json!({"pause": {}}),
        _ => {
            world.delete(&ObjectKey::new(Kind::Profile, "", "profile"));
            return;
        }
    };
    world.put(
        Kind::Profile,
        json!({"metadata": {"name": "profile"}, "spec": spec}),
    );
}

/// Freezes all clusters, some of them for a while, or none any more.
pub(crate) fn put_freeze(world: &mut World, kind: u8) {
    let until = world.now + jiff::SignedDuration::from_secs(30);
    let spec = match kind {
        0 => json!({"reason": "all of them"}),
        1 => {
            json!({"reason": "for a while", "until": until, "clusterSelector": {"matchLabels": {"env": "prod"}}})
        }
        2 => json!({"reason": "later", "from": until}),
        3 => json!({"reason": "another add-on", "addOns": ["other"]}),
        4 => json!({"reason": "invalid", "until": "banana"}),
        _ => {
            world.delete(&ObjectKey::new(Kind::Freeze, "", "freeze"));
            return;
        }
    };
    world.put(
        Kind::Freeze,
        json!({"metadata": {"name": "freeze"}, "spec": spec}),
    );
}

/// The result of a check is reported, or the check is deleted; and changes wait for it, or no longer.
pub(crate) fn put_check(world: &mut World, kind: u8) {
    let key = ObjectKey::new(Kind::Check, "", "check");
    let (result, seconds) = match kind {
        0 => ("Passed", 60),
        1 => ("Passed", 5),
        2 => ("Failed", 60),
        3 => ("Unknown", 60),
        4 => ("Passed", -1),
        5 => return world.delete(&key),
        6 => return world.set_rollout("hello", None, "checks", &json!(["check"])),
        7 => return world.set_rollout("hello", Some("default/p0"), "checks", &json!(["check"])),
        _ => {
            world.set_rollout("hello", Some("default/p0"), "checks", &json!(null));
            return world.set_rollout("hello", None, "checks", &json!(null));
        }
    };
    world.put(
        Kind::Check,
        json!({"metadata": {"name": "check"}, "spec": {"external": {}}}),
    );
    let expires = world.now + jiff::SignedDuration::from_secs(seconds);
    let status = json!({"result": result, "reportedAt": world.now, "expiresAt": expires});
    world.put_status(&key, &status);
}

/// Pauses rollouts, or has their changes wait for an approval.
pub(crate) fn put_pause(world: &mut World, kind: u8) {
    const FIELDS: [&str; 2] = ["pause", "approvalBefore"];
    for field in FIELDS {
        for place in [None, Some("default/p0"), Some("default/p1")] {
            world.set_rollout("hello", place, field, &json!(null));
        }
    }
    let (place, field, value) = [
        (None, "pause", json!(null)),
        (Some("default/p0"), "pause", json!({})),
        (Some("default/p1"), "pause", json!({"reason": "lunch"})),
        (None, "pause", json!({})),
        (Some("default/p0"), "approvalBefore", json!(["*"])),
        (None, "approvalBefore", json!(["canary"])),
        (None, "approvalBefore", json!(["1"])),
    ][usize::from(kind)]
    .clone();
    world.set_rollout("hello", place, field, &value);
}
