//! Whether an instance has been given its configurations.
//!
//! Decides `Configured`: what is wrong with them, or why they wait.

use super::{Wish, ocm};
use crate::config::{Trouble, set_aside};
use crate::rollout::Member;
use api::reason::Reason;
use store::{Status, View};

/// Condition that tells whether the configurations have been handed out.
pub(crate) const CONFIGURED: &str = "Configured";

/// Returns what `Configured` should say; `None` leaves what stands there.
pub(crate) fn configured<'a>(
    view: &View<'_>,
    member: &'a Member<'_>,
    trouble: Option<&'a Trouble>,
) -> Option<Wish<'a>> {
    if view.settings().is_ocm() {
        return ocm::configured(member);
    }
    Some(handed_out(view, member, trouble))
}

fn handed_out<'a>(view: &View<'_>, member: &'a Member<'_>, trouble: Option<&'a Trouble>) -> Wish<'a> {
    if let Some(trouble) = trouble {
        return Wish::new(
            CONFIGURED,
            Status::False,
            trouble.reason,
            trouble.message.as_str(),
        );
    }
    if let Some(notice) = &member.notice {
        return Wish::new(CONFIGURED, Status::False, notice.reason, &*notice.message);
    }
    let mut message = set_aside(view.addon, member.instance);
    if member.effective.undone {
        message.to_mut().push_str(
            "; they are the last known good configuration, because the rollout of the placement was undone",
        );
    }
    Wish::new(
        CONFIGURED,
        Status::True,
        Reason::ConfigurationsConfigured,
        message,
    )
}
