//! Owners of an object's fields, and what an apply or an update makes of object and owners.
//!
//! Decides conflicts and what an applier's omission removes. Knows no time and no names with a meaning. How an object
//! looks in another version is asked of the caller.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::{Duplicates, check};
use crate::collect::field_set;
use crate::compare::{Comparison, compare};
use crate::fault::Faults;
use crate::merge::merge;
use crate::reconcile::reconcile;
use crate::remove::remove;
use crate::set::Set;
use crate::types::Type;
use crate::views::{Unseen, Views};

/// What one owner owns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Owned {
    /// Its paths.
    pub set: Set,
    /// Whether it owns them by applying.
    pub applied: bool,
    /// The version under whose type the paths read.
    pub version: String,
}

/// All owners of an object, by whatever tells them apart.
pub type Owners = BTreeMap<String, Owned>;

/// Types of an object by version.
pub type Types = BTreeMap<String, Type>;

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
    /// There is no type of that version.
    Unknown(String),
    /// The intent does not fit its type.
    Intent(Faults),
    /// The object does not fit its type.
    Live(Faults),
    /// Other owners own what would change.
    Conflicts(Vec<Conflict>),
    /// It is not known how an object looks in a version.
    Unseen(Unseen),
}

impl From<Unseen> for Refusal {
    fn from(unseen: Unseen) -> Self {
        Self::Unseen(unseen)
    }
}

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The owner who writes.
    pub owner: &'a str,
    /// The version in which it writes.
    pub version: &'a str,
    /// The types of the object.
    pub types: &'a Types,
    /// Whether to take what others own.
    pub force: bool,
    /// Paths that this write cannot change, and hence nobody owns through it.
    pub ignored: &'a Set,
    /// How objects look in other versions.
    pub views: &'a dyn Views,
}

/// What an apply makes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The object; absent if it stays as it is.
    pub object: Option<Value>,
    /// The owners.
    pub owners: Owners,
}

/// Applies an intent to an object.
pub fn apply(live: &Value, intent: &Value, owners: &Owners, asked: &Asked<'_>) -> Result<Applied, Refusal> {
    let of = asked
        .of()
        .ok_or_else(|| Refusal::Unknown(asked.version.to_owned()))?;
    check(intent, of, Duplicates::Refused).map_err(Refusal::Intent)?;
    check(live, of, Duplicates::Allowed).map_err(Refusal::Live)?;
    let mut owners = known(owners, asked.types);
    let merged = merge(live, intent, of);
    let owned = Owned {
        set: field_set(intent, of).recursive_difference(asked.ignored),
        applied: true,
        version: asked.version.to_owned(),
    };
    let last = owners.insert(asked.owner.to_owned(), owned);
    let object = prune(merged, &owners, last.as_ref(), asked)?;
    let changed = settle(live, &object, &mut owners, asked)?;
    Ok(Applied {
        object: (!changed.is_same()).then_some(object),
        owners,
    })
}

/// Returns the owners after `asked.owner` has changed the object from `live` to `new` by any other write.
pub fn update(live: &Value, new: &Value, owners: &Owners, asked: &Asked<'_>) -> Result<Owners, Refusal> {
    let of = asked
        .of()
        .ok_or_else(|| Refusal::Unknown(asked.version.to_owned()))?;
    check(new, of, Duplicates::Allowed).map_err(Refusal::Intent)?;
    check(live, of, Duplicates::Allowed).map_err(Refusal::Live)?;
    let mut owners = known(owners, asked.types);
    let forced = Asked {
        force: true,
        ..*asked
    };
    let changed = settle(live, new, &mut owners, &forced)?;
    let own = owners.remove(asked.owner).unwrap_or_default();
    let set = own
        .set
        .difference(&changed.removed)
        .union(&changed.modified)
        .union(&changed.added)
        .recursive_difference(asked.ignored);
    if !set.is_empty() {
        let owned = Owned {
            set,
            applied: false,
            version: asked.version.to_owned(),
        };
        owners.insert(asked.owner.to_owned(), owned);
    }
    Ok(owners)
}

impl Asked<'_> {
    fn of(&self) -> Option<&Type> {
        self.types.get(self.version)
    }
}

