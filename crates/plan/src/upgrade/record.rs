//! How far one cluster is, as the status of the upgrade remembers it.
//!
//! Decides the words; which step follows which is `stand`'s.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use api::cluster::UpgradeClusterStatus;
use api::reason::{Class, Reason};
use kubernetes::field::{short_digests, shortened};

/// The longest message of a cluster. Of a longer one the end stays, which names the cause.
pub(crate) const LONGEST_MESSAGE: usize = 1024;
/// From this length on digests of images are shortened.
const LONG: usize = 256;

fn brief(message: &str) -> String {
    if message.len() <= LONG {
        return message.to_owned();
    }
    shortened(&short_digests(message), LONGEST_MESSAGE)
}

/// How far a cluster is, in the words of the proposal.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// It was told nothing.
    #[default]
    NotStarted,
    /// It was told, and has not answered.
    Initialized,
    /// It is in progress.
    Partial,
    /// It is there.
    Complete,
    /// It is not, and will not be.
    Failed,
}

/// Where in a state a cluster is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    /// It waits for its turn.
    #[default]
    Queued,
    /// Something keeps it from having a turn.
    Held,
    /// The action before the upgrade runs.
    PreAction,
    /// The cluster upgrades.
    Platform,
    /// Its operators do.
    Operators,
    /// The action after the upgrade runs.
    PostAction,
    /// Nothing more happens.
    Done,
}

/// What became of an action on a cluster.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActionState {
    /// There is none, or its turn has not come.
    #[default]
    None,
    /// It was told.
    Progressing,
    /// It is applied, and has not ended.
    Applied,
    /// It has succeeded.
    Available,
    /// It has failed.
    Degraded,
}

const STATES: [(State, &str); 5] = [
    (State::NotStarted, "NotStarted"),
    (State::Initialized, "Initialized"),
    (State::Partial, "Partial"),
    (State::Complete, "Complete"),
    (State::Failed, "Failed"),
];
const PHASES: [(Phase, &str); 7] = [
    (Phase::Queued, "Queued"),
    (Phase::Held, "Held"),
    (Phase::PreAction, "PreAction"),
    (Phase::Platform, "Platform"),
    (Phase::Operators, "Operators"),
    (Phase::PostAction, "PostAction"),
    (Phase::Done, "Done"),
];
const ACTIONS: [(ActionState, &str); 5] = [
    (ActionState::None, ""),
    (ActionState::Progressing, "Progressing"),
    (ActionState::Applied, "Applied"),
    (ActionState::Available, "Available"),
    (ActionState::Degraded, "Degraded"),
];

fn word<T: PartialEq>(table: &[(T, &'static str)], value: &T) -> &'static str {
    table
        .iter()
        .find(|(one, _)| one == value)
        .map_or("", |(_, word)| word)
}

/// A word that is not in the table reads as the beginning.
fn meant<T: Copy + Default>(table: &[(T, &str)], text: &str) -> T {
    table
        .iter()
        .find(|(_, word)| *word == text)
        .map(|(value, _)| *value)
        .unwrap_or_default()
}

impl State {
    /// Returns its word.
    pub fn word(self) -> &'static str {
        word(&STATES, &self)
    }
}

impl Phase {
    /// Returns its word.
    pub fn word(self) -> &'static str {
        word(&PHASES, &self)
    }
}

/// How far a cluster is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Record {
    /// Its state.
    pub state: State,
    /// Where in it.
    pub phase: Phase,
    /// Why; absent when there is nothing to say.
    pub reason: Option<Reason>,
    /// The same in a sentence.
    pub message: String,
    /// Whether it is a canary cluster.
    pub canary: bool,
    /// The stage that it belongs to; empty where it is in none.
    pub stage: String,
    /// The version that it is being upgraded to, where there are hops.
    pub hop: String,
    /// When the upgrade to that version began.
    pub hop_started: Option<Timestamp>,
    /// The action before the upgrade.
    pub pre: ActionState,
    /// The action after it.
    pub post: ActionState,
    /// When its upgrade began.
    pub started: Option<Timestamp>,
    /// When it ended.
    pub finished: Option<Timestamp>,
    /// How many times it was tried before this one.
    pub tried: i64,
    /// How much is done in percent.
    pub percent: Option<i64>,
}

impl Record {
    /// Reads what was told.
    pub fn of(told: &UpgradeClusterStatus) -> Self {
        Self {
            state: meant(&STATES, &told.state),
            phase: meant(&PHASES, &told.phase),
            reason: Reason::of(&told.reason),
            message: told.message.clone(),
            canary: told.canary,
            stage: told.stage.clone(),
            hop: told.hop.clone(),
            hop_started: told.hop_started_at.as_ref().map(|time| time.0),
            pre: meant(&ACTIONS, &told.pre_action),
            post: meant(&ACTIONS, &told.post_action),
            started: told.started_at.as_ref().map(|time| time.0),
            finished: told.finished_at.as_ref().map(|time| time.0),
            tried: told.attempts.saturating_sub(1).max(0),
            percent: told.percent,
        }
    }

