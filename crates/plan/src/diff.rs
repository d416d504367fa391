//! Desired minus observed: the writes that are left.
//!
//! Decides nothing new. What is already so is never written.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::addon_status::Summary;
use super::change_event::Note;
use super::conditions::{self, Wish, available, ocm};
use super::report::Report;
use super::types::{Action, Payload, Revision};
use super::work::{Rendering, is_deploy_work};
use crate::conditions::addon::Verdict;
use store::{
    AddOn, Applied, ConfigRef, ConfigType, Instance, Kind, Name, ObjectKey, Progression,
    ProgressionReference, Reference, View, Work,
};

/// Mode of the health check in which no controller looks for a lease of the agent.
const CUSTOMIZED: &str = "Customized";

/// Returns the write of an instance's status, if anything in it changes.
pub(super) fn instance(report: &Report<'_>) -> Option<Action> {
    let instance = report.instance;
    if instance.meta.deleting {
        return None;
    }
    let mut status = Map::new();
    if let Some(types) = report
        .supported
        .as_ref()
        .filter(|types| !types.iter().eq(instance.supported.iter()))
    {
        status.insert(
            "supportedConfigs".to_owned(),
            types.iter().map(render_type).collect(),
        );
    }
    if *report.references != *instance.references {
        status.insert(
            "configReferences".to_owned(),
            report.references.iter().map(render_reference).collect(),
        );
    }
    let versions = [
        (
            "currentVersion",
            &report.memory.current,
            &instance.current_version,
        ),
        ("lastVersion", &report.memory.last, &instance.last_version),
    ];
    for (field, new, old) in versions {
        if new != old {
            status.insert(field.to_owned(), render_version(new));
        }
    }
    if report.probes && *instance.health_mode != *CUSTOMIZED {
        status.insert("healthCheck".to_owned(), json!({"mode": CUSTOMIZED}));
    }
    if *report.conditions != *instance.conditions {
        status.insert("conditions".to_owned(), conditions::render(&report.conditions));
    }
    status.extend(report.registering.changes(instance));
    observed(&mut status, instance.observed, instance.meta.generation);
    (!status.is_empty()).then(|| Action::Status {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        patch: Payload::of_status(status),
        notes: report.note.clone().into_iter().collect(),
        notifications: Vec::new(),
    })
}

