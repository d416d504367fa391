//! The conversion of Open Cluster Management, recorded: `tests/data/open-cluster-management.jsonl` has objects that were generated from
//! its schemas, and what its conversion webhook (`addon webhook-server`) answered.

use serde_json::Value;

use super::{Extensions, Version, convert};

const RECORDED: &str = include_str!("../../tests/data/open-cluster-management.jsonl");

/// Leaves out what does not matter: empty values, which Go writes or leaves out by type, and what this conversion keeps for the way back.
fn plain(value: &Value) -> Value {
    let is_empty = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        // Go writes a duration that is not set.
        Value::String(text) => text.is_empty() || text == "0s",
        Value::Array(all) => all.is_empty(),
        Value::Object(all) => all.is_empty(),
        Value::Bool(true) => false,
        Value::Number(number) => number.as_i64() == Some(0),
    };
    match value {
        Value::Object(fields) => {
            let fields = fields
                .iter()
                .filter(|(name, _)| !name.starts_with("tidegate.io/"));
            let fields = fields.map(|(name, value)| (name.clone(), plain(value)));
            Value::Object(fields.filter(|(_, value)| !is_empty(value)).collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(plain).collect()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn objects_are_converted_as_open_cluster_management_converts_them() {
    let mut count = 0;
    for line in RECORDED.lines() {
        let pair: Value = serde_json::from_str(line).expect("JSON");
        let to = Version::of(&pair["to"]).expect("a version");
        let ours = convert(pair["from"].clone(), to, Extensions::Kept);
        assert_eq!(plain(&ours), plain(&pair["to"]), "{}", pair["from"]);
        count += 1;
    }
    assert_eq!(count, 50);
}
