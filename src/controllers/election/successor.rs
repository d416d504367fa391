//! Who is next: a Lease beside the one by which replicas elect, held by a replica that waits.
//!
//! Decides to whom a leader that leaves writes its Lease. A replica that waits holds it like any Lease, so that one is enough and
//! no name has to be guessed. Never reads or writes anything. The wall clocks of two replicas are compared: where they differ by
//! more than a Lease lasts, the Lease is given back free, or to a replica that has just died, and ends by itself.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

/// Returns the name of the Lease that says who is next.
pub(super) fn of(lease: &str) -> String {
    format!("{lease}-next")
}

/// Returns which replica waits to lead, if any but `leaving` does at this moment.
pub(super) fn waiting(lease: Option<&Lease>, leaving: &str, time: Timestamp) -> Option<String> {
    let spec = lease?.spec.as_ref()?;
    let holder = spec.holder_identity.as_deref()?;
    if holder.is_empty() || holder == leaving {
        return None;
    }
    let lasts = SignedDuration::from_secs(spec.lease_duration_seconds?.into());
    let age = time.duration_since(spec.renew_time.as_ref()?.0);
    (age.abs() < lasts).then(|| holder.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_who_has_renewed_lately_is_next() {
        let time: Timestamp = "2030-01-01T00:00:10Z".parse().expect("a time");
        let rows = [
            ("you", "2030-01-01T00:00:05.000000Z", true),
            ("you", "2029-12-31T23:59:55.000000Z", false),
            ("you", "2030-01-01T00:00:25.000000Z", false),
            ("me", "2030-01-01T00:00:05.000000Z", false),
            ("", "2030-01-01T00:00:05.000000Z", false),
        ];
        for (holder, renewed, expected) in rows {
            let spec = json!({"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": renewed});
            let lease = serde_json::from_value(json!({"metadata": {}, "spec": spec})).expect("a lease");
            let next = waiting(Some(&lease), "me", time);
            assert_eq!(next.is_some(), expected, "{holder} {renewed}");
        }
        assert_eq!(waiting(None, "me", time), None);
    }
}