/// Owners as today's types read them. What reads under a version that is gone is forgotten.
fn known(owners: &Owners, types: &Types) -> Owners {
    let known = owners.iter().filter_map(|(owner, owned)| {
        let set = reconcile(&owned.set, types.get(&owned.version)?);
        Some((owner.clone(), Owned { set, ..owned.clone() }))
    });
    known.collect()
}

/// Takes what changed from the other owners, or says who minds.
fn settle(live: &Value, new: &Value, owners: &mut Owners, asked: &Asked<'_>) -> Result<Comparison, Refusal> {
    let changed = asked.of().map(|of| compare(live, new, of)).unwrap_or_default();
    let changed = Comparison {
        added: changed.added.recursive_difference(asked.ignored),
        modified: changed.modified.recursive_difference(asked.ignored),
        removed: changed.removed.recursive_difference(asked.ignored),
    };
    let mut by_version = BTreeMap::from([(asked.version, changed)]);
    let mut conflicts = Vec::new();
    for (owner, owned) in owners.iter_mut().filter(|(owner, _)| *owner != asked.owner) {
        let Some((version, of)) = asked.types.get_key_value(&owned.version) else {
            continue;
        };
        if !by_version.contains_key(version.as_str()) {
            // Both are asked for before either is missed.
            let view = |object| asked.views.view(object, asked.version, version);
            let (live, new) = (view(live), view(new));
            let changed = compare(&*live?, &*new?, of);
            by_version.insert(version, changed);
        }
        let Some(changed) = by_version.get(version.as_str()) else {
            continue;
        };
        let disputed = owned.set.intersection(&changed.modified.union(&changed.added));
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
    Ok(by_version.remove(asked.version).unwrap_or_default())
}

/// Removes what the applier owned and no longer sets, unless somebody else owns it. That is done in the version in which
/// the applier owned it.
fn prune(merged: Value, owners: &Owners, last: Option<&Owned>, asked: &Asked<'_>) -> Result<Value, Refusal> {
    let Some(last) = last.filter(|last| !last.set.is_empty()) else {
        return Ok(merged);
    };
    let Some(of) = asked.types.get(&last.version) else {
        return Ok(merged);
    };
    let seen = asked.views.view(&merged, asked.version, &last.version)?;
    let lost = last.set.with_declared(of);
    let pruned = remove(&seen, &lost, of);
    let pruned = add_back_owned((&seen, pruned), owners, &last.version, asked)?;
    // What fell only because something above it did comes back: the applier never owned it.
    let in_merged = field_set(&seen, of).with_declared(of);
    let in_pruned = field_set(&pruned, of).with_declared(of);
    let fallen = in_merged.difference(&in_pruned).intersection(&lost);
    let left = remove(&seen, &fallen, of);
    Ok(asked
        .views
        .view(&left, &last.version, asked.version)?
        .into_owned())
}

/// Puts back what some owner still owns, first by the version under which the removal was made.
fn add_back_owned(
    (merged, pruned): (&Value, Value),
    owners: &Owners,
    first: &str,
    asked: &Asked<'_>,
) -> Result<Value, Refusal> {
    let mut owned: BTreeMap<&str, Set> = BTreeMap::new();
    for owner in owners.values() {
        let all = owned.entry(owner.version.as_str()).or_default();
        *all = all.union(&owner.set);
    }
    let order = owned.remove(first).map(|set| (first, set)).into_iter();
    // Both go from version to version together.
    let (mut merged, mut pruned, mut version) = (merged.clone(), pruned, first);
    for (next, owned) in order.chain(owned) {
        let Some(of) = asked.types.get(next) else { continue };
        let view = |object| asked.views.view(object, version, next);
        let (all, some) = (view(&merged), view(&pruned));
        let (all, some) = (all?.into_owned(), some?.into_owned());
        let in_merged = field_set(&all, of).with_declared(of);
        let in_pruned = field_set(&some, of).with_declared(of);
        let kept = in_pruned.union(&owned.with_declared(of));
        pruned = remove(&all, &in_merged.difference(&kept), of);
        (merged, version) = (all, next);
    }
    Ok(asked.views.view(&pruned, version, first)?.into_owned())
}
