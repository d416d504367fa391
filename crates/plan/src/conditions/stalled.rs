//! What only a user can change about an instance.
//!
//! Decides the cause of `Stalled`; `ready.rs` writes the condition.

use crate::config::Trouble;
use crate::rollout::{Attention, Member};
use crate::types::{Wait, WaitOn};
use crate::work::{Rendering, superseded};
use api::reason::Reason;
use store::View;

use super::state::{Outcome, State};

/// Something that only a user can change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stuck {
    /// The reason of `Stalled`.
    pub reason: Reason,
    /// The whole sentence.
    pub message: String,
    /// Whether no other condition has that sentence.
    pub is_news: bool,
}

const LATE: &str = "the agent has not confirmed the configuration within the progressDeadline of the rollout";

/// What only a user can change. The whole sentence is in `Configured` or in `Progressing`, where one of them has it.
pub(crate) fn stuck(
    view: &View<'_>,
    member: &Member<'_>,
    rendering: &Rendering<'_>,
    state: &State,
    trouble: Option<&Trouble>,
) -> Option<Stuck> {
    let told = |reason, message: String| Stuck {
        reason,
        message,
        is_news: false,
    };
    if let Some(trouble) = trouble.filter(|trouble| trouble.is_stuck) {
        return Some(told(trouble.reason, trouble.message.clone()));
    }
    let notice = member.notice.as_deref();
    if let Some(notice) = notice.filter(|notice| notice.attention == Attention::Act) {
        return Some(told(notice.reason, notice.message.to_string()));
    }
    if member.timed_out && matches!(state, State::Phase(_, Outcome::Running(_))) {
        return Some(Stuck {
            is_news: true,
            ..told(Reason::ProgressDeadlineExceeded, LATE.to_owned())
        });
    }
    let is_turn = notice.is_some_and(|notice| notice.attention == Attention::Wait);
    match rendering {
        Rendering::Refused(error) => Some(told(Reason::RenderingFailed, error.clone())),
        Rendering::NotOurs | Rendering::Bodies(_) => None,
        // Who runs with what it was assigned needs nothing again, and whose turn comes gets the present content.
        Rendering::Waiting(_) if state.is_done() || is_turn => None,
        Rendering::Waiting(_) => superseded(view, &member.assigned).map(|gone| {
            let on = WaitOn::Content(gone.config.clone());
            told(Reason::ContentSuperseded, Wait::addon(on).to_string())
        }),
    }
}
