//! The roll-up of one instance: `Ready`, `Reconciling` and `Stalled`, and how it counts for the add-on.
//!
//! Decides "done", "wait" and "act", one of them at a time. Never tells a story twice: the whole sentence is in the condition
//! that it belongs to, and these name the cause in a few words and refer to it.

use std::borrow::Cow;

use super::Wish;
use super::reconciling::Arrival;
use super::stalled::Stuck;
use super::state::{Outcome, State, Words};
use crate::census::{Content, InstanceTally};
use crate::rollout::{Attention, Notice};
use api::reason::Reason;
use store::Status;

/// What the roll-up of an instance is made from.
#[derive(Debug)]
pub(crate) struct RollUpInput<'a> {
    /// Why it keeps its current configuration.
    pub notice: Option<&'a Notice>,
    /// How far it is.
    pub state: &'a State,
    /// The words of `Progressing`.
    pub words: &'a Words,
    /// What only a user can change.
    pub stuck: Option<&'a Stuck>,
    /// Whether that may still come by itself.
    pub arrival: Option<Arrival>,
    /// Whether its agent works, as far as it is known.
    pub up: Option<Status>,
    /// The content that it keeps and that is no longer on the hub, in a sentence.
    pub orphaned: Option<&'a str>,
    /// Whether it is to run with what was last known to be good, because its rollout was undone.
    pub undone: bool,
    /// The whole sentence where no other condition has it.
    pub aside: Aside<'a>,
}

/// What other conditions do not tell, so that the roll-up has to.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Aside<'a> {
    /// Whether the other conditions have only Open Cluster Management's words.
    pub is_ocm: bool,
    /// The message of `Progressing`, which is not written a second time.
    pub shown: &'a str,
    /// What is wrong with the configurations.
    pub trouble: Option<&'a str>,
    /// What an agent says of a work, where that is no failure.
    pub complaint: Option<&'a str>,
}

