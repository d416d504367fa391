//! Why a configuration cannot be used, in words that name the reference, its layer and the cure.
//!
//! Decides the reason of a condition. Never decides what happens to works: they stay as they are.

use super::effective::Desired;
use crate::model::{MOST_CONFIG_TYPES, off_limits};
use crate::plan::rollout::Member;
use crate::plan::version::{BadVersion, invalid};
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
    /// Objects of the type are never configurations.
    OffLimits,
    /// The object refers to more types than are looked at.
    TooManyTypes,
    /// The add-on does not support the type.
    Unsupported,
    /// The template is made for another add-on.
    OfAnotherAddon,
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
            Self::OffLimits => "ConfigurationTypeOffLimits",
            Self::TooManyTypes => "TooManyConfigurationTypes",
            Self::Unsupported => "ConfigurationUnsupported",
            Self::OfAnotherAddon => "TemplateOfAnotherAddon",
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
            ConfigFault::OffLimits => {
                let of = &self.config.of;
                let why = off_limits(&of.group, &of.resource).unwrap_or("nobody may read them");
                format!("is not read, because it is never a configuration: {why}")
            }
            ConfigFault::TooManyTypes => format!(
                "is not read: who refers to it refers to more than {MOST_CONFIG_TYPES} types of configurations"
            ),
            ConfigFault::Unsupported => "is of a type that the add-on does not support".to_owned(),
            ConfigFault::OfAnotherAddon => {
                "is made for another add-on: its spec.addonName is not the name of this one".to_owned()
            }
            ConfigFault::NoSuchVersion => "stands for a version that no AddOnTemplate offers".to_owned(),
        };
        Some(format!("{what} ({})", self.source))
    }
}

/// What is wrong with the configurations of an instance: all of it.
#[derive(Debug)]
pub(in crate::plan) struct Trouble {
    /// Reason of the condition `Configured`: that of the first fault that somebody must mend.
    pub reason: &'static str,
    /// Its message: every fault.
    pub message: String,
    /// Whether somebody must act; otherwise it only takes time.
    pub is_stuck: bool,
}

/// Most faults that are told one by one.
const TOLD: usize = 8;

/// Returns what is wrong with the configurations of an instance, if anything is.
pub(in crate::plan) fn trouble(member: &Member<'_>, rendering: &Rendering<'_>) -> Option<Trouble> {
    let refuses = member.effective.unsupported.is_some();
    let bad = invalid(member).filter(|_| !refuses);
    // The program that deploys the add-on may read what this one may not.
    let is_for_others = matches!(rendering, Rendering::NotOurs);
    let mut faults: Vec<(bool, ConfigFault, String)> = Vec::new();
    for desired in &member.effective.refs {
        let Some(fault) = desired.fault else { continue };
        let concerns = match fault {
            ConfigFault::Unsupported => refuses || member.is_assigned(desired),
            ConfigFault::Absent(_)
            | ConfigFault::NotWatchedYet
            | ConfigFault::Forbidden { .. }
            | ConfigFault::NotServed
            | ConfigFault::OffLimits
            | ConfigFault::TooManyTypes
            | ConfigFault::OfAnotherAddon
            | ConfigFault::NoSuchVersion => member.is_assigned(desired),
        };
        if !concerns {
            continue;
        }
        if fault == ConfigFault::NoSuchVersion && bad.is_some() {
            continue;
        }
        let sentence = format!("configuration {} {}", desired.config.told(), desired.why()?);
        faults.push((fault.is_stuck(is_for_others), fault, sentence));
    }
    let version = |bad: &BadVersion| (true, ConfigFault::NoSuchVersion, bad.to_string());
    faults.extend(bad.map(version));
    // What the state is named after comes first, then what somebody must mend.
    faults.sort_by_key(|(is_stuck, fault, _)| (!fault.rules(), !*is_stuck));
    let (is_stuck, first, _) = faults.first()?;
    let sentences: Vec<&str> = faults.iter().take(TOLD).map(|(_, _, one)| one.as_str()).collect();
    let mut message = sentences.join("; ");
    let others = faults.len().saturating_sub(TOLD);
    if others > 0 {
        message = format!("{message}; and {others} more");
    }
    Some(Trouble {
        reason: first.reason(),
        message,
        is_stuck: *is_stuck || faults.iter().any(|(is_stuck, _, _)| *is_stuck),
    })
}

impl ConfigFault {
    /// Whether nothing else counts while it is there.
    fn rules(self) -> bool {
        matches!(self, Self::NoSuchVersion | Self::Unsupported)
    }

    /// Whether somebody must act; otherwise it only takes time.
    fn is_stuck(self, is_for_others: bool) -> bool {
        match self {
            Self::Absent(_) | Self::Unsupported | Self::OfAnotherAddon | Self::NoSuchVersion => true,
            Self::Forbidden { .. } | Self::NotServed | Self::OffLimits | Self::TooManyTypes => !is_for_others,
            Self::NotWatchedYet => false,
        }
    }
}
