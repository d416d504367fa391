//! The condition that says whose an instance is: another field manager applies it, so that no install strategy takes it away.
//!
//! Decides when there is something to say: where the mark of a strategy stands beside another owner, and where nothing selects
//! the cluster. Never decides who counts as an owner (`store::decode::claims`) and who goes (`install::fate`).

use std::collections::BTreeSet;

use super::Wish;
use crate::types::{Wait, WaitOn};
use api::reason::Reason;
use store::{Instance, Name, Status, View};

/// Condition of an instance that another field manager applies.
pub(crate) const ADOPTED: &str = "Adopted";

/// Returns the condition, if there is anything to say. `kept` are the clusters that nothing selects.
pub(crate) fn adopted(view: &View<'_>, instance: &Instance, kept: &BTreeSet<Name>) -> Option<Wish<'static>> {
    let manager = &instance.claims.adopter;
    if kept.contains(&instance.cluster) {
        let told = Wait::addon(WaitOn::Adopted(manager.clone())).to_string();
        return Some(Wish::new(ADOPTED, Status::True, Reason::NotSelected, told));
    }
    if !instance.claims.is_adopted() || instance.installed_by.is_empty() {
        return None;
    }
    let message = format!(
        "{manager} applies the ManagedClusterAddOn and owns its fields, so the install strategy of {} never removes it",
        view.addon.name
    );
    Some(Wish::new(ADOPTED, Status::True, Reason::AppliedByOthers, message))
}
