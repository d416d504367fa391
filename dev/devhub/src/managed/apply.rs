//! Server-side apply: an intent laid over an object.
//!
//! Decides who owns what afterwards and whether others mind. The object that comes out still has to be completed and checked.

use managed_fields::{
    Applied, Conflict, Duplicates, FieldWrite, Refusal, Set, apply, check, compare, field_set,
};
use serde_json::{Value, json};

use super::conflict::conflicted;
use super::entries::{Managers, Writer};
use super::lists;
use super::scope::{Scope, described, stripped};
use super::track::updated;
use crate::error::ApiError;

/// Who owns the fields of an object that was never applied.
const BEFORE_FIRST: &str = "before-first-apply";
/// The manager that takes over from client-side apply.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Bytes that all annotations of an object may have together.
const MAX_ANNOTATIONS: usize = 256 * 1024;

/// What a field manager applies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent<'a> {
    /// The fields.
    pub(crate) object: &'a Value,
    /// Who.
    pub(crate) writer: &'a Writer,
    /// Whether to take what others own.
    pub(crate) force: bool,
}

/// Returns the object after an apply; `live` is absent when the apply creates it.
pub(crate) fn applied(
    scope: &Scope,
    live: Option<&Value>,
    intent: &Intent<'_>,
    now: &str,
) -> Result<Value, ApiError> {
    check_head(scope, intent)?;
    let mut base = live.unwrap_or(&scope.zero).clone();
    let stored = lists::take(&mut base);
    let mut managers = Managers::decode(&stored).unwrap_or_default();
    if managers.is_empty() && live.is_some() {
        let before = Writer {
            manager: BEFORE_FIRST.to_owned(),
            applies: false,
            ..intent.writer.clone()
        };
        managers = updated(scope, (&scope.zero, &base), &managers, &before, now)
            .map_err(|refusal| not_begun(scope, (&scope.zero, &base), &refusal))?;
    }
    let Applied { object, owners } = laid_over(scope, &base, intent, &managers)?;
    managers.owners = owners;
    let identity = intent.writer.identity();
    if object.is_some() || !managers.records.contains_key(&identity) {
        // Who applies what is there already comes without a time.
        managers.note(intent.writer, object.is_some().then_some(now));
    }
    if let Some(own) = managers.owners.get_mut(&identity) {
        own.set = stripped(&own.set);
    }
    managers.owners.retain(|_, owned| !owned.set.is_empty());
    let mut object = object.unwrap_or(base);
    remember(&mut object, intent);
    lists::put(&mut object, &managers);
    Ok(object)
}

