//! The changed fields of the configurations that a rollout changes, as `plan --diff` shows those of works.
//!
//! Reads the present object and the copy that is kept of the last known good content. A content of which no copy is kept has no fields.

use serde::Serialize;

use super::picture::{Change, Content, Picture};
use super::undo::reference;
use crate::forecast::{Difference, of_configs};
use store::{Store, View};

/// The fields of one change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldChanges {
    /// The placement to whose clusters it is rolled out, as `namespace/name`; "" for all clusters.
    pub placement: String,
    /// Type of the configuration as `resource.group`.
    pub what: String,
    /// The object with the desired content.
    pub object: String,
    /// The fields that differ; the first ones if there are too many.
    pub fields: Vec<Difference>,
    /// How many more fields differ.
    pub more: usize,
    /// Why the fields are unknown.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unknown: Option<String>,
}

/// The most fields of one change.
const MOST: usize = 200;

/// Returns the changed fields of an add-on's configurations; of a change with a last known good content.
pub fn field_changes(store: &Store, picture: &Picture) -> Vec<FieldChanges> {
    let Some(view) = store.view(&picture.target.name) else {
        return Vec::new();
    };
    let each = picture.changes.iter().filter_map(|change| {
        let from = change.from.as_ref()?;
        Some(of(&view, change, from))
    });
    each.collect()
}

fn of(view: &View<'_>, change: &Change, from: &Content) -> FieldChanges {
    let read = |content: &Content| {
        let config = reference(&change.what, &content.object);
        let found = view.content(&config, &content.hash.as_str().into());
        let missing = || {
            format!(
                "no copy of the content {} of {} is kept",
                content.hash, content.object
            )
        };
        found.map(|found| found.object(&config)).ok_or_else(missing)
    };
    let (fields, unknown) = match (read(from), read(&change.to)) {
        (Ok(old), Ok(new)) => (of_configs(&old, &new), None),
        (Err(why), _) | (_, Err(why)) => (Vec::new(), Some(why)),
    };
    FieldChanges {
        placement: change.placement.clone(),
        what: change.what.clone(),
        object: change.to.object.clone(),
        more: fields.len().saturating_sub(MOST),
        fields: fields.into_iter().take(MOST).collect(),
        unknown,
    }
}
