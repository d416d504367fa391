//! The state of one add-on on one cluster: phase × outcome, and the "not yet" states, in two vocabularies.
//!
//! Decides the words of the `Progressing` condition. Never decides the state itself (`progressing.rs`).

use std::borrow::Cow;

use api::reason::Reason;
use store::{ConfigType, Status, Vocabulary};

/// What is being done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Nothing was ever applied.
    Install,
    /// Something was applied before.
    Upgrade,
    /// The desired version is lower than the last one.
    Rollback,
    /// Nothing new: what had arrived is made again, or has stopped working. Told in OCM's words, which name no change.
    Upkeep,
    /// The add-on goes, and its pre-delete hooks run first. Never shown in `Progressing`.
    Hook,
}

/// How far it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// Under way, and what it waits for.
    Running(String),
    /// Done.
    Succeeded,
    /// The agent or the rendering failed, with the error.
    Failed(String),
}

/// The state of one add-on on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// The instance names a configuration type that its add-on does not support.
    Unsupported(ConfigType),
    /// The program that deploys this add-on has not reported `ManifestApplied`.
    WaitingForManifests,
    /// It has not reported `HostingManifestApplied`.
    WaitingForHostingManifests,
    /// Nothing is at work on it: it has what it has until this changes.
    Waiting {
        /// The reason, in one word.
        reason: Reason,
        /// What it waits for, or where that stands.
        message: Cow<'static, str>,
    },
    /// Phase × outcome.
    Phase(Phase, Outcome),
}

/// Status, reason and message of a condition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Words {
    /// The status.
    pub status: Status,
    /// The reason.
    pub reason: Reason,
    /// The message.
    pub message: Cow<'static, str>,
}

impl Phase {
    /// Returns the phase of a reason that an earlier plan wrote; the other vocabulary names none.
    pub fn of_reason(reason: &str) -> Option<Self> {
        let reason = Reason::of(reason)?;
        let all = [Self::Install, Self::Upgrade, Self::Rollback, Self::Upkeep];
        all.into_iter().find(|phase| phase.reasons().contains(&reason))
    }

    /// Returns the phase as a noun.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Install => "install",
            Self::Upgrade => "upgrade",
            Self::Rollback => "rollback",
            Self::Upkeep => "reconciliation",
            Self::Hook => "pre-delete hook",
        }
    }

    const fn completed(self) -> &'static str {
        match self {
            Self::Install => "install completed with no errors.",
            Self::Upgrade => "upgrade completed with no errors.",
            Self::Rollback => "rollback completed with no errors.",
            Self::Upkeep => "completed with no errors.",
            Self::Hook => "pre-delete hook completed with no errors.",
        }
    }

    const fn verb(self) -> &'static str {
        match self {
            Self::Install => "installing",
            Self::Upgrade => "upgrading",
            Self::Rollback => "rollingback",
            Self::Upkeep => "progressing",
            Self::Hook => "running the pre-delete hook",
        }
    }

    const fn reasons(self) -> [Reason; 3] {
        match self {
            Self::Install => [Reason::Installing, Reason::InstallSucceed, Reason::InstallFailed],
            Self::Upgrade => [Reason::Upgrading, Reason::UpgradeSucceed, Reason::UpgradeFailed],
            Self::Rollback => [
                Reason::Rollingback,
                Reason::RollbackSucceed,
                Reason::RollbackFailed,
            ],
            Self::Upkeep => [Reason::Progressing, Reason::Completed, Reason::Failed],
            Self::Hook => [Reason::HookRunning, Reason::HookSucceed, Reason::HookFailed],
        }
    }
}

impl State {
    /// Returns whether everything desired is applied.
    pub fn is_done(&self) -> bool {
        matches!(self, Self::Phase(_, Outcome::Succeeded))
    }

