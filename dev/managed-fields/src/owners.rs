//! Owners of an object's fields, and what an apply or an update makes of object and owners.
//!
//! Decides conflicts and what an applier's omission removes. Knows no time and no names with a meaning. How an object
//! looks in another version is asked of the caller.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde_json::Value;

use crate::check::{Duplicates, check};
use crate::collect::field_set;
use crate::compare::{Comparison, compare};
use crate::element::equal;
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
    /// The object does not fit the type of another version, under which an owner has fields.
    Misfit {
        /// What was under way, in the words of Kubernetes; empty, or ends with a colon and a space.
        doing: String,
        /// Where it does not fit.
        faults: Faults,
    },
}

/// Who asks for what.
#[derive(Clone, Copy, Debug)]
pub struct FieldWrite<'a> {
    /// The owner who writes.
    pub owner: &'a str,
    /// The version in which it writes.
    pub version: &'a str,
    /// The types of the object.
    pub types: &'a Types,
    /// Whether to take what others own.
    pub force: bool,
    /// By version, paths that this write cannot change: hence the writer does not come to own them.
    pub ignored: &'a BTreeMap<String, Set>,
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
pub fn apply(
    live: &Value,
    intent: &Value,
    owners: &Owners,
    asked: &FieldWrite<'_>,
) -> Result<Applied, Refusal> {
    let of = asked
        .of()
        .ok_or_else(|| Refusal::Unknown(asked.version.to_owned()))?;
    check(intent, of, Duplicates::Refused).map_err(Refusal::Intent)?;
    check(live, of, Duplicates::Allowed).map_err(Refusal::Live)?;
    let mut owners = known(live, owners, asked)?;
    let merged = merge(live, intent, of);
    let owned = Owned {
        set: asked.changeable(field_set(intent, of), asked.version),
        applied: true,
        version: asked.version.to_owned(),
    };
    let last = owners.insert(asked.owner.to_owned(), owned);
    let object = prune(merged, &owners, last.as_ref(), asked)?;
    settle(live, &object, &mut owners, asked)?;
    Ok(Applied {
        object: (!equal(live, &object)).then_some(object),
        owners,
    })
}

/// Returns the owners after `asked.owner` has changed the object from `live` to `new` by any other write.
pub fn update(live: &Value, new: &Value, owners: &Owners, asked: &FieldWrite<'_>) -> Result<Owners, Refusal> {
    let of = asked
        .of()
        .ok_or_else(|| Refusal::Unknown(asked.version.to_owned()))?;
    check(new, of, Duplicates::Allowed).map_err(Refusal::Intent)?;
    check(live, of, Duplicates::Allowed).map_err(Refusal::Live)?;
    let mut owners = known(live, owners, asked)?;
    let forced = FieldWrite {
        force: true,
        ..*asked
    };
    let changed = settle(live, new, &mut owners, &forced)?;
    let own = owners.remove(asked.owner).unwrap_or_default();
    let set = own
        .set
        .difference(&changed.removed)
        .union(&changed.modified)
        .union(&changed.added);
    let set = asked.changeable(set, asked.version);
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

impl FieldWrite<'_> {
    fn of(&self) -> Option<&Type> {
        self.types.get(self.version)
    }

    /// Returns the paths of a set, read in a version, that this write can change.
    fn changeable(&self, set: Set, version: &str) -> Set {
        match self.ignored.get(version) {
            Some(ignored) => set.recursive_difference(ignored),
            None => set,
        }
    }

    fn changed(&self, changed: Comparison, version: &str) -> Comparison {
        Comparison {
            added: self.changeable(changed.added, version),
            modified: self.changeable(changed.modified, version),
            removed: self.changeable(changed.removed, version),
        }
    }

    /// Returns an object of version `from` as it looks in version `to`. What is seen in another version has to fit the type
    /// that it has there; `doing` says what for.
    fn view<'v>(
        &self,
        object: &'v Value,
        (from, to): (&str, &str),
        doing: impl Fn() -> String,
    ) -> Result<Cow<'v, Value>, Refusal> {
        if from == to {
            return Ok(Cow::Borrowed(object));
        }
        let seen = self.views.view(object, from, to).map_err(Refusal::Unseen)?;
        if let Some(of) = self.types.get(to) {
            check(&seen, of, Duplicates::Refused).map_err(|faults| Refusal::Misfit {
                doing: doing(),
                faults,
            })?;
        }
        Ok(seen)
    }
}

/// Owners according to the current types. Entries with a version that no longer exists are dropped.
fn known(live: &Value, owners: &Owners, asked: &FieldWrite<'_>) -> Result<Owners, Refusal> {
    let mut known = Owners::new();
    for (owner, owned) in owners {
        let Some(of) = asked.types.get(&owned.version) else {
            continue;
        };
        asked.view(live, (asked.version, &owned.version), String::new)?;
        let set = reconcile(&owned.set, of);
        known.insert(owner.clone(), Owned { set, ..owned.clone() });
    }
    Ok(known)
}

