//! Rules about the rollout of an add-on's own configurations. Page: `tests/rules/rolling-update.md`.
//!
//! Decides which forms of `spec.configuration.rolloutStrategy` are refused. What they mean is read by
//! `model::ConfigRollout`.

use crate::subject::{Addon, Operations, Rule, Subject};
use kubernetes::field::{Findings, Violation};
use model::{ConfigRollout, rule};

/// Rules of add-ons. The first two ids are shared with the strategies of placements.
pub(crate) const ON_ADDONS: &[Rule<Addon>] = &[
    Rule::refuses(rule::UNKNOWN_TYPE, Operations::CreateAndUpdate, "", unknown_type),
    Rule::refuses(
        rule::TYPE_MISMATCH,
        Operations::CreateAndUpdate,
        "",
        type_mismatch,
    ),
    Rule::refuses(
        rule::ROLLING_UPDATE,
        Operations::CreateAndUpdate,
        "A rolling update names its placement and moves at least one cluster at a time.\n\n\
              `RollingUpdateWithPlacement` needs `rollingUpdateWithPlacement` with `name` and `namespace` of the \
              placement. `maxConcurrentlyUpdating` is a whole number from 1 up or a text from \"1%\" to \"100%\", \
              25% when absent. Zero is refused: nothing would ever move.",
        rolling_update,
    ),
];

fn unknown_type(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny(subject, rule::UNKNOWN_TYPE, findings);
}

fn type_mismatch(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny(subject, rule::TYPE_MISMATCH, findings);
}

fn rolling_update(subject: &Subject<'_, Addon>, findings: &mut Findings) {
    deny(subject, rule::ROLLING_UPDATE, findings);
}

fn deny(subject: &Subject<'_, Addon>, id: &str, findings: &mut Findings) {
    let Some((path, raw)) = &subject.body.config_rollout else {
        return;
    };
    let wrong = ConfigRollout::parse(raw, path).err().unwrap_or_default();
    let own = |violation: &Violation| violation.rule() == id;
    wrong
        .into_iter()
        .filter(own)
        .for_each(|violation| findings.deny(violation));
}