    /// Returns what the status has of a cluster, with a message of at most `longest` characters.
    pub fn told(&self, name: &str, longest: usize) -> UpgradeClusterStatus {
        UpgradeClusterStatus {
            name: name.to_owned(),
            state: self.state.word().to_owned(),
            phase: self.phase.word().to_owned(),
            reason: self.reason.map_or_else(String::new, |reason| reason.to_string()),
            message: shortened(&self.message, longest),
            canary: self.canary,
            stage: self.stage.clone(),
            hop: self.hop.clone(),
            hop_started_at: self.hop_started.map(Time),
            pre_action: word(&ACTIONS, &self.pre).to_owned(),
            post_action: word(&ACTIONS, &self.post).to_owned(),
            started_at: self.started.map(Time),
            finished_at: self.finished.map(Time),
            attempts: if self.tried > 0 {
                self.tried.saturating_add(1)
            } else {
                0
            },
            percent: self.percent,
        }
    }

    /// Tells whether it belongs to a stage; a canary cluster belongs to none.
    pub fn is_of_stage(&self, stage: &str) -> bool {
        !self.canary && self.stage == stage
    }

    /// Tells whether its upgrade has begun, whatever became of it.
    pub fn has_begun(&self) -> bool {
        match self.state {
            State::NotStarted => false,
            State::Initialized | State::Partial | State::Complete => true,
            State::Failed => self.started.is_some(),
        }
    }

    /// Tells whether nothing more happens.
    pub fn has_ended(&self) -> bool {
        match self.state {
            State::NotStarted | State::Initialized | State::Partial => false,
            State::Complete => self.phase == Phase::Done,
            State::Failed => true,
        }
    }

    /// Returns the reason for which it does not go on until an administrator acts, if there is one.
    pub fn needs_admin(&self) -> Option<Reason> {
        self.reason
            .filter(|reason| !self.has_ended() && reason.is(Class::NeedsAdmin))
    }

    /// Says why it is as it is.
    #[must_use]
    pub fn because(mut self, reason: Reason, message: impl Into<String>) -> Self {
        self.reason = Some(reason);
        self.message = brief(&message.into());
        self
    }

    /// Has it be in a state, with nothing more to say of it.
    #[must_use]
    pub fn at(mut self, state: State, phase: Phase) -> Self {
        self.state = state;
        self.phase = phase;
        self.reason = None;
        self.message.clear();
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_written_status_reads_back() {
        let record = Record {
            canary: true,
            stage: "eu".to_owned(),
            hop: "4.12.9".to_owned(),
            hop_started: Some("2026-01-01T00:00:00Z".parse().expect("a time")),
            pre: ActionState::Available,
            post: ActionState::Degraded,
            started: Some("2026-01-01T00:00:00Z".parse().expect("a time")),
            tried: 2,
            percent: Some(40),
            ..Record::default()
        };
        for (state, _) in STATES {
            for (phase, _) in PHASES {
                let record = record
                    .clone()
                    .at(state, phase)
                    .because(Reason::Conflict, "a sentence");
                assert_eq!(Record::of(&record.told("c", LONGEST_MESSAGE)), record);
            }
        }
        let empty = Record::default().told("c", LONGEST_MESSAGE);
        assert_eq!(Record::of(&empty), Record::default());
    }

    #[test]
    fn messages_stay_short() {
        for longest in [256, LONGEST_MESSAGE] {
            let record = Record::default().because(Reason::Conflict, "ä".repeat(5000));
            let length = record.told("c", longest).message.len();
            assert!(length <= longest && length > longest - 8, "{length}");
        }
    }

    #[test]
    fn a_message_ends_with_its_cause_however_long_it_is() {
        let digest = "0123456789abcdef".repeat(4);
        let detail = "why it does so ".repeat(100);
        for detail in ["", detail.as_str()] {
            let message = format!(
                "the cluster has not accepted the release: Preconditions failed for payload loaded version=\"4.12.0\" \
                 image=\"release.example.com/ocp-release@sha256:{digest}\": {detail}Precondition \"ClusterVersionUpgradeable\" failed \
                 because of \"AdminAckRequired\": operator foo blocks"
            );
            for longest in [256, LONGEST_MESSAGE] {
                let told = Record::default().because(Reason::NotAccepted, message.as_str());
                let told = told.told("c", longest).message;
                let cause = "failed because of \"AdminAckRequired\": operator foo blocks";
                assert!(told.ends_with(cause), "{told}");
                assert!(told.chars().count() <= longest, "{told}");
            }
        }
    }
}
