//! What can go wrong while a cluster is upgraded: with the Jobs of works, and with the cluster's own version operator.
//! Values and their words; whether they are in force is the book's question.

use std::time::Duration;

use kubernetes::duration::GoDuration;

use super::text::parse_duration;

/// The words, for the message about any other one.
pub(super) const WORDS: &str = "upgrade-stall, upgrade-fail, upgrade-rejected, upgrade-slow, not-upgradeable, pools-lag, \
     offline-during-upgrade, and job-, pre-, post- or operators- with fail, slow, hang or retry";

/// The jobs that a fault concerns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Jobs {
    /// Every job that is no hook.
    All,
    /// Those of the works that act before an upgrade.
    Pre,
    /// Those of the works that act after an upgrade.
    Post,
    /// Those that approve upgrades of operators.
    Operators,
}

/// What goes wrong with a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum JobFault {
    /// It runs and fails.
    Fail {
        /// What it says.
        message: String,
    },
    /// It runs this long.
    Slow(Duration),
    /// It never ends.
    Hang,
    /// Its first pod fails and its second one ends well.
    Retry,
}

/// What goes wrong with the upgrade of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UpgradeFault {
    /// It stops on its way and says nothing about it.
    Stall,
    /// It stops on its way: `Failing` is True.
    Fail {
        /// What the cluster says.
        message: String,
    },
    /// It does not begin: `ReleaseAccepted` is False.
    Rejected {
        /// What the cluster says.
        message: String,
    },
    /// It takes this long.
    Slow(Duration),
    /// `Upgradeable` is False: another minor version is refused, a patch is not.
    NotUpgradeable {
        /// What the cluster says.
        message: String,
    },
    /// The workers follow this much later than the control plane.
    PoolsLag(Duration),
    /// The cluster cannot be reached from when its upgrade has begun until it is over.
    Offline,
}

/// How far a cluster is with its upgrade.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// No other version is wanted.
    #[default]
    Idle,
    /// Another one is wanted, and the upgrade has not begun.
    Asked,
    /// It is under way.
    Moving,
}

impl UpgradeFault {
    /// Returns whether the fault does anything now; its time counts from then on.
    pub(super) fn bites_in(&self, phase: Phase) -> bool {
        match self {
            Self::Stall | Self::Fail { .. } | Self::Slow(_) | Self::PoolsLag(_) | Self::Offline => {
                phase == Phase::Moving
            }
            Self::Rejected { .. } => phase == Phase::Asked,
            Self::NotUpgradeable { .. } => true,
        }
    }
}

impl Jobs {
    const ALL: [(&'static str, Self); 4] = [
        ("job", Self::All),
        ("pre", Self::Pre),
        ("post", Self::Post),
        ("operators", Self::Operators),
    ];

    fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, jobs)| *jobs == self);
        known.map_or("job", |(word, _)| word)
    }
}

/// Returns the fault of jobs that this word writes; none when it is no such word.
pub(super) fn parse_job(word: &str, value: Option<&str>) -> Option<Result<(Jobs, JobFault), String>> {
    let (jobs, what) = word.split_once('-')?;
    let (_, jobs) = Jobs::ALL.iter().find(|(known, _)| *known == jobs)?;
    let fault = match what {
        "fail" => Ok(JobFault::Fail {
            message: said(value, "Job has reached the specified backoff limit"),
        }),
        "slow" => duration(word, value).map(JobFault::Slow),
        "hang" => silent(word, value, JobFault::Hang),
        "retry" => silent(word, value, JobFault::Retry),
        _ => return None,
    };
    Some(fault.map(|fault| (*jobs, fault)))
}

/// Returns the fault of an upgrade that this word writes; none when it is no such word.
pub(super) fn parse_upgrade(word: &str, value: Option<&str>) -> Option<Result<UpgradeFault, String>> {
    Some(match word {
        "upgrade-stall" => silent(word, value, UpgradeFault::Stall),
        "upgrade-fail" => Ok(UpgradeFault::Fail {
            message: said(value, "Cluster operator etcd is degraded"),
        }),
        "upgrade-rejected" => Ok(UpgradeFault::Rejected {
            message: said(value, "the release image cannot be verified"),
        }),
        "upgrade-slow" => duration(word, value).map(UpgradeFault::Slow),
        "not-upgradeable" => Ok(UpgradeFault::NotUpgradeable {
            message: said(value, "an administrator has to acknowledge removed APIs first"),
        }),
        "pools-lag" => duration(word, value).map(UpgradeFault::PoolsLag),
        "offline-during-upgrade" => silent(word, value, UpgradeFault::Offline),
        _ => return None,
    })
}

