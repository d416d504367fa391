//! Decoding the parts of a status that several kinds share.
//!
//! Decides when a stored reference already has the form that plans write. Never interprets a condition.

use std::sync::Arc;

use crate::decode::read::config_type;
use crate::names::Names;
use crate::record::{Applied, Condition, ConditionText, ConfigRef, Reference, Status};
use api::ConfigSpecHash;
use api::v1alpha1 as wire;

pub(crate) fn status_of(text: &str) -> Status {
    match text {
        "True" => Status::True,
        "False" => Status::False,
        _ => Status::Unknown,
    }
}

pub(crate) fn conditions(conditions: &[api::Condition], names: &mut Names) -> Vec<Condition> {
    let each = conditions.iter().map(|condition| {
        let said = ConditionText {
            kind: names.share(&condition.type_),
            status: status_of(&condition.status),
            reason: names.share(&condition.reason),
            message: names.share(&condition.message),
        };
        let since = Some(condition.last_transition_time.0);
        Condition::new(names.share_words(said), since, condition.observed_generation)
    });
    each.collect()
}

pub(crate) fn applied(config: Option<&ConfigSpecHash>, names: &mut Names) -> Option<Applied> {
    config.map(|config| Applied {
        namespace: names.share(&config.namespace),
        name: names.share(&config.name),
        hash: names.share(&config.spec_hash),
    })
}

pub(crate) fn references(references: &[wire::ConfigReference], names: &mut Names) -> Arc<[Reference]> {
    let list = references.iter().map(|one| reference(one, names)).collect();
    names.share_references(list)
}

/// What is desired is in `desiredConfig`; only very old entries have nothing but the flat name.
fn reference(stored: &wire::ConfigReference, names: &mut Names) -> Reference {
    let desired = stored.desired_config.as_ref();
    let (namespace, name) = desired.map_or((&stored.namespace, &stored.name), |desired| {
        (&desired.namespace, &desired.name)
    });
    let hash = desired
        .map(|desired| desired.spec_hash.as_str())
        .unwrap_or_default();
    let last = stored
        .last_applied_config
        .as_ref()
        .map(|applied| applied.spec_hash.as_str())
        .unwrap_or_default();
    Reference {
        config: ConfigRef {
            of: config_type(&stored.group, &stored.resource, names),
            namespace: names.share(namespace),
            name: names.share(name),
        },
        desired: names.share(hash),
        applied: applied(stored.last_applied_config.as_ref(), names),
        generation: stored.last_observed_generation.unwrap_or_default(),
        exact: desired.is_some()
            && stored.last_observed_generation.is_some()
            && stored.namespace == *namespace
            && stored.name == *name
            && has_mirrors(stored, hash, last),
    }
}

/// Returns whether the mirrors of the hashes are right. Definitions older than ours drop them: none at all is no reason to
/// write them again and again; they come with the next change.
fn has_mirrors(stored: &wire::ConfigReference, hash: &str, last: &str) -> bool {
    let (desired, applied) = (
        &stored.desired_config_spec_hash,
        &stored.last_applied_config_spec_hash,
    );
    (desired.is_empty() && applied.is_empty()) || (desired == hash && applied == last)
}
