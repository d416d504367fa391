//! The record that the author of an upgrade is allowed to use placements of other namespaces.
//!
//! It is written if all of the placements are allowed. `store::upgrade` defines the record.

use api::hash::Keys;
use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::{Value, json};

use super::request::{Request, Webhook};
use super::subject::{Kind as _, Upgrade};
use api::cluster::ManagedClustersUpgradeSpec;
use api::names::annotations::PLACEMENT_ACCESS;
use kubernetes::json_pointer::escape;
use store::upgrade::PlacementAccess;
use store::{Facts, Kind, Name, ObjectKey, UserRight};

/// The parts of an upgrade that a record covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Asks {
    /// The spec; `None` if it has a wrong type, which the schema refuses.
    spec: Option<ManagedClustersUpgradeSpec>,
    /// The record; empty when absent.
    record: String,
}

impl Asks {
    /// Reads an object.
    pub(super) fn read(object: &Value) -> Self {
        let record = object.get("metadata").and_then(|metadata| {
            let annotations = metadata.get("annotations")?;
            annotations.get(PLACEMENT_ACCESS)?.as_str()
        });
        Self {
            spec: object
                .get("spec")
                .and_then(|spec| serde_json::from_value(spec.clone()).ok()),
            record: record.unwrap_or_default().to_owned(),
        }
    }
}

/// Returns the permissions that the author of an upgrade needs, with the index of each placement. If an update changes neither the spec nor
/// the record, they were checked before.
pub(super) fn questions(asks: &Asks, before: Option<&Asks>, namespace: &str) -> Vec<(usize, UserRight)> {
    let spec = asks.spec.as_ref().filter(|_| before != Some(asks));
    let all = spec
        .into_iter()
        .flat_map(|spec| spec.placement.iter().enumerate());
    all.filter(|(_, place)| place.namespace != namespace && !place.name.is_empty())
        .map(|(index, place)| {
            let question = UserRight {
                object: ObjectKey::new(Kind::Placement, place.namespace.as_str(), place.name.as_str()),
                namespace: Name::from(place.namespace.as_str()),
            };
            (index, question)
        })
        .collect()
}

/// Returns the record for an upgrade whose author is allowed to use every placement of another namespace that it names.
pub(super) fn addition(
    request: &Request<'_>,
    object: &Value,
    old: Option<&Value>,
    facts: &Facts,
    keys: &Keys,
) -> Patch {
    let wanted = (request.resource == Upgrade::RESOURCE && request.webhook == Webhook::Mutate)
        .then(|| record(request, object, old, facts, keys));
    let Some(record) = wanted.flatten() else {
        return Patch::default();
    };
    let has_annotations = object
        .pointer("/metadata/annotations")
        .is_some_and(Value::is_object);
    let (path, value) = if has_annotations {
        let key = escape(PLACEMENT_ACCESS);
        (format!("/metadata/annotations/{key}"), Value::from(record))
    } else {
        (
            "/metadata/annotations".to_owned(),
            json!({PLACEMENT_ACCESS: record}),
        )
    };
    let added = path
        .parse()
        .map(|path| PatchOperation::Add(AddOperation { path, value }));
    Patch(added.into_iter().collect())
}

fn record(
    request: &Request<'_>,
    object: &Value,
    old: Option<&Value>,
    facts: &Facts,
    keys: &Keys,
) -> Option<String> {
    let (asks, before) = (Asks::read(object), old.map(Asks::read));
    let questions = questions(&asks, before.as_ref(), request.namespace);
    let is_allowed = |right: &UserRight| facts.rights.word_about(right) == Some(true);
    if questions.is_empty() || !questions.iter().all(|(_, right)| is_allowed(right)) {
        return None;
    }
    let user = request.circumstances.read_user()?;
    let access = PlacementAccess {
        namespace: request.namespace,
        name: request.name,
        spec: asks.spec.as_ref()?,
    };
    access
        .record(&user.username, keys)
        .filter(|record| *record != asks.record)
}
