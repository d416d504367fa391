//! Rules about the rollout strategies of placements. Page: `tests/rules/rollout.md`.
//!
//! Refuses invalid strategies. `model::RolloutStrategy` parses them, which the planner uses as well.

use crate::subject::{Addon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{FailureModes, Limit, RawBlock, RawStrategy, RolloutWindows, rule};
use store::terms;

const ON_FAILURE: &str = "rollout/on-failure";
/// The steps that one window costs: its schedule is searched for a date that it matches.
const STEPS_OF_A_WINDOW: usize = 100;

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
         hub stops. Refused.";
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
    refuses rule::ROLLOUT_WINDOW, CreateAndUpdate, window =>
        "`tidegate.io/rollout-window` is a valid time window.\n\n\
         A window is a cron schedule with five fields, `for` and a duration, and optionally `in` and a name of the time \
         zone database: `0 2 * * 0 for 4h in Europe/Paris`. The duration is longer than zero, and at least one date \
         matches the schedule (February 30 does not exist). Separate several windows with `;`. Outside the windows no \
         cluster starts an update, so a window that cannot be parsed or never opens would block all changes. Refused.";
    refuses ON_FAILURE, CreateAndUpdate, on_failure =>
        "`tidegate.io/on-failure` is `undo` or `stop`, or lists placements with one of the two.\n\n\
         The annotation selects whether the clusters of a stopped rollout are rolled back (`undo`) or keep their \
         configuration (`stop`). It lists placements as `<namespace>/<name>=undo` or `<namespace>/<name>=stop`, \
         separated by commas; `undo` or `stop` beside the list applies to all other placements. With a misspelt value a \
         failed rollout would not be rolled back. Refused, and the message suggests the closest value.";
} }

fn on_failure(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let annotations = subject.body.annotations.as_ref();
    let text = annotations.and_then(|all| all.text(terms::ON_FAILURE));
    let (Some(annotations), Some(text)) = (annotations, text) else {
        return;
    };
    if !subject.effort.read(text) {
        return;
    }
    for fault in FailureModes::parse(text).err().into_iter().flatten() {
        findings.deny(fault.at(annotations.path.entry(terms::ON_FAILURE), ON_FAILURE));
    }
}

fn window(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    let annotations = subject.body.annotations.as_ref();
    let text = annotations.and_then(|all| all.text(terms::ROLLOUT_WINDOW));
    let (Some(annotations), Some(text)) = (annotations, text) else {
        return;
    };
    // Parsing an entry searches the days of several years.
    let entries = text.split(';').count();
    if !subject.effort.read(text) || !subject.effort.spend(entries.saturating_mul(STEPS_OF_A_WINDOW)) {
        return;
    }
    for fault in RolloutWindows::parse(text).err().into_iter().flatten() {
        findings.deny(fault.at(
            annotations.path.entry(terms::ROLLOUT_WINDOW),
            rule::ROLLOUT_WINDOW,
        ));
    }
}

fn unknown_type(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for (path, strategy) in strategies(subject) {
        if let Err(violation) = strategy.kind(path) {
            findings.deny(violation);
        }
    }
}

fn type_mismatch(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for (path, strategy) in strategies(subject) {
        strategy
            .mismatches(path)
            .into_iter()
            .for_each(|violation| findings.deny(violation));
    }
}

fn min_success_time(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.soak(path) {
            findings.deny(violation);
        }
    });
}

fn progress_deadline(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.deadline(path) {
            findings.deny(violation);
        }
    });
}

fn max_concurrency(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_block(subject, |path, block| match block.limit(path) {
        Err(violation) => findings.deny(violation),
        Ok(Some(Limit::All)) => {
            let fault = Fault::bare(Class::Invalid, "zero means that all clusters are updated at once");
            findings.warn(fault.at(path.key("maxConcurrency"), rule::MAX_CONCURRENCY));
        }
        Ok(Some(Limit::Clusters(_) | Limit::Percent(_)) | None) => {}
    });
}

fn max_failures(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    for_each_block(subject, |path, block| {
        if let Err(violation) = block.tolerance(path) {
            findings.deny(violation);
        }
    });
}

fn mandatory_groups(subject: &Subject<'_, Addon>, findings: &mut Findings) {
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

fn strategies<'s, 'a>(subject: &'s Subject<'a, Addon>) -> impl Iterator<Item = &'s (Path, RawStrategy<'a>)> {
    let placements = subject.body.placements.each(subject.effort);
    placements.filter_map(|placement| placement.rollout.as_ref())
}

fn for_each_block(subject: &Subject<'_, Addon>, mut check: impl FnMut(&Path, &RawBlock<'_>)) {
    for (path, strategy) in strategies(subject) {
        for (kind, block) in &strategy.blocks {
            check(&path.key(kind.block()), block);
        }
    }
}
