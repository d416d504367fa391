//! Rules about the rollout of an add-on's own configurations. Page: `tests/rules/rolling-update.md`.
//!
//! Refuses invalid values of `spec.configuration.rolloutStrategy`. `model::ConfigRollout` parses them.

use crate::subject::{Addon, Subject, rules};
use kubernetes::field::{Findings, Violation};
use model::{ConfigRollout, rule};

// The first two ids are shared with the strategies of placements.
rules! { pub(crate) ON_ADDONS of Addon {
    refuses rule::UNKNOWN_TYPE, CreateAndUpdate, unknown_type => "";
    refuses rule::TYPE_MISMATCH, CreateAndUpdate, type_mismatch => "";
    refuses rule::ROLLING_UPDATE, CreateAndUpdate, rolling_update =>
        "`rollingUpdateWithPlacement` names a placement and updates at least one cluster at a time.\n\n\
         `spec.configuration.rolloutStrategy` of type `RollingUpdateWithPlacement` needs `rollingUpdateWithPlacement` \
         with the `name` and `namespace` of the placement. `maxConcurrentlyUpdating` is a whole number of 1 or more, or a percentage from \"1%\" to \"100%\"; the default is 25%. With zero, no cluster would ever be updated. Other values \
         are refused.";
} }

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
