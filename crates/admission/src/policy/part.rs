//! The ids of what can be broken in a policy: its validations and its schema checks.
//!
//! Decides what a part without an id is called. Never looks at what it says.

use api::v1alpha1::AddOnPolicySpec;

/// Returns the ids of everything that can be broken.
pub(super) fn part_ids(spec: &AddOnPolicySpec) -> Vec<String> {
    let validations = spec.validations.iter().enumerate();
    let validations = validations.map(|(index, raw)| part_id(&raw.id, index));
    let schemas = spec.schemas.iter().enumerate();
    let schemas = schemas.map(|(index, raw)| schema_id(&raw.id, index));
    validations.chain(schemas).collect()
}

pub(super) fn schema_id(id: &str, index: usize) -> String {
    if id.is_empty() {
        format!("schema-{index}")
    } else {
        id.to_owned()
    }
}

pub(super) fn part_id(id: &str, index: usize) -> String {
    if id.is_empty() {
        index.to_string()
    } else {
        id.to_owned()
    }
}
