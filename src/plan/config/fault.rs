//! Why a configuration cannot be used, in words that name the reference, its layer and the cure.
//!
//! Decides the reason of a condition. Never decides what happens to works: they stay as they are.

use super::effective::Desired;
use crate::plan::rollout::Member;
use crate::plan::version::invalid;
use crate::plan::work::Rendering;
use crate::snapshot::Absence;

/// Why a reference has no hash, or one that nobody can verify.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::plan) enum ConfigFault {
    /// The object does not exist.
    Absent(Absence),
    /// Nobody has looked yet: that only takes time.
    NotWatchedYet,
    /// The hub does not let this program read the type.
    Forbidden {
        /// The verb that was refused.
        verb: &'static str,
    },
    /// The hub serves no such type.
    NotServed,
    /// The add-on does not support the type.
    Unsupported,
    /// No template offers the version that is asked for; the reference carries the version as its name.
    NoSuchVersion,
}

impl ConfigFault {
    /// Returns the reason of a condition.
    pub(in crate::plan) const fn reason(self) -> &'static str {
        match self {
            Self::Absent(_) => "ConfigurationNotFound",
            Self::NotWatchedYet => "ConfigurationHashUnknown",
            Self::Forbidden { .. } => "ConfigurationForbidden",
            Self::NotServed => "ConfigurationKindNotServed",
            Self::Unsupported => "ConfigurationUnsupported",
            Self::NoSuchVersion => "InvalidVersion",
        }
    }
}

impl Desired {
    /// Returns what is wrong, to follow the name of the reference.
    pub(in crate::plan) fn why(&self) -> Option<String> {
        let what = match self.fault? {
            ConfigFault::Absent(Absence::Missing) => "does not exist".to_owned(),
            ConfigFault::Absent(Absence::NeedsNamespace) => {
                "does not exist: the reference names no namespace".to_owned()
            }
            ConfigFault::Absent(Absence::HasNoNamespace) => {
                "does not exist: the reference names a namespace, but its kind lives in none".to_owned()
            }
            ConfigFault::NotWatchedYet => "has not been read yet, so its hash is unknown".to_owned(),
            ConfigFault::Forbidden { verb } => format!(
                "cannot be read: the hub refuses to {verb} {}; the controller needs get, list and watch",
                self.config.of
            ),
            ConfigFault::NotServed => "is of a kind that the hub does not serve".to_owned(),
            ConfigFault::Unsupported => "is of a type that the add-on does not support".to_owned(),
            ConfigFault::NoSuchVersion => "stands for a version that no AddOnTemplate offers".to_owned(),
        };
        Some(format!("{what} ({})", self.source))
    }
}

/// What is wrong with the configurations of an instance.
#[derive(Debug)]
pub(in crate::plan) struct Trouble {
    /// Reason of the condition `Configured`.
    pub reason: &'static str,
    /// Its message.
    pub message: String,
    /// Whether somebody must act; otherwise it only takes time.
    pub is_stuck: bool,
}

/// Returns what is wrong with the configurations of an instance, if anything is.
pub(in crate::plan) fn trouble(member: &Member<'_>, rendering: &Rendering<'_>) -> Option<Trouble> {
    if let Some(bad) = invalid(member).filter(|_| member.effective.unsupported.is_none()) {
        return Some(Trouble {
            reason: ConfigFault::NoSuchVersion.reason(),
            message: bad.to_string(),
            is_stuck: true,
        });
    }
    let unsupported = |desired: &&Desired| desired.fault == Some(ConfigFault::Unsupported);
    let desired = match member.effective.refs.iter().find(unsupported) {
        Some(desired) if member.effective.unsupported.is_some() => desired,
        Some(_) | None => member.missing()?,
    };
    let fault = desired.fault?;
    // The program that deploys the add-on may read what this one may not.
    let is_for_others = matches!(rendering, Rendering::NotOurs);
    let is_stuck = match fault {
        ConfigFault::Absent(_) | ConfigFault::Unsupported | ConfigFault::NoSuchVersion => true,
        ConfigFault::Forbidden { .. } | ConfigFault::NotServed => !is_for_others,
        ConfigFault::NotWatchedYet => false,
    };
    Some(Trouble {
        reason: fault.reason(),
        message: format!("configuration {} {}", desired.config, desired.why()?),
        is_stuck,
    })
}
