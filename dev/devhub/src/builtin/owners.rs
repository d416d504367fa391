//! Owner references.
//!
//! Decides which are duplicates.

use std::collections::BTreeSet;

use serde_json::Value;

use super::faults::text;

/// Drops references that stand twice and returns the warning that Kubernetes then gives.
pub fn drop_duplicates(metadata: &mut Value) -> Option<String> {
    let Some(Value::Array(references)) = metadata.get_mut("ownerReferences") else {
        return None;
    };
    let mut kept: Vec<Value> = Vec::with_capacity(references.len());
    let mut repeated = BTreeSet::new();
    for reference in std::mem::take(references) {
        if kept.contains(&reference) {
            repeated.insert(text(&reference, "/uid").to_owned());
        } else {
            kept.push(reference);
        }
    }
    *references = kept;
    let uids: Vec<String> = repeated.into_iter().collect();
    (!uids.is_empty()).then(|| {
        format!(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such \
             requests as early as 1.24; please fix your requests; duplicate UID(s) observed: {}",
            uids.join(", ")
        )
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn owner(name: &str, more: &Value) -> Value {
        let mut reference = json!({"apiVersion": "dev.example.io/v1", "kind": "Widget", "name": name, "uid": format!("uid-{name}")});
        for (member, value) in more.as_object().into_iter().flatten() {
            reference[member] = value.clone();
        }
        reference
    }

    #[test]
    fn duplicates_are_dropped_with_a_warning() {
        let mut metadata = json!({"ownerReferences": [owner("o", &json!({})), owner("o", &json!({}))]});
        let warning = drop_duplicates(&mut metadata).expect("a warning");
        assert!(warning.ends_with("duplicate UID(s) observed: uid-o"), "{warning}");
        assert_eq!(metadata["ownerReferences"], json!([owner("o", &json!({}))]));
        assert_eq!(drop_duplicates(&mut metadata), None);
    }
}