/// Returns the write of single conditions of an instance, if anything in them changes.
pub(super) fn conditions(
    instance: &Instance,
    wishes: &[Wish<'_>],
    note: Option<Note>,
    now: Timestamp,
) -> Option<Action> {
    let generation = Some(instance.meta.generation);
    let merged = conditions::merge(&instance.conditions, wishes, generation, now);
    (*merged != *instance.conditions).then(|| Action::Status {
        object: ObjectKey::new(Kind::Instance, instance.cluster.clone(), instance.addon.clone()),
        before: Revision::from(&instance.meta),
        patch: Payload::of_status(Map::from_iter([(
            "conditions".to_owned(),
            conditions::render(&merged),
        )])),
        notes: note.into_iter().collect(),
        notifications: Vec::new(),
    })
}

/// Returns the writes that make the instance's works what they should be.
pub(super) fn works(works: &[Work], report: &Report<'_>, rendering: &Rendering<'_>) -> Vec<Action> {
    let Rendering::Bodies(bodies) = rendering else {
        return Vec::new();
    };
    let instance = report.instance;
    // What moves from one work to another must arrive before it leaves, or its agent deletes the object in between.
    let mut actions = Vec::new();
    let mut losing = Vec::new();
    for body in bodies {
        match body.work {
            None => actions.push(Action::Create {
                object: body.key(instance),
                body: body.create(instance),
                why: "the add-on is deployed from a template",
            }),
            Some(work) if work.meta.deleting || body.equals(instance, work) => {}
            Some(work) => {
                let replace = Action::Replace {
                    object: body.key(instance),
                    before: Revision::from(&work.meta),
                    patch: body.patch(instance, work),
                    why: "the work differs from the configuration",
                };
                if body.gains {
                    actions.push(replace);
                } else {
                    losing.push(replace);
                }
            }
        }
    }
    actions.extend(losing);
    let stored = works.iter().filter(|work| !work.hosted && !work.meta.deleting);
    let unplanned = stored.filter(|work| !bodies.iter().any(|body| body.name == work.name));
    let surplus = unplanned.filter(|work| is_deploy_work(&instance.addon, &work.name));
    actions.extend(surplus.map(|work| Action::Delete {
        object: ObjectKey::new(Kind::Work, work.namespace.clone(), work.name.clone()),
        before: Revision::from(&work.meta),
        why: "the template has no manifests for this work any more",
    }));
    actions
}

/// Returns the write of the add-on's status, if anything in it changes.
pub(super) fn addon(addon: &AddOn, summary: &Summary, verdict: Verdict<'_>) -> Option<Action> {
    let mut status = Map::new();
    if *verdict.conditions != *addon.conditions {
        status.insert("conditions".to_owned(), conditions::render(&verdict.conditions));
    }
    if summary.defaults != addon.defaults {
        status.insert(
            "defaultconfigReferences".to_owned(),
            summary.defaults.iter().map(render_default).collect(),
        );
    }
    if let Some(progressions) = &summary.progressions
        && *progressions != addon.progressions.clone().unwrap_or_default()
    {
        status.insert(
            "installProgressions".to_owned(),
            progressions.iter().map(render_progression).collect(),
        );
    }
    if let Some((supported, default)) = &summary.versions {
        if *supported != addon.supported_versions {
            let texts = supported.iter().map(|version| Value::from(&**version));
            status.insert("supportedVersions".to_owned(), texts.collect());
        }
        if *default != addon.default_version {
            status.insert("defaultVersion".to_owned(), render_version(default));
        }
    }
    observed(&mut status, addon.observed, addon.meta.generation);
    (!status.is_empty()).then(|| Action::Status {
        object: ObjectKey::new(Kind::AddOn, "", addon.name.clone()),
        before: Revision::from(&addon.meta),
        patch: Payload::of_status(status),
        notes: verdict.note.into_iter().collect(),
        notifications: summary.notifications.clone(),
    })
}

/// Says which generation a status speaks about. Where the hub has never kept that, it is no reason to write: it is written
/// with what is written anyway.
fn observed(status: &mut Map<String, Value>, stored: Option<i64>, generation: i64) {
    let is_due = stored.map_or(!status.is_empty(), |stored| stored != generation);
    if is_due {
        status.insert("observedGeneration".to_owned(), Value::from(generation));
    }
}

/// A merge patch takes a field away with a null.
fn render_version(version: &str) -> Value {
    if version.is_empty() {
        return Value::Null;
    }
    Value::from(version)
}

fn render_type(of: &ConfigType) -> Value {
    json!({"group": &*of.group, "resource": &*of.resource})
}

fn render_hash(namespace: &str, name: &str, hash: &str) -> Value {
    let mut rendered = json!({"name": name, "specHash": hash});
    if let Some(fields) = rendered.as_object_mut().filter(|_| !namespace.is_empty()) {
        fields.insert("namespace".to_owned(), Value::from(namespace));
    }
    rendered
}

fn render_desired(config: &ConfigRef, hash: &Name) -> Value {
    render_hash(&config.namespace, &config.name, hash)
}

fn render_applied(applied: &Applied) -> Value {
    render_hash(&applied.namespace, &applied.name, &applied.hash)
}

/// Both forms: `desiredConfig` and its flat mirrors.
fn render_reference(reference: &Reference) -> Value {
    let config = &reference.config;
    let mut rendered = json!({
        "group": &*config.of.group,
        "resource": &*config.of.resource,
        "name": &*config.name,
        "lastObservedGeneration": reference.generation,
        "desiredConfigSpecHash": &*reference.desired,
    });
    if let Some(fields) = rendered.as_object_mut() {
        let desired = render_desired(config, &reference.desired);
        fields.insert("desiredConfig".to_owned(), desired);
        if !config.namespace.is_empty() {
            fields.insert("namespace".to_owned(), Value::from(&*config.namespace));
        }
        if let Some(applied) = &reference.applied {
            fields.insert("lastAppliedConfig".to_owned(), render_applied(applied));
            fields.insert(
                "lastAppliedConfigSpecHash".to_owned(),
                Value::from(&*applied.hash),
            );
        }
    }
    rendered
}

fn render_default((config, hash): &(ConfigRef, Name)) -> Value {
    json!({
        "group": &*config.of.group,
        "resource": &*config.of.resource,
        "desiredConfig": render_desired(config, hash),
    })
}

fn render_progression(progression: &Progression) -> Value {
    json!({
        "namespace": &*progression.namespace,
        "name": &*progression.name,
        "configReferences": progression.references.iter().map(render_progression_reference).collect::<Vec<_>>(),
        "conditions": conditions::render(&progression.conditions),
    })
}

fn render_progression_reference(reference: &ProgressionReference) -> Value {
    let mut rendered = render_default(&(reference.config.clone(), reference.desired.clone()));
    if let Some(fields) = rendered.as_object_mut() {
        let last = [
            ("lastAppliedConfig", &reference.applied),
            ("lastKnownGoodConfig", &reference.known_good),
        ];
        for (field, applied) in last {
            fields.extend(
                applied
                    .as_ref()
                    .map(|applied| (field.to_owned(), render_applied(applied))),
            );
        }
    }
    rendered
}

/// Returns the status writes for the instances of an add-on about which nothing else is written.
pub(super) fn unreachable_statuses(view: &View<'_>, now: Timestamp) -> Vec<Action> {
    let alive = view.instances().filter(|instance| !instance.meta.deleting);
    alive
        .filter_map(|instance| unreachable_status(view, instance, now))
        .collect()
}

fn unreachable_status(view: &View<'_>, instance: &Instance, now: Timestamp) -> Option<Action> {
    let cluster = view.cluster(&instance.cluster);
    let wishes = ocm::bared(view, vec![available::unreachable(cluster)?]);
    conditions(instance, &wishes, None, now)
}
