//! Server-side apply: an intent laid over an object.
//!
//! Decides conflicts, in the words of Kubernetes. The object that comes out still has to be completed and checked.

use fields::{Asked, Conflict, Path, Refusal, Set, Type, apply, compare, field_set};
use serde_json::{Value, json};

use super::entries::{Managers, Writer};
use super::lists;
use super::scope::Scope;
use super::track::{strip, updated};
use crate::error::ApiError;

/// Who owns the fields of an object that was never applied.
const BEFORE_FIRST: &str = "before-first-apply";
/// The manager that takes over from client-side apply.
const KUBECTL: &str = "kubectl";
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// What somebody applies.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Intent<'a> {
    /// The fields.
    pub(crate) object: &'a Value,
    /// Who.
    pub(crate) writer: &'a Writer,
    /// Whether to take what others own.
    pub(crate) force: bool,
    /// Kind of the objects, for messages.
    pub(crate) kind: &'a str,
}

/// Returns the object after an apply; `live` is absent when the apply creates it.
pub(crate) fn applied(
    scope: &Scope,
    live: Option<&Value>,
    intent: &Intent<'_>,
    now: &str,
) -> Result<Value, ApiError> {
    let mut base = live.cloned().unwrap_or_else(|| json!({}));
    let stored = lists::take(&mut base);
    let mut managers = Managers::decode(&stored).unwrap_or_default();
    if managers.is_empty() && live.is_some() {
        let before = Writer {
            manager: BEFORE_FIRST.to_owned(),
            applies: false,
            version: scope.version.clone(),
            subresource: intent.writer.subresource.clone(),
        };
        let all = updated(scope, &json!({}), &base, managers, (&before, now));
        managers = all.unwrap_or_default();
    }
    let (object, owners) = lay_over(scope, &base, intent, &managers)?;
    managers.owners = owners;
    let identity = intent.writer.identity();
    let same = compare(&base, &object, &scope.of).is_ok_and(|changed| changed.is_same());
    if !same {
        managers.stamp(intent.writer, now);
    } else if !managers.records.contains_key(&identity) {
        managers.stamp(intent.writer, now);
        if let Some(record) = managers.records.get_mut(&identity) {
            record.time = None;
        }
    } else if let Some(record) = managers.records.get_mut(&identity) {
        record.writer = intent.writer.clone();
    }
    strip(&mut managers);
    let mut object = if same { base } else { object };
    remember(&mut object, intent);
    lists::put(&mut object, &managers);
    Ok(object)
}

fn lay_over(
    scope: &Scope,
    base: &Value,
    intent: &Intent<'_>,
    managers: &Managers,
) -> Result<(Value, fields::Owners), ApiError> {
    let identity = intent.writer.identity();
    let asked = Asked {
        owner: &identity,
        force: intent.force,
        ignored: &scope.ignored,
    };
    let unfit = |fault: &fields::Fault| ill_typed(scope, intent.kind, fault);
    match apply(base, intent.object, &scope.of, &managers.owners, &asked) {
        Ok(outcome) => Ok(outcome),
        Err(Refusal::Fault(fault)) => Err(unfit(&fault)),
        Err(Refusal::Conflicts(conflicts)) => {
            let allowed = match intent.writer.manager.as_str() {
                KUBECTL => applied_by_client(base, &scope.of),
                _ => Set::default(),
            };
            let left: Vec<Conflict> = conflicts
                .into_iter()
                .map(|conflict| Conflict {
                    set: conflict.set.difference(&allowed),
                    ..conflict
                })
                .filter(|conflict| !conflict.set.is_empty())
                .collect();
            if !left.is_empty() {
                return Err(conflicted(&left, managers));
            }
            let forced = Asked { force: true, ..asked };
            apply(base, intent.object, &scope.of, &managers.owners, &forced).map_err(
                |refusal| match refusal {
                    Refusal::Fault(fault) => unfit(&fault),
                    Refusal::Conflicts(conflicts) => conflicted(&conflicts, managers),
                },
            )
        }
    }
}

/// Fields that client-side apply set and nobody has changed since: server-side apply of the same tool may take them.
fn applied_by_client(base: &Value, of: &Type) -> Set {
    let text = base
        .get("metadata")
        .and_then(|metadata| metadata.get("annotations"))
        .and_then(|annotations| annotations.get(LAST_APPLIED))
        .and_then(Value::as_str);
    let Some(last) = text.and_then(|text| serde_json::from_str::<Value>(text).ok()) else {
        return Set::default();
    };
    let (Ok(set), Ok(changed)) = (field_set(&last, of), compare(&last, base, of)) else {
        return Set::default();
    };
    set.difference(&changed.modified)
        .difference(&changed.added)
        .difference(&changed.removed)
}

/// Client-side apply must find what was applied last, whoever applies.
fn remember(object: &mut Value, intent: &Intent<'_>) {
    if intent.writer.manager != KUBECTL {
        return;
    }
    let annotations = object
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut);
    let Some(annotations) = annotations.filter(|annotations| annotations.contains_key(LAST_APPLIED)) else {
        return;
    };
    let mut last = intent.object.clone();
    if let Some(own) = last
        .get_mut("metadata")
        .and_then(|metadata| metadata.get_mut("annotations"))
        .and_then(Value::as_object_mut)
    {
        own.remove(LAST_APPLIED);
    }
    annotations.insert(LAST_APPLIED.to_owned(), json!(format!("{last}\n")));
}

fn ill_typed(scope: &Scope, kind: &str, fault: &fields::Fault) -> ApiError {
    let version = &scope.version;
    let (path, what) = (&fault.path, &fault.what);
    let place = if path.is_empty() {
        String::new()
    } else {
        format!("{path}: ")
    };
    let message = format!("failed to create typed patch object (/; {version}, Kind={kind}): {place}{what}");
    ApiError::new(500, "", message)
}

fn conflicted(conflicts: &[Conflict], managers: &Managers) -> ApiError {
    let mut all: Vec<(String, Path)> = Vec::new();
    for conflict in conflicts {
        let name = managers
            .records
            .get(&conflict.owner)
            .map(|record| spell(&record.writer))
            .unwrap_or_default();
        all.extend(conflict.set.paths().into_iter().map(|path| (name.clone(), path)));
    }
    all.sort();
    let causes: Vec<Value> = all
        .iter()
        .map(|(name, path)| {
            json!({"reason": "FieldManagerConflict", "message": format!("conflict with {name}"), "field": path.to_string()})
        })
        .collect();
    let message = match all.as_slice() {
        [(name, path)] => format!("Apply failed with 1 conflict: conflict with {name}: {path}"),
        many => {
            let mut message = format!("Apply failed with {} conflicts: ", many.len());
            let mut last = None;
            for (name, path) in many {
                if last != Some(name) {
                    let gap = if last.is_some() { "\n" } else { "" };
                    message.push_str(&format!("{gap}conflicts with {name}:"));
                }
                message.push_str(&format!("\n- {path}"));
                last = Some(name);
            }
            message
        }
    };
    ApiError::new(409, "Conflict", message).with_details(json!({"causes": causes}))
}

fn spell(writer: &Writer) -> String {
    let manager = &writer.manager;
    let through = if writer.subresource.is_empty() {
        String::new()
    } else {
        format!(" with subresource \"{}\"", writer.subresource)
    };
    if writer.applies {
        format!("\"{manager}\"{through}")
    } else {
        format!("\"{manager}\"{through} using {}", writer.version)
    }
}