fn said(value: Option<&str>, otherwise: &str) -> String {
    value.unwrap_or(otherwise).to_owned()
}

fn duration(word: &str, value: Option<&str>) -> Result<Duration, String> {
    match value {
        Some(value) => parse_duration(value),
        None => Err(format!("{word} needs a duration, for example {word}:30s")),
    }
}

fn silent<T>(word: &str, value: Option<&str>, fault: T) -> Result<T, String> {
    match value {
        Some(value) => Err(format!("{word} takes no message, but got \"{value}\"")),
        None => Ok(fault),
    }
}

/// Returns the word of a fault of jobs, and what is written behind the colon.
pub(super) fn job_text(jobs: Jobs, fault: &JobFault) -> (String, Option<String>) {
    let (what, said) = match fault {
        JobFault::Fail { message } => ("fail", Some(message.clone())),
        JobFault::Slow(duration) => ("slow", Some(GoDuration::from(*duration).to_string())),
        JobFault::Hang => ("hang", None),
        JobFault::Retry => ("retry", None),
    };
    (format!("{}-{what}", jobs.word()), said)
}

/// Returns the word of a fault of an upgrade, and what is written behind the colon.
pub(super) fn upgrade_text(fault: &UpgradeFault) -> (String, Option<String>) {
    let length = |duration: &Duration| Some(GoDuration::from(*duration).to_string());
    let (word, said) = match fault {
        UpgradeFault::Stall => ("upgrade-stall", None),
        UpgradeFault::Fail { message } => ("upgrade-fail", Some(message.clone())),
        UpgradeFault::Rejected { message } => ("upgrade-rejected", Some(message.clone())),
        UpgradeFault::Slow(duration) => ("upgrade-slow", length(duration)),
        UpgradeFault::NotUpgradeable { message } => ("not-upgradeable", Some(message.clone())),
        UpgradeFault::PoolsLag(duration) => ("pools-lag", length(duration)),
        UpgradeFault::Offline => ("offline-during-upgrade", None),
    };
    (word.to_owned(), said)
}

#[cfg(test)]
mod tests {
    use super::super::{Fault, FaultRule};

    /// Every word is read, and written as it is read.
    #[test]
    fn every_word_of_an_upgrade_is_read_and_written() {
        let mut words: Vec<String> = [
            "upgrade-stall",
            "upgrade-fail:broken",
            "upgrade-rejected:not signed",
            "upgrade-slow:30s",
            "not-upgradeable:ask first",
            "pools-lag:1m30s",
            "offline-during-upgrade,for=30s",
        ]
        .map(str::to_owned)
        .to_vec();
        for jobs in ["job", "pre", "post", "operators"] {
            for what in ["fail:no", "slow:5s", "hang", "retry,work=w-*,for=5s"] {
                words.push(format!("{jobs}-{what}"));
            }
        }
        for word in words {
            let text = format!("c1={word}");
            let rule: FaultRule = text.parse().unwrap_or_else(|error| panic!("{error}"));
            assert_eq!(rule.to_string(), text);
            assert!(
                matches!(rule.fault, Fault::Job(..) | Fault::Upgrade(_)),
                "{text}: {:?}",
                rule.fault
            );
        }
    }

    #[test]
    fn what_is_wrong_with_a_word_of_an_upgrade_is_said() {
        for (text, fault) in [
            (
                "c=upgrade-slow",
                "upgrade-slow needs a duration, for example upgrade-slow:30s",
            ),
            (
                "c=upgrade-stall:x",
                "upgrade-stall takes no message, but got \"x\"",
            ),
            ("c=pre-hang:x", "pre-hang takes no message, but got \"x\""),
            (
                "c=upgrade-fail,work=w",
                "the upgrade of a cluster is no work: it takes no work, manifest or from",
            ),
        ] {
            let seen = text.parse::<FaultRule>().expect_err(text).to_string();
            assert_eq!(seen, format!("\"{text}\" is not a fault: {fault}"));
        }
        let stray = "c=pre-flood".parse::<FaultRule>().expect_err("no such word");
        assert!(
            stray
                .to_string()
                .ends_with("job-, pre-, post- or operators- with fail, slow, hang or retry")
        );
    }
}