/// An intent is written for the kind and version to which it is applied, and leaves the owners to the server.
fn check_head(scope: &Scope, intent: &Intent<'_>) -> Result<(), ApiError> {
    let text = |name: &str| {
        intent
            .object
            .get(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let (version, kind) = (text("apiVersion"), text("kind"));
    if version != scope.version || kind != scope.kind {
        let found = described(version, kind);
        return Err(ApiError::bad_request(format!("invalid object type: {found}")));
    }
    if !lists::raw(intent.object).is_null() {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

fn laid_over(
    scope: &Scope,
    base: &Value,
    intent: &Intent<'_>,
    managers: &Managers,
) -> Result<Applied, ApiError> {
    let identity = intent.writer.identity();
    let asked = FieldWrite {
        owner: &identity,
        version: &scope.version,
        types: &scope.types,
        force: intent.force,
        ignored: &scope.ignored,
        views: &*scope.version_views,
    };
    let first = apply(base, intent.object, &managers.owners, &asked);
    let Err(Refusal::Conflicts(conflicts)) = first else {
        return first.map_err(|refusal| refused(scope, intent, base, &refusal, managers));
    };
    // Client-side apply of the same tool may have set what is in dispute; then it is no dispute.
    let allowed = match intent.writer.manager.as_str() {
        KUBECTL => applied_by_client(scope, base),
        _ => Set::default(),
    };
    let left: Vec<Conflict> = conflicts
        .into_iter()
        .map(|Conflict { owner, set }| Conflict {
            owner,
            set: set.difference(&allowed),
        })
        .filter(|conflict| !conflict.set.is_empty())
        .collect();
    if !left.is_empty() {
        return Err(conflicted(&left, managers));
    }
    let forced = FieldWrite { force: true, ..asked };
    let outcome = apply(base, intent.object, &managers.owners, &forced);
    outcome.map_err(|refusal| refused(scope, intent, base, &refusal, managers))
}

/// Fields that client-side apply set and that have not changed since.
fn applied_by_client(scope: &Scope, base: &Value) -> Set {
    let text = base
        .pointer("/metadata/annotations")
        .and_then(|all| all.get(LAST_APPLIED));
    let last = text
        .and_then(Value::as_str)
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let (Some(last), Some(of)) = (last, scope.types.get(&scope.version)) else {
        return Set::default();
    };
    let is = |name: &str, wanted: &str| last.get(name).and_then(Value::as_str) == Some(wanted);
    let fits = |value: &Value| check(value, of, Duplicates::Refused).is_ok();
    if !is("apiVersion", &scope.version) || !is("kind", &scope.kind) || !fits(&last) || !fits(base) {
        return Set::default();
    }
    let changed = compare(&last, base, of);
    field_set(&last, of)
        .difference(&changed.modified)
        .difference(&changed.added)
        .difference(&changed.removed)
}

/// Notes a server-side apply by kubectl in the annotation of client-side apply, where there is one: the next client-side apply
/// must find what was applied last.
fn remember(object: &mut Value, intent: &Intent<'_>) {
    if intent.writer.manager != KUBECTL {
        return;
    }
    let annotations = object
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut);
    let is_said = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
    let Some(annotations) = annotations.filter(|all| all.get(LAST_APPLIED).is_some_and(is_said)) else {
        return;
    };
    let mut last = intent.object.clone();
    if let Some(own) = last
        .pointer_mut("/metadata/annotations")
        .and_then(Value::as_object_mut)
    {
        own.remove(LAST_APPLIED);
    }
    annotations.insert(LAST_APPLIED.to_owned(), json!(format!("{last}\n")));
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > MAX_ANNOTATIONS {
        annotations.remove(LAST_APPLIED);
    }
}

fn refused(
    scope: &Scope,
    intent: &Intent<'_>,
    base: &Value,
    refusal: &Refusal,
    managers: &Managers,
) -> ApiError {
    let (which, object, faults) = match refusal {
        Refusal::Intent(faults) => ("patch", intent.object, faults),
        Refusal::Live(faults) => ("live", base, faults),
        Refusal::Conflicts(conflicts) => return conflicted(conflicts, managers),
        Refusal::Unseen(unseen) => {
            let version = &unseen.version;
            return ApiError::internal(format!(
                "it is not known how the object looks in version {version}"
            ));
        }
        Refusal::Misfit { doing, faults } => return ApiError::new(500, "", format!("{doing}{faults}")),
        Refusal::Unknown(version) => {
            return ApiError::internal(format!("no type is known in version {version}"));
        }
    };
    let object = placed(scope, object);
    ApiError::new(
        500,
        "",
        format!("failed to create typed {which} object {object}: {faults}"),
    )
}

/// Returns why an object that has no owners yet gets none.
fn not_begun(scope: &Scope, (zero, base): (&Value, &Value), refusal: &Refusal) -> ApiError {
    let (which, object, faults) = match refusal {
        Refusal::Intent(faults) => ("new", base, faults),
        Refusal::Live(faults) => ("live", zero, faults),
        Refusal::Unknown(_) | Refusal::Conflicts(_) | Refusal::Unseen(_) | Refusal::Misfit { .. } => {
            return ApiError::internal("the object has no owners, and cannot get any");
        }
    };
    let object = placed(scope, object);
    let message = format!(
        "failed to create manager for existing fields: failed to convert {which} object {object} to smd typed: {faults}"
    );
    ApiError::new(500, "", message)
}

/// Returns which object is meant, as messages write it.
fn placed(scope: &Scope, object: &Value) -> String {
    let part = |name: &str| {
        let metadata = object.get("metadata").and_then(|metadata| metadata.get(name));
        metadata.and_then(Value::as_str).unwrap_or_default()
    };
    format!("({}/{}; {})", part("namespace"), part("name"), scope.described())
}
