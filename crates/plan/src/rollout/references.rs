//! What an instance is assigned: `status.configReferences` before and after a step.
//!
//! Decides what is carried over from the references that stand there. Never decides whether the step may be taken.

use crate::config::Desired;
use store::{Applied, Compat, ConfigRef, Reference};

/// Returns whether the references name what is desired, with its hashes.
pub(super) fn is_settled(references: &[Reference], refs: &[Desired]) -> bool {
    references.len() == refs.len()
        && references.iter().zip(refs).all(|(reference, desired)| {
            reference.config == desired.config && reference.desired == desired.hash
        })
}

/// Returns whether nothing is left to write in the references of a settled instance.
pub(super) fn is_exact(references: &[Reference], refs: &[Desired]) -> bool {
    references.iter().zip(refs).all(|(reference, desired)| {
        let same = |generation| generation == reference.generation;
        reference.exact && desired.generation.is_none_or(same)
    })
}

/// Returns the references after the step.
pub(super) fn assign(old: &[Reference], refs: &[Desired], compat: Compat) -> Vec<Reference> {
    let noted = |desired: &Desired| {
        let before = old.iter().find(|reference| reference.config == desired.config);
        before.map_or(0, |reference| reference.generation)
    };
    refs.iter()
        .enumerate()
        .map(|(index, desired)| Reference {
            config: desired.config.clone(),
            desired: desired.hash.clone(),
            applied: match compat {
                Compat::Tidegate => carried(old, refs, index),
                Compat::Ocm => kept(old, &desired.config),
            },
            generation: desired.generation.unwrap_or_else(|| noted(desired)),
            exact: true,
        })
        .collect()
}

/// What the agent confirmed for the same object, and for no other: what an object confirmed that is no longer referred to is forgotten
/// with it. What runs until the change has arrived, the works tell (`work::runs`).
fn kept(old: &[Reference], config: &ConfigRef) -> Option<Applied> {
    let same = old.iter().find(|reference| reference.config == *config)?;
    same.applied.clone()
}

/// What the agent confirmed for the same object; where an object took another's place, what it confirmed for that one, so
/// that "from what" stays visible until the change has arrived.
fn carried(old: &[Reference], refs: &[Desired], index: usize) -> Option<Applied> {
    let desired = refs.get(index)?;
    if let Some(same) = old.iter().find(|reference| reference.config == desired.config) {
        return same.applied.clone();
    }
    let is_new = |config: &ConfigRef| !old.iter().any(|reference| reference.config == *config);
    let rank = refs
        .iter()
        .take(index)
        .filter(|earlier| earlier.config.of == desired.config.of && is_new(&earlier.config))
        .count();
    let is_deleted = |reference: &&Reference| !refs.iter().any(|desired| desired.config == reference.config);
    let replaced = old
        .iter()
        .filter(|reference| reference.config.of == desired.config.of)
        .filter(is_deleted);
    replaced
        .skip(rank)
        .map(|reference| reference.applied.clone())
        .next()
        .flatten()
}
