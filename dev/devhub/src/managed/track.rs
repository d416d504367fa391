//! Who owns what after a write that is no apply.
//!
//! Decides when nothing is tracked: an object that was never applied and that has no owners stays without.

use std::collections::BTreeMap;

use managed_fields::{FieldWrite, Owned, Refusal, update};
use serde_json::Value;

use super::entries::{Managers, Writer};
use super::lists;
use super::scope::{Scope, stripped};

/// Maximum number of separate entries for managers that only update.
const MOST_UPDATERS: usize = 10;
/// The manager that takes over the fields of the oldest of them.
const OLDEST: &str = "ancient-changes";
/// The write under way, until it is known whether it changed anything.
const SELF: &str = "current-operation";

/// Writes the owners into `new`, which `writer` makes of `old`; `old` is absent for a new object.
pub(crate) fn track(scope: &Scope, old: Option<&Value>, new: &mut Value, writer: &Writer, now: &str) {
    let given = lists::take(new);
    let stored = old.map_or(&Value::Null, lists::raw);
    // A write through a subresource does not rewrite the list.
    let given = if writer.subresource.is_empty() {
        &given
    } else {
        &Value::Null
    };
    let managers = lists::before(given, stored);
    if old.is_some() && managers.is_empty() {
        return;
    }
    let mut live = old.unwrap_or(&scope.zero).clone();
    lists::take(&mut live);
    match updated(scope, (&live, new), &managers, writer, now) {
        Ok(managers) => lists::put(new, &managers),
        // The caller has the webhook asked what is not known, and comes again.
        Err(Refusal::Unseen(_)) => lists::put(new, &managers),
        // What does not fit its type has no owners any more.
        Err(
            Refusal::Unknown(_)
            | Refusal::Intent(_)
            | Refusal::Live(_)
            | Refusal::Conflicts(_)
            | Refusal::Misfit { .. },
        ) => {}
    }
}

/// Returns the managers after a write.
pub(super) fn updated(
    scope: &Scope,
    (live, new): (&Value, &Value),
    managers: &Managers,
    writer: &Writer,
    now: &str,
) -> Result<Managers, Refusal> {
    let asked = FieldWrite {
        owner: SELF,
        version: &scope.version,
        types: &scope.types,
        force: true,
        ignored: &scope.ignored,
        views: &*scope.version_views,
    };
    let mut owners = update(live, new, &managers.owners, &asked)?;
    let own = owners.remove(SELF).map(|own| stripped(&own.set));
    let mut managers = Managers {
        owners,
        records: managers.records.clone(),
    };
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        let owned = managers.owners.entry(writer.identity()).or_default();
        *owned = Owned {
            set: own.union(&owned.set),
            applied: writer.applies,
            version: scope.version.clone(),
        };
        managers.note(writer, Some(now));
    }
    cap(&mut managers);
    Ok(managers)
}

/// Puts the oldest updaters together until there are few enough.
fn cap(managers: &mut Managers) {
    let time = |identity: &String| {
        managers
            .records
            .get(identity)
            .and_then(|record| record.time.clone())
    };
    let mut updaters: Vec<(Option<String>, String)> = managers
        .owners
        .iter()
        .filter(|(_, owned)| !owned.applied)
        .map(|(identity, _)| (time(identity), identity.clone()))
        .collect();
    let mut count = updaters.len();
    updaters.sort();
    let mut first: BTreeMap<String, String> = BTreeMap::new();
    for (time, identity) in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let Some(version) = managers.owners.get(&identity).map(|owned| owned.version.clone()) else {
            continue;
        };
        let Some(earlier) = first.get(&version) else {
            first.insert(version, identity);
            continue;
        };
        let bucket = Writer {
            manager: OLDEST.to_owned(),
            applies: false,
            version,
            subresource: String::new(),
        };
        pour(managers, earlier, &identity, &bucket);
        managers.note(&bucket, time.as_deref());
        count = count.saturating_sub(1);
    }
}

/// Puts what two updaters own into a bucket, which may be the earlier one itself.
fn pour(managers: &mut Managers, earlier: &str, later: &str, bucket: &Writer) {
    let key = bucket.identity();
    if !managers.owners.contains_key(&key)
        && let Some(owned) = managers.owners.remove(earlier)
    {
        managers.owners.insert(key.clone(), owned);
    }
    if let Some(merged) = managers.owners.remove(later)
        && let Some(owned) = managers.owners.get_mut(&key)
    {
        owned.set = owned.set.union(&merged.set);
    }
}