/// Takes what changed from the other owners, or says who minds.
fn settle(
    live: &Value,
    new: &Value,
    owners: &mut Owners,
    asked: &FieldWrite<'_>,
) -> Result<Comparison, Refusal> {
    let changed = asked.of().map(|of| compare(live, new, of)).unwrap_or_default();
    let changed = asked.changed(changed, asked.version);
    let mut by_version = BTreeMap::from([(asked.version, changed)]);
    let mut conflicts = Vec::new();
    for (owner, owned) in owners.iter_mut().filter(|(owner, _)| *owner != asked.owner) {
        let Some((version, of)) = asked.types.get_key_value(&owned.version) else {
            continue;
        };
        if !by_version.contains_key(version.as_str()) {
            // Both are asked for before either is missed.
            let view = |object, what| {
                let doing = || format!("failed to convert {what} object: ");
                asked.view(object, (asked.version, version), doing)
            };
            let (live, new) = (view(live, "old"), view(new, "new"));
            let changed = compare(&*live?, &*new?, of);
            by_version.insert(version, asked.changed(changed, version));
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

/// Removes what the applier owned and no longer sets, unless another owner has it. That is done in the version in which
/// the applier owned it.
fn prune(
    merged: Value,
    owners: &Owners,
    last: Option<&Owned>,
    asked: &FieldWrite<'_>,
) -> Result<Value, Refusal> {
    let Some(last) = last.filter(|last| !last.set.is_empty()) else {
        return Ok(merged);
    };
    let Some(of) = asked.types.get(&last.version) else {
        return Ok(merged);
    };
    let pruning = |what: &str| format!("failed to prune fields: {what}");
    let seen = asked.view(&merged, (asked.version, &last.version), || {
        pruning("failed to convert merged object to last applied version: ")
    })?;
    let lost = last.set.with_declared(of);
    let pruned = remove(&seen, &lost, of);
    let pruned = add_back_owned((&seen, pruned), owners, &last.version, asked)?;
    // What fell only because something above it did comes back: the applier never owned it.
    let in_merged = field_set(&seen, of).with_declared(of);
    let in_pruned = field_set(&pruned, of).with_declared(of);
    let fallen = in_merged.difference(&in_pruned).intersection(&lost);
    let left = remove(&seen, &fallen, of);
    Ok(asked
        .view(&left, (&last.version, asked.version), || pruning(""))?
        .into_owned())
}

/// Puts back what some owner still owns, first by the version under which the removal was made.
fn add_back_owned(
    (merged, pruned): (&Value, Value),
    owners: &Owners,
    first: &str,
    asked: &FieldWrite<'_>,
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
        let view = |object, what| {
            asked.view(object, (version, next), || {
                format!(
                    "failed to prune fields: failed add back owned items: failed to convert {what} object at version {next}: "
                )
            })
        };
        let (all, some) = (view(&merged, "merged"), view(&pruned, "pruned"));
        let (all, some) = (all?.into_owned(), some?.into_owned());
        let in_merged = field_set(&all, of).with_declared(of);
        let in_pruned = field_set(&some, of).with_declared(of);
        let kept = in_pruned.union(&owned.with_declared(of));
        pruned = remove(&all, &in_merged.difference(&kept), of);
        (merged, version) = (all, next);
    }
    let dangling = || {
        "failed to prune fields: failed add back dangling items: failed to convert pruned object to last applied version: "
            .to_owned()
    };
    Ok(asked.view(&pruned, (version, first), dangling)?.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::views::Alike;
    use crate::{List, Map, Relation, Scalar, Type};
    use serde_json::json;
    use std::sync::Arc;

    /// As kube-apiserver 1.36.2: what is left of the list is empty, no path of it is owned, and it goes; the newest release of
    /// upstream's library would leave the null. The applier of the null owns the field all the same.
    #[test]
    fn null_in_the_place_of_ones_own_items_takes_the_list_away() {
        let set = Type::List(Arc::new(List {
            relation: Relation::Set,
            item: Type::Scalar(Scalar::Any),
        }));
        let of = Type::Map(Arc::new(Map {
            fields: [("set".to_owned(), set)].into(),
            others: None,
            atomic: false,
        }));
        let (types, ignored) = (Types::from([("v1".to_owned(), of)]), BTreeMap::new());
        let asked = FieldWrite {
            owner: "A",
            version: "v1",
            types: &types,
            views: &Alike,
            force: false,
            ignored: &ignored,
        };
        let first =
            apply(&json!({}), &json!({"set": [1, "a"]}), &Owners::new(), &asked).expect("no conflict");
        let live = first.object.expect("it changes");
        assert_eq!(live, json!({"set": [1, "a"]}));
        let then = apply(&live, &json!({"set": null}), &first.owners, &asked).expect("no conflict");
        assert_eq!(then.object, Some(json!({})));
        assert_eq!(then.owners["A"].set.to_wire(), json!({"f:set": {}}));
    }
}