impl<'a> RollUpInput<'a> {
    /// Returns why it is in progress, where no other condition says so.
    fn why_under_way(&self) -> Option<&'a str> {
        let aside = self.aside;
        match self.state {
            State::Phase(_, Outcome::Running(_)) => aside.complaint,
            State::Waiting { message, .. } if aside.is_ocm => Some(aside.trouble.unwrap_or(message)),
            State::Phase(_, Outcome::Succeeded | Outcome::Failed(_))
            | State::Waiting { .. }
            | State::Unsupported(_)
            | State::WaitingForManifests
            | State::WaitingForHostingManifests => None,
        }
    }

    /// Returns the turn that the instance waits for.
    fn turn(&self) -> Option<&'a Notice> {
        self.notice.filter(|notice| notice.attention == Attention::Wait)
    }

    fn has_failed(&self) -> bool {
        matches!(self.state, State::Phase(_, Outcome::Failed(_)))
    }

    /// Returns `Ready`, `Reconciling` and `Stalled`. Who waits for a turn is not ready for what it should have; who is
    /// meant to keep its current configuration is.
    pub(crate) fn wishes(&self) -> [Wish<'a>; 3] {
        let ready =
            |reason: Reason, message: Cow<'a, str>| Wish::new("Ready", Status::False, reason, message);
        let settled = Wish::new("Reconciling", Status::False, Reason::Settled, "");
        let sound = Wish::new("Stalled", Status::False, Reason::NotStalled, "");
        let is_ocm = self.aside.is_ocm;
        let said = |kind, reason: Reason, sentence: Option<&'a str>| match sentence {
            Some(sentence) if *sentence == *self.aside.shown => {
                let words = Cow::from(reason.cause_in("Progressing"));
                (words.clone(), words)
            }
            Some(sentence) => (Cow::from(reason.cause_in(kind)), Cow::Borrowed(sentence)),
            None => (Cow::Borrowed(reason.cause()), Cow::Borrowed(reason.cause())),
        };
        let waits = |reason, sentence| {
            let (words, sentence) = said("Reconciling", reason, sentence);
            let under_way = Wish::new("Reconciling", Status::True, reason, sentence);
            [ready(reason, words), under_way, sound.clone()]
        };
        let stalls = |reason, sentence| {
            let (words, sentence) = said("Stalled", reason, sentence);
            let stalled = Wish::new("Stalled", Status::True, reason, sentence);
            [ready(reason, words), settled.clone(), stalled]
        };
        if let Some(stuck) = self.stuck {
            if let Some(arrival) = self.arrival {
                let words = stuck.reason.cause();
                return [
                    ready(stuck.reason, words.into()),
                    arrival.wish(stuck.reason, words),
                    sound,
                ];
            }
            let is_reported = stuck.is_news || is_ocm;
            return stalls(stuck.reason, is_reported.then_some(stuck.message.as_str()));
        }
        if self.has_failed() {
            return stalls(self.words.reason, is_ocm.then_some(&*self.words.message));
        }
        if let Some(turn) = self.turn() {
            return waits(turn.reason, is_ocm.then_some(&*turn.message));
        }
        if !self.state.is_done() {
            return waits(self.words.reason, self.why_under_way());
        }
        [self.ready(), settled, sound]
    }

    /// Returns `Ready` where everything is as desired, apart from the agent.
    fn ready(&self) -> Wish<'a> {
        match (self.up, self.orphaned) {
            (Some(Status::False), _) => Wish::new(
                "Ready",
                Status::False,
                Reason::Unavailable,
                "the agent is not available",
            ),
            (Some(Status::Unknown), _) => Wish::new(
                "Ready",
                Status::False,
                Reason::AvailabilityUnknown,
                "it is not known whether the agent is available",
            ),
            (Some(Status::True) | None, Some(sentence)) => {
                Wish::new("Ready", Status::True, Reason::ContentSuperseded, sentence)
            }
            (Some(Status::True) | None, None) if let Some(notice) = self.notice => {
                let here = self.aside.is_ocm.then_some(&*notice.message);
                let sentence =
                    here.unwrap_or("the add-on runs with the configuration that it is meant to keep");
                Wish::new("Ready", Status::True, Reason::Ready, sentence)
            }
            (Some(Status::True) | None, None) if self.undone => Wish::new(
                "Ready",
                Status::True,
                Reason::Ready,
                "the add-on runs with the last known good configuration; see the condition Configured",
            ),
            (Some(Status::True) | None, None) => Wish::new(
                "Ready",
                Status::True,
                Reason::Ready,
                "the add-on runs with the desired configuration",
            ),
        }
    }

    /// Returns how the instance counts for the add-on; the conditions above say the same in words.
    pub(crate) fn standing(&self) -> InstanceTally {
        if let Some(stuck) = self.stuck {
            return match self.arrival {
                Some(_) => InstanceTally::Waiting(stuck.reason),
                None => InstanceTally::Stalled(stuck.reason),
            };
        }
        if self.has_failed() {
            return InstanceTally::Stalled(self.words.reason);
        }
        match self.up {
            _ if let Some(turn) = self.turn() => InstanceTally::Waiting(turn.reason),
            _ if let State::Waiting { reason, .. } = self.state => InstanceTally::Waiting(*reason),
            _ if !self.state.is_done() => InstanceTally::Moving,
            Some(Status::False) => InstanceTally::Unavailable,
            _ if self.notice.is_some() => InstanceTally::Kept {
                reachable: self.up != Some(Status::Unknown),
                content: self.orphaned.map_or(Content::There, |_| Content::Gone),
            },
            Some(Status::Unknown) => InstanceTally::Unreachable,
            Some(Status::True) | None => InstanceTally::Ready,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::state::Phase;
    use super::*;
    use store::Vocabulary;

    fn row(state: &State, stuck: Option<&Stuck>, up: Option<Status>) -> String {
        let words = state.progressing(Vocabulary::Lifecycle, None);
        let told = RollUpInput {
            notice: None,
            state,
            words: &words,
            stuck,
            arrival: None,
            up,
            orphaned: None,
            undone: false,
            aside: Aside::default(),
        };
        let wishes = told.wishes();
        let each = wishes.map(|wish| format!("{}={} {}", wish.kind(), wish.status().as_str(), wish.reason()));
        format!("{} → {:?}", each.join(", "), told.standing())
    }

    const TOLD: &str = "\
Ready=False Installing, Reconciling=True Installing, Stalled=False NotStalled → Moving
Ready=False Installing, Reconciling=True Installing, Stalled=False NotStalled → Moving
Ready=False UpgradeFailed, Reconciling=False Settled, Stalled=True UpgradeFailed → Stalled(UpgradeFailed)
Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled → Ready
Ready=True Ready, Reconciling=False Settled, Stalled=False NotStalled → Ready
Ready=False Unavailable, Reconciling=False Settled, Stalled=False NotStalled → Unavailable
Ready=False AvailabilityUnknown, Reconciling=False Settled, Stalled=False NotStalled → Unreachable
Ready=False ConfigurationNotFound, Reconciling=False Settled, Stalled=True ConfigurationNotFound → Stalled(ConfigurationNotFound)
Ready=False ConfigurationNotFound, Reconciling=False Settled, Stalled=True ConfigurationNotFound → Stalled(ConfigurationNotFound)
Ready=False WaitingForSlot, Reconciling=True WaitingForSlot, Stalled=False NotStalled → Waiting(WaitingForSlot)
Ready=False WaitingForManifestApplied, Reconciling=True WaitingForManifestApplied, Stalled=False NotStalled → Moving
Ready=False WaitingForHostingManifestApplied, Reconciling=True WaitingForHostingManifestApplied, Stalled=False NotStalled → Moving";

    /// Delivery tools read: `Stalled` is a failure, `Reconciling` means wait, and `Ready` is the end. Never two of them.
    #[test]
    fn every_state_says_wait_act_or_done() {
        let running = State::Phase(Phase::Install, Outcome::Running("x".to_owned()));
        let failed = State::Phase(Phase::Upgrade, Outcome::Failed("x".to_owned()));
        let done = State::Phase(Phase::Install, Outcome::Succeeded);
        let waiting = State::Waiting {
            reason: Reason::WaitingForSlot,
            message: "x".into(),
        };
        let (up, down) = (Some(Status::True), Some(Status::False));
        let missing = Stuck {
            reason: Reason::ConfigurationNotFound,
            message: "x".to_owned(),
            is_news: false,
        };
        let rows = [
            row(&running, None, None),
            row(&running, None, down),
            row(&failed, None, up),
            row(&done, None, up),
            row(&done, None, None),
            row(&done, None, down),
            row(&done, None, Some(Status::Unknown)),
            row(&running, Some(&missing), up),
            row(&done, Some(&missing), up),
            row(&waiting, None, None),
            row(&State::WaitingForManifests, None, None),
            row(&State::WaitingForHostingManifests, None, None),
        ];
        assert_eq!(rows.join("\n"), TOLD);
    }
}
