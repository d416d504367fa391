//! What a work agent does about one `ManifestWork` now: take hold of it, apply it and report, or clean up and let go.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{
    feedback, hooks, kinds,
    store::{ObjectKey, Ownership, VirtualCluster},
    workload::Course,
};
use crate::{
    fault::Effects,
    pattern::glob,
    wire::{
        Condition, DeleteOption, ManifestConfig, ManifestStatus, ManifestWork, ResourceMeta, ResourceStatus,
        StatusFeedback, Truth, WorkStatus, finalizer,
    },
};

/// What is to be written to the hub; at most one thing at a time.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Answer {
    /// Put the agent's finalizer on, before anything is applied.
    TakeHold,
    /// Write this status.
    Report(WorkStatus),
    /// Take the agent's finalizer off: the cluster is clean.
    LetGo,
    /// Everything is as it should be.
    Nothing,
}

/// Brings the cluster in line with the work and returns what the hub should be told.
pub(crate) fn answer(
    work: &ManifestWork,
    cluster: &mut VirtualCluster,
    effects: &Effects,
    now: Timestamp,
) -> Answer {
    let held = work.meta.finalizers.iter().any(|name| name == finalizer::WORK);
    match (work.meta.terminating, held) {
        (false, false) => Answer::TakeHold,
        (false, true) => {
            let status = apply(work, cluster, effects, now);
            if status == work.status {
                Answer::Nothing
            } else {
                Answer::Report(status)
            }
        }
        (true, held) => {
            cluster.release(&work.meta.name, &BTreeSet::new());
            if held { Answer::LetGo } else { Answer::Nothing }
        }
    }
}

fn apply(work: &ManifestWork, cluster: &mut VirtualCluster, effects: &Effects, now: Timestamp) -> WorkStatus {
    let generation = work.meta.generation;
    let mut kept = BTreeSet::new();
    let mut manifests = Vec::new();
    for (ordinal, manifest) in work.spec.workload.manifests.iter().enumerate() {
        let resource_meta = kinds::resource_meta(ordinal, manifest);
        let key = kinds::object_key(&resource_meta);
        let config = find_config(&resource_meta, &work.spec.manifest_configs);
        let applied = match &key {
            Err(lack) => Err((*lack).to_owned()),
            Ok(key) => {
                if let Some(message) = effects.apply_failure(&key.name) {
                    Err(message.to_owned())
                } else {
                    apply_one(key, manifest, config, cluster);
                    cluster.claim(key, &work.meta.name, ownership(key, &work.spec.delete_option));
                    Ok(())
                }
            }
        };
        let outcome = Outcome {
            applied,
            course: hooks::course(manifest, &resource_meta.name, effects),
            key: key.ok(),
            config,
            effects,
        };
        manifests.push(outcome.report(resource_meta, &work.status, cluster, (generation, now)));
        kept.extend(outcome.key);
    }
    cluster.release(&work.meta.name, &kept);
    summarize(&work.status, manifests, generation, now)
}

fn apply_one(
    key: &ObjectKey,
    manifest: &Value,
    config: Option<&ManifestConfig>,
    cluster: &mut VirtualCluster,
) {
    let strategy = config
        .map(|config| config.update_strategy.kind.as_str())
        .unwrap_or_default();
    match (strategy, cluster.contains(key)) {
        ("ReadOnly", _) | ("CreateOnly", true) => {}
        // Nobody else writes to a virtual cluster, so that server-side apply meets no conflicts and equals an update.
        _ => cluster.apply(key, manifest),
    }
}

/// What became of one manifest.
struct Outcome<'a> {
    applied: Result<(), String>,
    course: Course,
    key: Option<ObjectKey>,
    config: Option<&'a ManifestConfig>,
    effects: &'a Effects,
}

