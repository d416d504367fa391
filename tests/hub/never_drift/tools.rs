//! How GitOps tools decide whether an object differs from its manifest.
//!
//! The algorithms are those of the tools, without their caches and their opt-outs: gitops-engine as of Argo CD 3.6.0 (three-way
//! and server-side diff, what counts as managed in its cluster cache, kubectl's apply), and Flux's `pkg/ssa` with the options of
//! kustomize-controller (apply, diff, inventory). Sends nothing.

use serde_json::{Map, Value};

use super::scene::LAST_APPLIED;

/// A GitOps tool.
pub(crate) trait Tool: Sync {
    /// The field manager under which it applies on the server; `None` for client-side apply.
    fn manager(&self) -> Option<&'static str>;

    /// Returns whether an object that is not in Git any more is taken away.
    fn prunes(&self, live: &Value) -> bool;

    /// Returns whether a force mode deletes an object and creates it again if an update gets this status code.
    fn deletes_after(&self, code: u16) -> bool;

    /// Returns what differs; `predicted` is the answer to a server-side dry run, with owners.
    fn difference(&self, manifest: &Value, live: &Value, predicted: &Value) -> Option<String>;
}

/// What became of an apply with a force mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trial {
    /// The object is as Git says.
    Applied,
    /// The object was deleted first.
    DeletedFirst,
    /// Nothing happened.
    Refused,
}

/// Argo CD's default: a three-way comparison of Git, the object, and what was applied last.
pub(crate) struct Argo;

/// Argo CD's server-side diff.
pub(crate) struct ArgoServerSide {
    /// Whether what webhooks changed counts as well, which is not the default.
    pub(crate) with_webhooks: bool,
}

/// Flux: the answer to a dry run is compared with the object.
pub(crate) struct Flux;

/// Argo CD's cluster cache takes only objects without owners for its own where Git does not have them.
fn has_no_owner(live: &Value) -> bool {
    let owners = live["metadata"]["ownerReferences"].as_array();
    owners.is_none_or(Vec::is_empty)
}

impl Tool for Argo {
    fn manager(&self) -> Option<&'static str> {
        None
    }

    fn prunes(&self, live: &Value) -> bool {
        has_no_owner(live)
    }

    fn deletes_after(&self, code: u16) -> bool {
        // `Force=true` is kubectl's `--force`: after a conflict and after whatever is invalid.
        matches!(code, 409 | 422)
    }

    fn difference(&self, manifest: &Value, live: &Value, _: &Value) -> Option<String> {
        let text = live["metadata"]["annotations"][LAST_APPLIED]
            .as_str()
            .unwrap_or("null");
        let last: Value = serde_json::from_str(text).expect("the annotation is JSON");
        let mut live = live.clone();
        if let Some(annotations) = live["metadata"]["annotations"].as_object_mut() {
            annotations.remove(LAST_APPLIED);
        }
        // Members that were never applied are not looked at; in lists, items are matched by position.
        let live = only_members_of(&last, &live);
        unequal(&three_way(&last, manifest, &live), &live)
    }
}

impl Tool for ArgoServerSide {
    fn manager(&self) -> Option<&'static str> {
        Some("argocd-controller")
    }

    fn prunes(&self, live: &Value) -> bool {
        has_no_owner(live)
    }

    fn deletes_after(&self, _: u16) -> bool {
        // kubectl refuses `--force` together with `--server-side`.
        false
    }

    fn difference(&self, _: &Value, live: &Value, predicted: &Value) -> Option<String> {
        if self.with_webhooks {
            return unequal(&comparable(predicted), &comparable(live));
        }
        // Only what the tool itself owns in the predicted object counts, laid over the object as it is.
        let Some(entries) = predicted["metadata"]["managedFields"].as_array() else {
            return Some("the dry run shows no owners".to_owned());
        };
        let own = entries
            .iter()
            .filter(|entry| entry["manager"] == "argocd-controller" && entry["operation"] == "Apply");
        let mut expected = live.clone();
        for entry in own {
            overlay(&mut expected, predicted, &entry["fieldsV1"]);
        }
        unequal(&comparable(&expected), &comparable(live))
    }
}

