//! Why a cluster waits for an approval, and the command that gives it.
//!
//! Decides the words. That it waits is decided by the plan, whose message is read here.

use super::answer::{Cause, Grade};
use super::case::Case;
use super::causes;
use super::command::quoted;
use model::{Approval, approval};

impl Case<'_> {
    /// Returns why a cluster waits for an approval: it is no fault, and only the approval ends it.
    pub(super) fn approval(&self, message: &str) -> Cause {
        let cause = Cause::new(causes::APPROVAL, message).graded(Grade::Waits(None));
        let addon = quoted(&self.view.addon.name);
        let Some(Approval { place, group, hash }) = message.split_whitespace().find_map(approval) else {
            return cause.typing(format!("tidegate rollout approve {addon}"));
        };
        cause.typing(format!(
            "tidegate rollout approve {addon} --placement {} --group {} --content {hash}",
            quoted(&place),
            quoted(&group),
        ))
    }
}
