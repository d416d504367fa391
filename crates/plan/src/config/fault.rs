//! Why a configuration cannot be used.
//!
//! Decides the reason of a condition. Never decides what happens to works: they stay as they are.

use api::reason::Reason;
use store::Absence;

/// Why a reference has no hash, or one that cannot be verified.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ConfigFault {
    /// The object does not exist.
    Absent(Absence),
    /// It has not been read yet: that only takes time.
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
    /// The template is for another add-on, and requests access to the hub.
    OfAnotherAddon,
    /// What was known to be good has been edited since.
    Superseded,
    /// No template offers the version that is asked for; the reference carries the version as its name.
    NoSuchVersion,
}

impl ConfigFault {
    /// Returns the reason of a condition.
    pub(crate) const fn reason(self) -> Reason {
        match self {
            Self::Absent(_) => Reason::ConfigurationNotFound,
            Self::NotWatchedYet => Reason::ConfigurationHashUnknown,
            Self::Forbidden { .. } => Reason::ConfigurationForbidden,
            Self::NotServed => Reason::ConfigurationKindNotServed,
            Self::OffLimits => Reason::ConfigurationTypeOffLimits,
            Self::TooManyTypes => Reason::TooManyConfigurationTypes,
            Self::Unsupported => Reason::ConfigurationUnsupported,
            Self::OfAnotherAddon => Reason::TemplateOfAnotherAddon,
            Self::Superseded => Reason::ContentSuperseded,
            Self::NoSuchVersion => Reason::InvalidVersion,
        }
    }
}

impl ConfigFault {
    /// Whether nothing else counts while it is there.
    pub(super) fn rules(self) -> bool {
        matches!(self, Self::NoSuchVersion | Self::Unsupported)
    }

    /// Whether a user must act; otherwise it only takes time.
    pub(super) fn is_stuck(self, is_for_others: bool) -> bool {
        match self {
            Self::Absent(_)
            | Self::Unsupported
            | Self::OfAnotherAddon
            | Self::Superseded
            | Self::NoSuchVersion => true,
            Self::Forbidden { .. } | Self::NotServed | Self::OffLimits | Self::TooManyTypes => !is_for_others,
            Self::NotWatchedYet => false,
        }
    }
}
