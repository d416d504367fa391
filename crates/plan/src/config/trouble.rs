//! What is wrong with the configurations of an instance, in words that name the reference, its layer and the cure.
//!
//! Decides what comes first, and whether a user must act. Never decides what happens to works.

use super::fault::ConfigFault;
use crate::rollout::Member;
use crate::version::{BadVersion, invalid};
use crate::work::Rendering;
use api::reason::Reason;

/// What is wrong with the configurations of an instance: all of it.
#[derive(Debug)]
pub(crate) struct Trouble {
    /// Reason of the condition `Configured`: that of the first fault that a user must fix.
    pub reason: Reason,
    /// Its message: every fault.
    pub message: String,
    /// Whether a user must act; otherwise it only takes time.
    pub is_stuck: bool,
}

/// Maximum number of faults that are listed one by one.
const TOLD: usize = 8;

/// Returns what is wrong with the configurations of an instance, if anything is.
pub(crate) fn trouble(member: &Member<'_>, rendering: &Rendering<'_>) -> Option<Trouble> {
    let refuses = member.effective.unsupported.is_some();
    let bad = invalid(member).filter(|_| !refuses);
    // The program that deploys the add-on may read what this one may not.
    let is_for_others = matches!(rendering, Rendering::NotOurs);
    let mut faults: Vec<(bool, ConfigFault, String)> = Vec::new();
    for desired in &member.effective.refs {
        let Some(fault) = desired.fault else { continue };
        let concerns = match fault {
            ConfigFault::Unsupported => refuses || member.is_assigned(desired),
            // An instance runs with what it has; one that would have to go back to this content says so in a notice.
            ConfigFault::Superseded => false,
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
    // What the state is named after comes first, then what a user must fix.
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
