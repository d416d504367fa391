//! What a work agent does about one `ManifestWork` now: take hold of it, apply it and report, or clean up and let go.

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::{
    conditions, feedback, hooks,
    jobs::{self, Job, Progress},
    kinds,
    owners::Write,
    store::{self, ObjectKey, Ownership, VirtualCluster},
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
pub(crate) enum AgentWrite {
    /// Put the agent's finalizer on, before anything is applied.
    TakeHold,
    /// Write this status.
    Report(WorkStatus),
    /// Take the agent's finalizer off: the cluster is clean.
    LetGo,
    /// Everything is as it should be.
    Nothing,
}

/// What came of looking at a work.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Look {
    pub(crate) answer: AgentWrite,
    /// When one of its jobs will look different, if nothing happens.
    pub(crate) next: Option<Timestamp>,
    /// Whether it reports on what the cluster changes by itself.
    pub(crate) follows: bool,
}

/// Brings the cluster in line with the work and returns what the hub should be told.
pub(crate) fn answer(
    work: &ManifestWork,
    cluster: &mut VirtualCluster,
    effects: &Effects,
    now: Timestamp,
) -> Look {
    let held = work.meta.finalizers.iter().any(|name| name == finalizer::WORK);
    let quiet = |answer| Look {
        answer,
        next: None,
        follows: false,
    };
    match (work.meta.terminating, held) {
        (false, false) => quiet(AgentWrite::TakeHold),
        (false, true) => {
            let applied = apply(work, cluster, effects, now);
            Look {
                answer: if applied.status == work.status {
                    AgentWrite::Nothing
                } else {
                    AgentWrite::Report(applied.status)
                },
                next: applied.next,
                follows: applied.follows,
            }
        }
        (true, held) => {
            cluster.release(&work.meta.name, &BTreeSet::new());
            quiet(if held {
                AgentWrite::LetGo
            } else {
                AgentWrite::Nothing
            })
        }
    }
}

/// What is to be said about a work that has been applied.
struct Applied {
    status: WorkStatus,
    next: Option<Timestamp>,
    follows: bool,
}

fn apply(work: &ManifestWork, cluster: &mut VirtualCluster, effects: &Effects, now: Timestamp) -> Applied {
    let generation = work.meta.generation;
    let mut kept = BTreeSet::new();
    let mut manifests = Vec::new();
    let mut next: Option<Timestamp> = None;
    for (ordinal, manifest) in work.spec.workload.manifests.iter().enumerate() {
        let resource_meta = kinds::resource_meta(ordinal, manifest);
        let key = kinds::object_key(&resource_meta);
        let config = find_config(&resource_meta, &work.spec.manifest_configs);
        let applied = match &key {
            Err(lack) => Err((*lack).to_owned()),
            Ok(key) => {
                if is_complete(&resource_meta, &work.status) {
                    Ok(())
                } else if let Some(message) = effects.apply_failure(&key.name) {
                    Err(message.to_owned())
                } else {
                    apply_one(key, manifest, config, (work, cluster))
                }
            }
        };
        let progress = progress((manifest, key.as_ref().ok()), work, effects, (cluster, now));
        next = [next, progress.next].into_iter().flatten().min();
        let outcome = Outcome {
            applied,
            course: progress.course,
            key: key.ok(),
            config,
            effects,
        };
        manifests.push(outcome.report(resource_meta, &work.status, cluster, (generation, now)));
        kept.extend(outcome.key);
    }
    cluster.release(&work.meta.name, &kept);
    if cluster.retries() && manifests.iter().any(has_failed) {
        next = [next, cluster.next_poll(now)].into_iter().flatten().min();
    }
    Applied {
        follows: kept.iter().any(store::is_of_openshift),
        status: summarize(&work.status, manifests, generation, now),
        next,
    }
}

fn has_failed(manifest: &ManifestStatus) -> bool {
    let mut conditions = manifest.conditions.iter();
    conditions.any(|condition| condition.kind == "Applied" && condition.status == Truth::False)
}

/// A manifest that is complete is not touched again, not even when its object is deleted.
fn is_complete(meta: &ResourceMeta, status: &WorkStatus) -> bool {
    let mut known = status.resource_status.manifests.iter();
    let complete = |condition: &Condition| condition.kind == "Complete" && condition.status == Truth::True;
    known.any(|known| same(&known.resource_meta, meta) && known.conditions.iter().any(complete))
}

fn progress(
    (manifest, key): (&Value, Option<&ObjectKey>),
    work: &ManifestWork,
    effects: &Effects,
    (cluster, now): (&mut VirtualCluster, Timestamp),
) -> Progress {
    if hooks::is_hook(manifest) {
        let name = key.map(|key| key.name.as_str()).unwrap_or_default();
        let course = hooks::course(name, effects);
        return Progress { course, next: None };
    }
    let Some(key) = key.filter(|_| jobs::is_meant_to_end(manifest)) else {
        return Progress::default();
    };
    let job = Job {
        manifest,
        key,
        work: &work.meta,
        effects,
    };
    job.progress(cluster, now)
}

/// What is only read, or was there before it was to be created, belongs to others.
fn apply_one(
    key: &ObjectKey,
    manifest: &Value,
    config: Option<&ManifestConfig>,
    (work, cluster): (&ManifestWork, &mut VirtualCluster),
) -> Result<(), String> {
    let strategy = config.map(|config| &config.update_strategy);
    let kind = strategy
        .map(|strategy| strategy.kind.as_str())
        .unwrap_or_default();
    let apply = strategy.map(|strategy| &strategy.server_side_apply);
    match (kind, cluster.contains(key)) {
        ("ReadOnly", _) | ("CreateOnly", true) => return Ok(()),
        // Where no other client writes, server-side apply meets no conflicts and equals an update.
        ("ServerSideApply", _) => {
            let named = apply
                .map(|apply| apply.field_manager.as_str())
                .unwrap_or_default();
            let manager = if named.is_empty() { "work-agent" } else { named };
            let force = apply.is_some_and(|apply| apply.force);
            cluster.write(key, manifest, Write::Apply { manager, force })?;
        }
        _ => cluster.write(key, manifest, Write::Update)?,
    }
    cluster.claim(key, &work.meta.name, ownership(key, &work.spec.delete_option));
    Ok(())
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
            conditions::derive(&object, self.config, &mut conditions, (generation, now));
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
    conditions::aggregate(&manifests, &mut conditions, (generation, now));
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
