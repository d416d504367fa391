//! Whether a replica of Tidegate leads at this moment.
//!
//! Decides by what a Lease says and by the clock of this machine: a program that looks once has nothing else. A Lease that says that it
//! was renewed a moment ahead of that clock counts as held.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

/// Returns whether a Lease is held at a time; absent, free and over it is not.
pub fn is_alive(lease: &Value, now: Timestamp) -> bool {
    let spec = lease.get("spec").unwrap_or(&Value::Null);
    let text = |name: &str| spec.get(name).and_then(Value::as_str).unwrap_or_default();
    let lasts = spec.get("leaseDurationSeconds").and_then(Value::as_i64);
    let Ok(renewed) = text("renewTime").parse::<Timestamp>() else {
        return false;
    };
    let over = SignedDuration::from_secs(lasts.unwrap_or_default());
    !text("holderIdentity").is_empty() && now.duration_since(renewed) < over
}

/// Returns whether the holder calls itself as Tidegate's replicas do.
pub fn is_ours(lease: &Value) -> bool {
    let holder = lease.pointer("/spec/holderIdentity").and_then(Value::as_str);
    holder.is_some_and(|holder| holder.starts_with("tidegate_"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_lease_is_held_until_its_duration_has_passed() {
        let now: Timestamp = "2030-01-01T00:00:20Z".parse().expect("a time");
        let rows = [
            ("tidegate_a_1", "2030-01-01T00:00:10.000000Z", true),
            ("tidegate_a_1", "2030-01-01T00:00:04.000000Z", false),
            ("tidegate_a_1", "2030-01-01T00:01:00.000000Z", true),
            ("", "2030-01-01T00:00:10.000000Z", false),
            ("tidegate_a_1", "never", false),
        ];
        for (holder, renewed, expected) in rows {
            let lease =
                json!({"spec": {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": 15}});
            assert_eq!(is_alive(&lease, now), expected, "{holder} {renewed}");
        }
        assert!(!is_alive(&json!({}), now));
        assert!(is_ours(&json!({"spec": {"holderIdentity": "tidegate_host_x"}})));
        assert!(!is_ours(&json!({"spec": {"holderIdentity": "host_x"}})));
    }
}
