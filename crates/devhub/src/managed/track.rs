//! Who owns what after a write that is no apply.
//!
//! Decides when nothing is tracked: an object that nobody ever applied and that has no owners stays without.

use fields::{Asked, Owned, update};
use serde_json::{Value, json};

use super::entries::{Managers, Record, Writer};
use super::scope::{Scope, stripped};
use super::{lists, scope};

/// How many managers that only update are told apart.
const MOST_UPDATERS: usize = 10;
/// Who owns what the oldest of them owned.
const OLDEST: &str = "ancient-changes";
/// The write under way, until it is known whether it changed anything.
const SELF: &str = "\u{0}self";

/// Writes the owners into `new`, which `writer` makes of `old`; `old` is absent for a new object.
pub(crate) fn track(scope: &Scope, old: Option<&Value>, new: &mut Value, writer: &Writer, now: &str) {
    let given = lists::take(new);
    let stored = old.map_or(&Value::Null, lists::raw);
    let managers = lists::before(&given, stored);
    if old.is_some() && managers.is_empty() {
        lists::put(new, &managers);
        return;
    }
    let mut live = old.cloned().unwrap_or_else(|| json!({}));
    lists::take(&mut live);
    match updated(scope, &live, new, managers.clone(), (writer, now)) {
        Some(managers) => lists::put(new, &managers),
        // What does not fit its type has no owner; the checks say so elsewhere.
        None => lists::put(new, &managers),
    }
}

/// Returns the managers after a write.
pub(super) fn updated(
    scope: &Scope,
    live: &Value,
    new: &Value,
    mut managers: Managers,
    (writer, now): (&Writer, &str),
) -> Option<Managers> {
    let asked = Asked {
        owner: SELF,
        force: true,
        ignored: &scope.ignored,
    };
    let mut owners = update(live, new, &scope.of, &managers.owners, &asked).ok()?;
    let own = owners.remove(SELF).map(|own| scope::stripped(&own.set));
    managers.owners = owners;
    if let Some(own) = own.filter(|own| !own.is_empty()) {
        let identity = writer.identity();
        let before = managers.owners.remove(&identity).unwrap_or_default();
        let owned = Owned {
            set: own.union(&before.set),
            applied: writer.applies,
        };
        managers.owners.insert(identity, owned);
        managers.stamp(writer, now);
    }
    strip(&mut managers);
    cap(&mut managers);
    Some(managers)
}

/// Takes from all managers what nobody owns.
pub(super) fn strip(managers: &mut Managers) {
    for owned in managers.owners.values_mut() {
        owned.set = stripped(&owned.set);
    }
    managers.owners.retain(|_, owned| !owned.set.is_empty());
    let owners = &managers.owners;
    managers
        .records
        .retain(|identity, _| owners.contains_key(identity));
}

/// Puts the oldest updaters together until there are few enough.
fn cap(managers: &mut Managers) {
    let mut updaters: Vec<(String, Record)> = managers
        .records
        .iter()
        .filter(|(_, record)| !record.writer.applies)
        .map(|(identity, record)| (identity.clone(), record.clone()))
        .collect();
    let mut count = updaters.len();
    if count <= MOST_UPDATERS {
        return;
    }
    updaters.sort_by(|(_, one), (_, two)| one.time.cmp(&two.time).then_with(|| one.writer.cmp(&two.writer)));
    let mut first: std::collections::BTreeMap<String, String> = std::collections::BTreeMap::new();
    for (identity, record) in updaters {
        if count <= MOST_UPDATERS {
            return;
        }
        let version = record.writer.version.clone();
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
        let key = bucket.identity();
        if !managers.owners.contains_key(&key)
            && let Some(owned) = managers.owners.remove(earlier)
        {
            managers.records.remove(earlier);
            managers.owners.insert(key.clone(), owned);
        }
        let Some(merged) = managers.owners.remove(&identity) else {
            continue;
        };
        managers.records.remove(&identity);
        let owned = managers.owners.entry(key.clone()).or_default();
        owned.set = owned.set.union(&merged.set);
        let time = record.time;
        managers.records.insert(key, Record { writer: bucket, time });
        count -= 1;
    }
}
