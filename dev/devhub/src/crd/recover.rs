//! Definitions that were there before the hub started.
//!
//! Decides that they are served again as they were, and that removals go on that were not finished.

use std::sync::Arc;

use serde_json::Value;

use super::react::{begin_cleaning, definitions, is_cleaning, react};
use super::status::is_true;
use crate::hub::Hub;
use crate::store::Page;

/// Serves all stored definitions.
pub(crate) fn recover(hub: &Arc<Hub>) {
    let Some(definitions) = definitions(hub) else {
        return;
    };
    let snapshot = definitions.table.list(&Page::default());
    let records = snapshot.map(|snapshot| snapshot.records).unwrap_or_default();
    let stored: Vec<Value> = records
        .iter()
        .map(|record| definitions.decode(record, record.version))
        .collect();
    // Established definitions come first: they keep the names that they have; only then may others ask for the same ones.
    let (settled, open): (Vec<_>, Vec<_>) = stored
        .iter()
        .partition(|definition| is_true(definition, "Established"));
    for definition in settled.into_iter().chain(open) {
        let part = |pointer: &str| definition.pointer(pointer).and_then(Value::as_str);
        let Some(name) = part("/metadata/name") else {
            continue;
        };
        react(hub, name);
        // What was begun before the end is begun anew; what was not is begun by the reaction.
        if is_cleaning(definition) {
            let _turn = hub.react_alone();
            begin_cleaning(hub, name);
        }
    }
}
