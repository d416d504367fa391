//! Whether a report that stands on the hub still says what was written.
//!
//! Decides what counts: everything outside of the metadata, the times of results aside, and the labels and annotations that were
//! written. What others add to the metadata is theirs.

use serde_json::{Map, Value};

use super::first_seen::TIME;

/// Tells whether the report that stands there says what is wanted, whatever its own annotations claim.
pub fn is_intact(standing: &Value, wanted: &Value) -> bool {
    says(standing) == says(wanted)
        && ["labels", "annotations"].into_iter().all(|part| {
            let of = |report: &Value| {
                let metadata = report.get("metadata")?.get(part)?;
                metadata.as_object().cloned()
            };
            let (standing, wanted) = (of(standing).unwrap_or_default(), of(wanted).unwrap_or_default());
            wanted.iter().all(|(key, value)| standing.get(key) == Some(value))
        })
}

fn says(report: &Value) -> Map<String, Value> {
    let mut said = report.as_object().cloned().unwrap_or_default();
    said.remove("metadata");
    let results = said.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        if let Some(fields) = result.as_object_mut() {
            fields.remove(TIME);
        }
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_was_written_must_still_stand_there() {
        let wanted = json!({"metadata": {"labels": {"a": "b"}, "annotations": {"hash": "x"}},
            "summary": {"fail": 1}, "results": [{"rule": "r", "result": "fail"}]});
        let with = |pointer: &str, value: Value| {
            let mut standing = wanted.clone();
            standing["metadata"]["resourceVersion"] = json!("7");
            standing["metadata"]["labels"]["theirs"] = json!("too");
            standing["results"][0]["timestamp"] = json!({"seconds": 1, "nanos": 0});
            let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
            standing.pointer_mut(parent).expect("a parent")[name] = value;
            is_intact(&standing, &wanted)
        };
        assert!(
            with("/metadata/generation", json!(3)),
            "nobody has touched what counts"
        );
        for (pointer, value) in [
            ("/results/0/result", json!("pass")),
            ("/results", json!([])),
            ("/results/0/extra", json!("x")),
            ("/summary/fail", json!(0)),
            ("/metadata/labels/a", json!("c")),
            ("/metadata/annotations", json!({})),
        ] {
            assert!(!with(pointer, value), "{pointer}");
        }
    }
}
