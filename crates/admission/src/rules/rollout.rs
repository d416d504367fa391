//! Rules about the rollout strategies of placements, of add-ons and of ManifestWorkReplicaSets. Page: `tests/rules/rollout.md`.
//!
//! Refuses invalid strategies. `model::RolloutStrategy` parses them, which the planner uses as well.

use crate::subject::{Addon, ReplicaSet, RolledOut, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{Limit, RawBlock, RawStrategy, rule};

rules! { pub(crate) ON_ADDONS of Addon {
    refuses rule::UNKNOWN_TYPE, CreateAndUpdate, unknown_type =>
        "The `type` of a rollout strategy is supported.\n\n\
         The `rolloutStrategy` of a placement has the type `All`, `Progressive` or `ProgressivePerGroup`; the strategy of \
         `spec.configuration` has the type `UpdateAll` or `RollingUpdateWithPlacement`. The names are case-sensitive. \
         The controllers cannot roll out a change with any other type. Refused, and the message suggests the closest \
         name.";
    refuses rule::TYPE_MISMATCH, CreateAndUpdate, type_mismatch =>
        "A rollout strategy has only the block of its `type`.\n\n\
         A block of another type has no effect. For example, a strategy with a `progressive` block and no `type` is of \
         type `All`, and would update all clusters at once. Refused. Set `type`, or remove the block.";
    refuses rule::MIN_SUCCESS_TIME, CreateAndUpdate, min_success_time =>
        "`minSuccessTime` is a valid duration.\n\n\
         The soak time `minSuccessTime` is a Go duration that is not negative, such as `5m`, `1h30m` or `0`. OCM's \
         add-on manager cannot decode an object with any other text: its watch fails, and with it every add-on of the \
         hub stops. In the same way, a ManifestWorkReplicaSet stops OCM's work controller. Refused.";
    refuses rule::PROGRESS_DEADLINE, CreateAndUpdate, progress_deadline =>
        "`progressDeadline` is `None` or a valid duration.\n\n\
         The duration is longer than zero and has hours, minutes and seconds only, such as `10m` or `1h30m`. The \
         pattern in the CRD accepts more values than the controllers can parse. Refused.";
    refuses rule::MAX_CONCURRENCY, CreateAndUpdate, max_concurrency =>
        "`maxConcurrency` is a number of clusters or a percentage.\n\n\
         `maxConcurrency` is a whole number of 1 or more, or a string from \"1%\" to \"100%\". Negative numbers, more than \
         100%, and a string without % are refused. Zero warns, because it means that all clusters are updated at once.";
    refuses rule::MAX_FAILURES, CreateAndUpdate, max_failures =>
        "`maxFailures` is a number of clusters or a percentage.\n\n\
         `maxFailures` is a whole number of 0 or more, or a string from \"0%\" to \"100%\". With zero, the rollout stops at the \
         first failure. Any other value is refused.";
    refuses rule::MANDATORY_GROUPS, CreateAndUpdate, mandatory_groups =>
        "Each entry of `mandatoryDecisionGroups` refers to one decision group, by `groupName` or by `groupIndex`.\n\n\
         A negative `groupIndex` and a group that is listed twice are refused. An entry with neither means the group with index 0, and in an entry with both, `groupIndex` is ignored: both cases warn. Set one of the two fields.";
} }

rules! { pub(crate) ON_REPLICA_SETS of ReplicaSet {
    refuses rule::UNKNOWN_TYPE, CreateAndUpdate, unknown_type => "";
    refuses rule::TYPE_MISMATCH, CreateAndUpdate, type_mismatch => "";
    refuses rule::MIN_SUCCESS_TIME, CreateAndUpdate, min_success_time => "";
    refuses rule::PROGRESS_DEADLINE, CreateAndUpdate, progress_deadline => "";
    refuses rule::MAX_CONCURRENCY, CreateAndUpdate, max_concurrency => "";
    refuses rule::MAX_FAILURES, CreateAndUpdate, max_failures => "";
    refuses rule::MANDATORY_GROUPS, CreateAndUpdate, mandatory_groups => "";
} }

fn unknown_type<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for (path, strategy) in strategies(subject) {
        if let Err(violation) = strategy.kind(path) {
            findings.deny(violation);
        }
    }
}

fn type_mismatch<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for (path, strategy) in strategies(subject) {
        strategy
            .mismatches(path)
            .into_iter()
            .for_each(|violation| findings.deny(violation));
    }
}

fn min_success_time<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.soak(path) {
            findings.deny(violation);
        }
    });
}

fn progress_deadline<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.deadline(path) {
            findings.deny(violation);
        }
    });
}

fn max_concurrency<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |path, block| match block.limit(path) {
        Err(violation) => findings.deny(violation),
        Ok(Some(Limit::All)) => {
            let fault = Fault::bare(Class::Invalid, "zero means that all clusters are updated at once");
            findings.warn(fault.at(path.key("maxConcurrency"), rule::MAX_CONCURRENCY));
        }
        Ok(Some(Limit::Clusters(_) | Limit::Percent(_)) | None) => {}
    });
}

fn max_failures<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.tolerance(path) {
            findings.deny(violation);
        }
    });
}

fn mandatory_groups<K: RolledOut>(subject: &Subject<'_, K>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if !subject.effort.spend(block.groups.len()) {
            return;
        }
        block
            .groups(path)
            .1
            .into_iter()
            .for_each(|violation| findings.deny(violation));
        for (position, group) in block.groups.iter().enumerate() {
            let named = group.name.is_some_and(|name| !name.is_empty());
            let detail = match (named, group.index) {
                (true, Some(_)) => "groupIndex is ignored because groupName is set",
                (false, None) => "has neither groupName nor groupIndex, which means the group with index 0",
                (true, None) | (false, Some(_)) => continue,
            };
            let at = path.key("mandatoryDecisionGroups").index(position);
            findings.warn(Fault::bare(Class::Invalid, detail).at(at, rule::MANDATORY_GROUPS));
        }
    });
}

fn strategies<'s, 'a, K: RolledOut>(
    subject: &'s Subject<'a, K>,
) -> impl Iterator<Item = &'s (Path, RawStrategy<'a>)> {
    let placements = K::placements(&subject.body).each(subject.effort);
    placements.filter_map(|placement| placement.rollout.as_ref())
}

fn for_each_block<K: RolledOut>(subject: &Subject<'_, K>, mut check: impl FnMut(&Path, &RawBlock<'_>)) {
    for (path, strategy) in strategies(subject) {
        for (kind, block) in &strategy.blocks {
            check(&path.key(kind.block()), block);
        }
    }
}
