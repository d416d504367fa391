//! When each result of a report was found.
//!
//! Decides that a result which a report has already keeps its time, whichever replica leads now; only what is new is of now.

use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) const TIME: &str = "timestamp";

/// Adds the times to a report; `before` is what stands on the hub.
pub fn stamp(report: &mut Value, before: Option<&Value>, now: Timestamp) {
    let old = before.and_then(|before| before.get("results")?.as_array());
    let mut old: Vec<(Value, Value)> = old.into_iter().flatten().filter_map(taken_apart).collect();
    let results = report.get_mut("results").and_then(Value::as_array_mut);
    for result in results.into_iter().flatten() {
        let known = old.iter().position(|(_, said)| said == result);
        let time = match known {
            Some(position) => old.swap_remove(position).0,
            // Kubernetes keeps whole seconds here.
            None => json!({"seconds": now.as_second(), "nanos": 0}),
        };
        if let Some(fields) = result.as_object_mut() {
            fields.insert(TIME.to_owned(), time);
        }
    }
}

/// Returns the time of a result, and the result without it.
fn taken_apart(result: &Value) -> Option<(Value, Value)> {
    let mut said = result.clone();
    let time = said.as_object_mut()?.remove(TIME)?;
    Some((time, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_told_before_keeps_its_time() {
        let at = |second| Timestamp::from_second(second).expect("a time");
        let mut first = json!({"results": [{"rule": "a"}, {"rule": "b"}]});
        stamp(&mut first, None, at(10));
        let mut second = json!({"results": [{"rule": "b"}, {"rule": "c"}]});
        stamp(&mut second, Some(&first), at(20));
        let seconds: Vec<&Value> = second["results"]
            .as_array()
            .expect("results")
            .iter()
            .map(|result| &result["timestamp"]["seconds"])
            .collect();
        assert_eq!(seconds, [&json!(10), &json!(20)]);
    }

    #[test]
    fn a_report_that_somebody_has_spoilt_is_no_hindrance() {
        let mut report = json!({"results": [{"rule": "a"}]});
        stamp(
            &mut report,
            Some(&json!({"results": "none"})),
            Timestamp::UNIX_EPOCH,
        );
        assert_eq!(report["results"][0]["timestamp"]["seconds"], 0);
    }
}
