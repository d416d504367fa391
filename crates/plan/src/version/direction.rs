//! Whether a change goes down to a lower version.
//!
//! Decides by what the status remembers, and where it remembers nothing, by the versions of what was applied last. Never
//! guesses: a deleted object, or a text that is no version, makes no rollback.

use super::record::{assigned, carrier, invalid, memory, moving_to};
use crate::rollout::Member;
use crate::work::runs;
use model::AddonVersion;
use store::{ConfigRef, Name, View};

/// Returns whether what is assigned is lower than what was asked for before.
pub(crate) fn goes_down(view: &View<'_>, member: &Member<'_>) -> bool {
    let assigned = assigned(view, member);
    let target = invalid(member)
        .map(|bad| &bad.asked)
        .or_else(|| moving_to(assigned, member.instance));
    let Some(target) = target.and_then(|target| parse(target)) else {
        return false;
    };
    let last = memory(view, member, assigned, false).last;
    let before = parse(&last).or_else(|| parse(applied(view, member)?));
    before.is_some_and(|before| target < before)
}

/// The version of what the agent confirmed last, or else of what the works are made of, as its object says it today.
fn applied<'v>(view: &View<'v>, member: &Member<'_>) -> Option<&'v Name> {
    let reference = carrier(&member.assigned)?;
    let of = &reference.config.of;
    let before = match &reference.applied {
        Some(applied) => ConfigRef {
            of: of.clone(),
            namespace: applied.namespace.clone(),
            name: applied.name.clone(),
        },
        None => runs(view, member.instance, |config| config.of == *of)?.0,
    };
    version_of(view, &before)
}

/// Returns the version of a configuration object, if it has a readable one.
pub(super) fn version_of<'v>(view: &View<'v>, config: &ConfigRef) -> Option<&'v Name> {
    view.config(config)?.readable_version()
}

/// Returns whether two texts mean the same version: `v1` is `1.0.0`.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || matches!((parse(one), parse(other)), (Some(one), Some(other)) if one == other)
}

fn parse(text: &str) -> Option<AddonVersion> {
    AddonVersion::parse(text).ok()
}