impl Tool for Flux {
    fn manager(&self) -> Option<&'static str> {
        Some("kustomize-controller")
    }

    fn prunes(&self, _: &Value) -> bool {
        // What was in the inventory and is no more goes, even if it has an owner.
        true
    }

    fn deletes_after(&self, code: u16) -> bool {
        // `spec.force`: whatever is invalid counts as an immutable field.
        code == 422
    }

    fn difference(&self, _: &Value, live: &Value, predicted: &Value) -> Option<String> {
        for name in ["labels", "annotations"] {
            let (one, two) = (&predicted["metadata"][name], &live["metadata"][name]);
            if one != two {
                return Some(format!("{name}: {one} instead of {two}"));
            }
        }
        let body = |object: &Value| -> Map<String, Value> {
            let mut members = object.as_object().cloned().unwrap_or_default();
            members.retain(|name, _| name != "metadata" && name != "status");
            members
        };
        unequal(&Value::Object(body(predicted)), &Value::Object(body(live)))
    }
}

fn unequal(expected: &Value, found: &Value) -> Option<String> {
    (expected != found).then(|| format!("expected {expected}\nfound    {found}"))
}

/// An object without what the server counts and notes.
fn comparable(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata
            .retain(|name, _| !matches!(name.as_str(), "managedFields" | "resourceVersion" | "generation"));
    }
    object
}

/// `live` without the members that `wanted` does not have; what `live` has more of in a list stays.
fn only_members_of(wanted: &Value, live: &Value) -> Value {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            let shared = wanted
                .iter()
                .filter_map(|(name, wanted)| Some((name.clone(), only_members_of(wanted, live.get(name)?))));
            Value::Object(shared.collect())
        }
        (Value::Array(wanted), Value::Array(live)) => {
            let each = live.iter().enumerate();
            each.map(|(at, live)| {
                wanted
                    .get(at)
                    .map_or_else(|| live.clone(), |wanted| only_members_of(wanted, live))
            })
            .collect()
        }
        (_, live) => live.clone(),
    }
}

/// `live` after a merge patch that sets what `wanted` says and removes what only `last` said.
fn three_way(last: &Value, wanted: &Value, live: &Value) -> Value {
    let (Value::Object(wanted), Value::Object(live)) = (wanted, live) else {
        return wanted.clone();
    };
    let mut after = live.clone();
    for name in last.as_object().into_iter().flat_map(Map::keys) {
        if !wanted.contains_key(name) {
            after.remove(name);
        }
    }
    for (name, wanted) in wanted {
        let value = live
            .get(name)
            .map_or_else(|| wanted.clone(), |live| three_way(&last[name], wanted, live));
        after.insert(name.clone(), value);
    }
    Value::Object(after)
}

/// Puts the values that a set of fields names from one object into another.
fn overlay(onto: &mut Value, from: &Value, fields: &Value) {
    for (key, below) in fields.as_object().into_iter().flatten() {
        let is_leaf = below.as_object().is_some_and(Map::is_empty);
        match key.split_once(':') {
            Some(("f", name)) => match from.get(name) {
                Some(value) if is_leaf => onto[name] = value.clone(),
                Some(value) => overlay(&mut onto[name], value, below),
                None => {}
            },
            Some(("k", keys)) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).expect("keys are JSON");
                let is_item = |item: &Value| keys.iter().all(|(name, value)| item.get(name) == Some(value));
                let Some(item) = from.as_array().into_iter().flatten().find(|item| is_item(item)) else {
                    continue;
                };
                let Value::Array(items) = onto else { continue };
                match items.iter_mut().find(|item| is_item(item)) {
                    Some(own) => overlay(own, item, below),
                    None => items.push(item.clone()),
                }
            }
            Some(("v", text)) => {
                let value: Value = serde_json::from_str(text).expect("a value is JSON");
                if let Value::Array(items) = onto
                    && !items.contains(&value)
                {
                    items.push(value);
                }
            }
            Some(_) | None => {}
        }
    }
}
