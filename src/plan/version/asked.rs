//! The version that an instance asks for: its own, or the one that its placement gives at the moment.
//!
//! Decides when `spec.desiredVersion` is given and when it is chosen. It is given while it equals the record of what a
//! placement gave (`tidegate.io/given-version`; both absent are equal too): then it follows the placement's template.
//! Everything else was chosen by a user and is never written. Decision 0004 tells why.

use serde_json::Value;

use crate::plan::install::Selected;
use crate::snapshot::{Instance, Name, PlacementUse};

/// Returns the version that a placement gives, "" when it gives none.
pub(in crate::plan) fn given(by: &PlacementUse) -> Name {
    by.creation
        .desired_version
        .clone()
        .unwrap_or_else(|| Name::from(""))
}

/// Returns the version that an instance asks for once this plan is applied, "" when it asks for none.
pub(in crate::plan) fn asked(home: Option<&Selected<'_>>, instance: &Instance) -> Name {
    match home {
        Some(selected) if is_given(instance) => given(selected.by),
        Some(_) | None => instance.desired_version.clone(),
    }
}

/// What a user made by hand belongs to the user, whatever stands in it.
fn is_given(instance: &Instance) -> bool {
    !instance.installed_by.is_empty() && instance.desired_version == instance.given_version
}

/// Returns the version to write, null for none, so that an instance follows its placement; `None` when it does, or must
/// not.
pub(in crate::plan) fn follow(home: Option<&Selected<'_>>, instance: &Instance) -> Option<Value> {
    let given = home.filter(|_| is_given(instance)).map(|selected| given(selected.by))?;
    if given == instance.desired_version {
        return None;
    }
    Some(if given.is_empty() {
        Value::Null
    } else {
        Value::from(&*given)
    })
}