impl Outcome<'_> {
    fn report(
        &self,
        resource_meta: ResourceMeta,
        old: &WorkStatus,
        cluster: &mut VirtualCluster,
        (generation, now): (i64, Timestamp),
    ) -> ManifestStatus {
        let known = old
            .resource_status
            .manifests
            .iter()
            .find(|status| same(&status.resource_meta, &resource_meta));
        let mut conditions = known.map(|status| status.conditions.clone()).unwrap_or_default();
        let applied = match &self.applied {
            Ok(()) => Condition::new(
                "Applied",
                Truth::True,
                "AppliedManifestComplete",
                "Apply manifest complete",
            ),
            Err(why) => {
                let message = format!("Failed to apply manifest: {why}");
                Condition::new("Applied", Truth::False, "AppliedManifestFailed", message)
            }
        };
        applied.observing(generation).merge_into(&mut conditions, now);
        let unavailable = self
            .key
            .as_ref()
            .and_then(|key| self.effects.unavailable(&key.name));
        if let Some(key) = &self.key {
            cluster.set_health(key, unavailable);
            cluster.set_course(key, self.course.clone());
        }
        let object = self.key.as_ref().and_then(|key| cluster.object(key));
        availability(self.key.as_ref(), object.as_ref(), unavailable).merge_into(&mut conditions, now);
        let values = object.map(|object| {
            let (values, condition) = feedback::read(&object, self.config);
            condition.merge_into(&mut conditions, now);
            values
        });
        ManifestStatus {
            resource_meta,
            status_feedback: StatusFeedback {
                values: values.unwrap_or_default(),
            },
            conditions,
        }
    }
}

fn availability(key: Option<&ObjectKey>, object: Option<&Value>, unavailable: Option<&str>) -> Condition {
    let condition = |truth, reason, message| Condition::new("Available", truth, reason, message);
    match (key, object, unavailable) {
        (None, _, _) => condition(
            Truth::Unknown,
            "IncompletedResourceMeta",
            "Resource meta is incompleted",
        ),
        (Some(_), None, _) => condition(Truth::False, "ResourceNotAvailable", "Resource is not available"),
        (Some(_), Some(_), Some(message)) => condition(Truth::False, "ResourceNotAvailable", message),
        (Some(_), Some(_), None) => condition(Truth::True, "ResourceAvailable", "Resource is available"),
    }
}

fn summarize(
    old: &WorkStatus,
    manifests: Vec<ManifestStatus>,
    generation: i64,
    now: Timestamp,
) -> WorkStatus {
    let count = |kind: &str, truth: Truth| {
        let said = |status: &&ManifestStatus| {
            status
                .conditions
                .iter()
                .any(|c| c.kind == kind && c.status == truth)
        };
        manifests.iter().filter(said).count()
    };
    let applied = if count("Applied", Truth::False) == 0 {
        Condition::new(
            "Applied",
            Truth::True,
            "AppliedManifestWorkComplete",
            "Apply manifest work complete",
        )
    } else {
        Condition::new(
            "Applied",
            Truth::False,
            "AppliedManifestWorkFailed",
            "Failed to apply manifest work",
        )
    };
    let total = manifests.len();
    let available = match (
        count("Available", Truth::False),
        count("Available", Truth::Unknown),
    ) {
        (0, 0) => Condition::new(
            "Available",
            Truth::True,
            "ResourcesAvailable",
            "All resources are available",
        ),
        (0, unknown) => {
            let message = format!("{unknown} of {total} resources have unknown status");
            Condition::new("Available", Truth::Unknown, "ResourcesStatusUnknown", message)
        }
        (missing, _) => {
            let message = format!("{missing} of {total} resources are not available");
            Condition::new("Available", Truth::False, "ResourcesNotAvailable", message)
        }
    };
    let mut conditions = old.conditions.clone();
    applied.observing(generation).merge_into(&mut conditions, now);
    available.observing(generation).merge_into(&mut conditions, now);
    WorkStatus {
        conditions,
        resource_status: ResourceStatus { manifests },
    }
}

fn same(known: &ResourceMeta, wanted: &ResourceMeta) -> bool {
    let identity = |meta: &ResourceMeta| ResourceMeta {
        ordinal: 0,
        version: String::new(),
        ..meta.clone()
    };
    identity(known) == identity(wanted)
}

fn find_config<'a>(meta: &ResourceMeta, configs: &'a [ManifestConfig]) -> Option<&'a ManifestConfig> {
    configs.iter().find(|config| {
        let wanted = &config.resource_identifier;
        wanted.group == meta.group
            && wanted.resource == meta.resource
            && glob(&wanted.namespace, &meta.namespace)
            && glob(&wanted.name, &meta.name)
    })
}

fn ownership(key: &ObjectKey, option: &DeleteOption) -> Ownership {
    let named = |rule: &crate::wire::OrphaningRule| {
        rule.group == key.group
            && rule.resource == key.resource
            && rule.namespace == key.namespace
            && rule.name == key.name
    };
    match option.propagation_policy.as_str() {
        "Orphan" => Ownership::Orphaned,
        "SelectivelyOrphan" if option.selectively_orphans.orphaning_rules.iter().any(named) => {
            Ownership::Orphaned
        }
        _ => Ownership::Owned,
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