    /// Returns the words of the `Progressing` condition; `version` is the target version of the instance.
    pub fn progressing(&self, vocabulary: Vocabulary, version: Option<&str>) -> Words {
        match self {
            Self::Unsupported(of) => Words {
                status: Status::False,
                reason: Reason::ConfigurationUnsupported,
                message: Cow::Owned(format!(
                    "Configuration with gvr {}/{} is not supported for this addon",
                    of.group, of.resource
                )),
            },
            Self::WaitingForManifests => Words {
                status: Status::False,
                reason: Reason::WaitingForManifestApplied,
                message: Cow::Borrowed("Waiting for ManagedClusterAddOn ManifestApplied condition"),
            },
            Self::WaitingForHostingManifests => Words {
                status: Status::False,
                reason: Reason::WaitingForHostingManifestApplied,
                message: Cow::Borrowed("Waiting for ManagedClusterAddOn HostingManifestApplied condition"),
            },
            Self::Waiting { reason, message } => Words {
                status: Status::False,
                reason: *reason,
                message: message.clone(),
            },
            Self::Phase(Phase::Upkeep, outcome) => ocm(outcome),
            Self::Phase(phase, outcome) => match vocabulary {
                Vocabulary::Lifecycle => lifecycle(*phase, outcome, version),
                Vocabulary::Ocm => ocm(outcome),
            },
        }
    }
}

fn lifecycle(phase: Phase, outcome: &Outcome, version: Option<&str>) -> Words {
    let [running, succeeded, failed] = phase.reasons();
    match outcome {
        Outcome::Running(why) => Words {
            status: Status::True,
            reason: running,
            message: Cow::Owned(match (phase, version) {
                (_, None) | (Phase::Hook | Phase::Upkeep, Some(_)) => format!("{}… {why}", phase.verb()),
                (Phase::Install, Some(version)) => format!("{} version {version}… {why}", phase.verb()),
                (Phase::Upgrade | Phase::Rollback, Some(version)) => {
                    format!("{} to version {version}… {why}", phase.verb())
                }
            }),
        },
        Outcome::Succeeded => Words {
            status: Status::False,
            reason: succeeded,
            message: Cow::Borrowed(phase.completed()),
        },
        Outcome::Failed(error) => Words {
            status: Status::False,
            reason: failed,
            message: Cow::Owned(error.clone()),
        },
    }
}

fn ocm(outcome: &Outcome) -> Words {
    match outcome {
        Outcome::Running(why) => Words {
            status: Status::True,
            reason: Reason::Progressing,
            message: Cow::Owned(format!("progressing... {why}")),
        },
        Outcome::Succeeded => Words {
            status: Status::False,
            reason: Reason::Completed,
            message: Cow::Borrowed("completed with no errors."),
        },
        Outcome::Failed(error) => Words {
            status: Status::False,
            reason: Reason::Failed,
            message: Cow::Owned(error.clone()),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(state: &State, vocabulary: Vocabulary) -> String {
        let words = state.progressing(vocabulary, None);
        format!("{} {} | {}", words.status.as_str(), words.reason, words.message)
    }

    #[test]
    fn both_vocabularies_write_their_own_words() {
        let cases = [
            (
                Outcome::Running("work is not ready".to_owned()),
                "True Upgrading | upgrading… work is not ready",
                "True Progressing | progressing... work is not ready",
            ),
            (
                Outcome::Succeeded,
                "False UpgradeSucceed | upgrade completed with no errors.",
                "False Completed | completed with no errors.",
            ),
            (
                Outcome::Failed("quota".to_owned()),
                "False UpgradeFailed | quota",
                "False Failed | quota",
            ),
        ];
        for (outcome, ours, theirs) in cases {
            let state = State::Phase(Phase::Upgrade, outcome);
            assert_eq!(row(&state, Vocabulary::Lifecycle), ours);
            assert_eq!(row(&state, Vocabulary::Ocm), theirs);
        }
    }

    #[test]
    fn a_version_is_in_the_message_while_it_changes() {
        let rows = [
            (Phase::Install, "installing version v2… why"),
            (Phase::Upgrade, "upgrading to version v2… why"),
            (Phase::Rollback, "rollingback to version v2… why"),
        ];
        for (phase, expected) in rows {
            let state = State::Phase(phase, Outcome::Running("why".to_owned()));
            let message = |vocabulary| state.progressing(vocabulary, Some("v2")).message;
            assert_eq!(message(Vocabulary::Lifecycle), expected);
            assert_eq!(message(Vocabulary::Ocm), "progressing... why");
        }
    }

    #[test]
    fn a_phase_is_read_back_from_each_of_its_reasons() {
        for phase in [Phase::Install, Phase::Upgrade, Phase::Rollback, Phase::Upkeep] {
            for reason in phase.reasons() {
                assert_eq!(Phase::of_reason(reason.as_str()), Some(phase));
            }
        }
        assert_eq!(Phase::of_reason(Reason::WaitingForSlot.as_str()), None);
    }
}
