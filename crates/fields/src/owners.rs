//! Owners of an object's fields, and what an apply or an update makes of object and owners.
//!
//! Decides conflicts and what an applier's omission removes. Knows no time, no names with a meaning, and one version of a
//! type at a time: sets of other versions have to be translated before.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::collect::field_set;
use crate::compare::{Comparison, compare};
use crate::fault::Fault;
use crate::merge::merge;
use crate::remove::remove;
use crate::set::Set;
use crate::types::Type;

/// What one owner owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Its paths.
    pub set: Set,
    /// Whether it owns them by applying.
    pub applied: bool,
}

/// All owners of an object, by whatever tells them apart.
pub type Owners = BTreeMap<String, Owned>;

/// Another owner has another opinion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conflict {
    /// The other owner.
    pub owner: String,
    /// The paths.
    pub set: Set,
}

/// Why an apply does not happen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The object or the intent does not fit its type.
    Fault(Fault),
    /// Other owners own what would change.
    Conflicts(Vec<Conflict>),
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// Returns the object after `owner` has applied its intent, with the owners; paths of `ignored` are not owned.
pub fn apply(
    live: &Value,
    intent: &Value,
    of: &Type,
    owners: &Owners,
    asked: &Asked<'_>,
) -> Result<(Value, Owners), Refusal> {
    let mut owners = owners.clone();
    let merged = merge(live, intent, of)?;
    let last = owners.get(asked.owner).cloned();
    let set = field_set(intent, of)?.recursive_difference(asked.ignored);
    owners.insert(asked.owner.to_owned(), Owned { set, applied: true });
    let pruned = prune(merged, of, &owners, last)?;
    let _changed = settle(live, &pruned, of, &mut owners, asked)?;
    Ok((pruned, owners))
}

/// Returns the owners after `owner` has changed the object from `live` to `new` by any other write.
pub fn update(
    live: &Value,
    new: &Value,
    of: &Type,
    owners: &Owners,
    asked: &Asked<'_>,
) -> Result<Owners, Fault> {
    let mut owners = owners.clone();
    let forced = Asked {
        force: true,
        ..*asked
    };
    let changed = match settle(live, new, of, &mut owners, &forced) {
        Ok(changed) => changed,
        Err(Refusal::Fault(fault)) => return Err(fault),
        // Nobody can refuse what is forced.
        Err(Refusal::Conflicts(_)) => Comparison::default(),
    };
    let own = owners.remove(asked.owner).unwrap_or_default();
    let set = own
        .set
        .difference(&changed.removed)
        .union(&changed.modified)
        .union(&changed.added)
        .recursive_difference(asked.ignored);
    if !set.is_empty() {
        let applied = false;
        owners.insert(asked.owner.to_owned(), Owned { set, applied });
    }
    Ok(owners)
}

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The owner who writes.
    pub owner: &'a str,
    /// Whether to take what others own.
    pub force: bool,
    /// Paths that this write cannot change, and hence nobody owns through it.
    pub ignored: &'a Set,
}

/// Takes what changed from the other owners, or says who minds.
fn settle(
    live: &Value,
    new: &Value,
    of: &Type,
    owners: &mut Owners,
    asked: &Asked<'_>,
) -> Result<Comparison, Refusal> {
    let mut changed = compare(live, new, of)?;
    for set in [&mut changed.added, &mut changed.modified, &mut changed.removed] {
        *set = set.recursive_difference(asked.ignored);
    }
    let set_anew = changed.modified.union(&changed.added);
    let mut conflicts = Vec::new();
    for (owner, owned) in owners.iter_mut().filter(|(owner, _)| *owner != asked.owner) {
        let disputed = owned.set.intersection(&set_anew);
        if !disputed.is_empty() {
            owned.set = owned.set.difference(&disputed);
            conflicts.push(Conflict {
                owner: owner.clone(),
                set: disputed,
            });
        }
        owned.set = owned.set.difference(&changed.removed);
    }
    if !asked.force && !conflicts.is_empty() {
        return Err(Refusal::Conflicts(conflicts));
    }
    owners.retain(|_, owned| !owned.set.is_empty());
    Ok(changed)
}

/// Removes what the applier owned and no longer sets, unless somebody else owns it.
fn prune(merged: Value, of: &Type, owners: &Owners, last: Option<Owned>) -> Result<Value, Fault> {
    let Some(last) = last.filter(|last| !last.set.is_empty()) else {
        return Ok(merged);
    };
    let last = last.set.with_declared(of);
    let pruned = remove(&merged, &last, of);
    let owned = owners
        .values()
        .fold(Set::default(), |all, owner| all.union(&owner.set))
        .with_declared(of);
    let in_merged = field_set(&merged, of)?.with_declared(of);
    let in_pruned = field_set(&pruned, of)?.with_declared(of);
    let pruned = remove(&merged, &in_merged.difference(&in_pruned.union(&owned)), of);
    // What fell only because something above it did comes back: the applier never owned it.
    let in_pruned = field_set(&pruned, of)?.with_declared(of);
    let fallen = in_merged.difference(&in_pruned).intersection(&last);
    Ok(remove(&merged, &fallen, of))
}
