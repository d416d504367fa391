//! Rules about the rollout strategies of placements. Page: `tests/rules/rollout.md`.
//!
//! Decides which strategies are refused. What a value means is read by `model::RolloutStrategy`, the parser that the
//! planner uses as well; nothing is parsed here a second time.

use crate::subject::{Addon, Subject, rules};
use kubernetes::field::{Class, Fault, Findings, Path};
use model::{FailureModes, Limit, RawBlock, RawStrategy, RolloutWindows, rule};
use store::terms;

const ON_FAILURE: &str = "rollout/on-failure";
/// What one window costs: a schedule is followed until it names a day.
const STEPS_OF_A_WINDOW: usize = 100;

rules! { pub(crate) ON_ADDONS of Addon {
    refuses rule::UNKNOWN_TYPE, CreateAndUpdate, unknown_type =>
        "The type of a rollout is one of the known ones.\n\n\
         A strategy of a placement is All, Progressive or ProgressivePerGroup; the strategy of \
         `spec.configuration` is UpdateAll or RollingUpdateWithPlacement. Names are case-sensitive. Refused, with \
         the nearest name.";
    refuses rule::TYPE_MISMATCH, CreateAndUpdate, type_mismatch =>
        "Only the block of the chosen type is given.\n\n\
         A block of another type has no effect. A strategy with a `progressive` block and no `type` moves all \
         clusters at once, which is never what was meant. Refused: set the type, or remove the block.";
    refuses rule::MIN_SUCCESS_TIME, CreateAndUpdate, min_success_time =>
        "The soak time is a duration.\n\n\
         `minSuccessTime` is a Go duration such as 5m, 1h30m or 0, and not negative. One text that is none stops \
         the add-on manager's watch, and with it every add-on of the hub. Refused.";
    refuses rule::PROGRESS_DEADLINE, CreateAndUpdate, progress_deadline =>
        "The deadline is None or a duration.\n\n\
         `progressDeadline` is None or a duration in hours, minutes and seconds such as 10m or 1h30m, longer than \
         zero. The CRD's pattern lets more through than its readers understand. Refused.";
    refuses rule::MAX_CONCURRENCY, CreateAndUpdate, max_concurrency =>
        "The number of clusters at once is a count or a percentage.\n\n\
         `maxConcurrency` is a whole number from 1 up or a text from \"1%\" to \"100%\". Negative numbers, more \
         than 100 %, and a text without % are refused. Zero warns: it means all clusters at once.";
    refuses rule::MAX_FAILURES, CreateAndUpdate, max_failures =>
        "The number of tolerated failures is a count or a percentage.\n\n\
         `maxFailures` is a whole number from 0 up or a text from \"0%\" to \"100%\". Zero stops at the first \
         failure. Everything else is refused.";
    refuses rule::MANDATORY_GROUPS, CreateAndUpdate, mandatory_groups =>
        "A mandatory decision group is named once, by name or by position.\n\n\
         A negative position and a group that is listed twice are refused. An entry with neither name nor \
         position means the group at position 0, and an entry with both means the group of that name: these warn.";
    refuses rule::ROLLOUT_WINDOW, CreateAndUpdate, window =>
        "A window of rollouts opens and shuts.\n\n\
         `tidegate.io/rollout-window` is a schedule of five fields that names a day that some month has, `for` and a duration that is longer \
         than nothing, and perhaps `in` and a name of the time zone database: `0 2 * * 0 for 4h in Europe/Paris`; several are separated by \
         `;`. Anything else would hold every change. Refused.";
    refuses ON_FAILURE, CreateAndUpdate, on_failure =>
        "What becomes of a rollout that has stopped is said in words that mean something.\n\n\
         `tidegate.io/on-failure` is `undo` or `stop`, or lists placements as `<namespace>/<name>=undo` or `<namespace>/<name>=stop`, separated by \
         commas; a word beside the list is for all others. A slip would undo nothing, and be noticed when it is needed. Refused, with the \
         nearest word.";
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
    // Each entry is followed over years of days.
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
            let fault = Fault::bare(Class::Invalid, "zero means all clusters at once");
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
                (true, Some(_)) => "groupIndex is ignored beside groupName",
                (false, None) => "names no group: this means position 0",
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
