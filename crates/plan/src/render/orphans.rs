//! What stays on the cluster when a work is deleted.
//!
//! Decides the delete option of a work: the template's own, with a rule for every manifest that asks to stay.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::object::{Identifier, is_marked, text};
use api::names::annotations::DELETION_ORPHAN;

/// Returns the rule of a manifest that stays when its work is deleted.
pub(super) fn rule(manifest: &Value, identifier: &Identifier) -> Option<Value> {
    is_marked(manifest, "/metadata/annotations", DELETION_ORPHAN).then(|| identifier.render())
}

/// Adds rules to the delete option of a work. Where everything stays anyway there is nothing to add.
pub(super) fn add(spec: &mut Map<String, Value>, rules: &[&Value]) {
    if rules.is_empty() {
        return;
    }
    let slot = spec.entry("deleteOption").or_insert_with(|| json!({}));
    if text(slot, "/propagationPolicy") == "Orphan" {
        return;
    }
    if !slot.is_object() {
        *slot = json!({});
    }
    let Some(option) = slot.as_object_mut() else {
        return;
    };
    option.insert("propagationPolicy".to_owned(), Value::from("SelectivelyOrphan"));
    let orphans = option.entry("selectivelyOrphans").or_insert_with(|| json!({}));
    let list = orphans.as_object_mut().and_then(|orphans| {
        orphans
            .entry("orphaningRules")
            .or_insert_with(|| json!([]))
            .as_array_mut()
    });
    let Some(list) = list else { return };
    let mut known: BTreeSet<Identifier> = list.iter().map(Identifier::read).collect();
    for rule in rules {
        if known.insert(Identifier::read(rule)) {
            list.push((*rule).clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_join_the_template_s_own() {
        let rule = |name: &str| json!({"group": "", "resource": "secrets", "namespace": "n", "name": name});
        let selective = |rules: Value, ttl: Value| {
            let mut option = json!({"propagationPolicy": "SelectivelyOrphan", "selectivelyOrphans": {"orphaningRules": rules}});
            if !ttl.is_null() {
                option["ttlSecondsAfterFinished"] = ttl;
            }
            json!({"deleteOption": option})
        };
        let rows = [
            (json!({}), selective(json!([rule("a")]), json!(null))),
            (
                json!({"deleteOption": null}),
                selective(json!([rule("a")]), json!(null)),
            ),
            (
                json!({"deleteOption": {"propagationPolicy": "Foreground", "ttlSecondsAfterFinished": 5}}),
                selective(json!([rule("a")]), json!(5)),
            ),
            (
                selective(json!([rule("b"), rule("a")]), json!(null)),
                selective(json!([rule("b"), rule("a")]), json!(null)),
            ),
            (
                json!({"deleteOption": {"propagationPolicy": "Orphan"}}),
                json!({"deleteOption": {"propagationPolicy": "Orphan"}}),
            ),
        ];
        for (spec, expected) in rows {
            let mut spec = spec.as_object().unwrap().clone();
            add(&mut spec, &[&rule("a")]);
            assert_eq!(Value::Object(spec), expected);
        }
    }
}
