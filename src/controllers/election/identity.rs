//! Who holds a Lease, and which replica leads next.
//!
//! OCM's add-on manager, like every controller of client-go, has the identity `<host>_<uuid>`, a replica of Tidegate
//! `tidegate_<host>_<uuid>`. A host name has no underscore, so neither can be taken for the other.
//!
//! A replica that waits holds a second Lease beside the first one, so that one is enough and no name has to be guessed. The wall clocks
//! of two replicas are compared: where they differ by more than a Lease lasts, the Lease is given back free, or to a replica that has
//! just died, and ends by itself.

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

use crate::telemetry::Holder;

/// What the identities of Tidegate's replicas begin with.
const OURS: &str = "tidegate_";

/// Returns the identity of a replica: the host says where it runs, the rest tells two lives of the same pod apart.
pub fn identity(host: &str, life: &str) -> String {
    format!("{OURS}{host}_{life}")
}

/// Returns who holds a Lease with this identity.
pub(in crate::controllers) fn holder(identity: &str) -> Holder {
    let ours = identity.strip_prefix(OURS).is_some_and(is_of_a_host);
    match identity {
        "" => Holder::Vacant,
        _ if ours => Holder::Tidegate,
        _ if is_of_a_host(identity) => Holder::Stock,
        _ => Holder::Other,
    }
}

/// `<host>_<uuid>`
fn is_of_a_host(identity: &str) -> bool {
    let Some((host, life)) = identity.split_once('_') else {
        return false;
    };
    let groups: Vec<&str> = life.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    let is_hex = |group: &&str| group.chars().all(|letter| letter.is_ascii_hexdigit());
    !host.is_empty() && lengths == [8, 4, 4, 4, 12] && groups.iter().all(is_hex)
}

/// Returns the name of the Lease that says who is next.
pub(super) fn next_lease(lease: &str) -> String {
    format!("{lease}-next")
}

/// Returns which replica waits to lead, if any but `leaving` does at this moment.
pub(super) fn next_leader(lease: Option<&Lease>, leaving: &str, time: Timestamp) -> Option<String> {
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
    fn ours_is_never_taken_for_that_of_ocms_manager() {
        let life = "0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";
        let rows = [
            (
                format!("cluster-manager-addon-manager-controller-7d4b-x2x_{life}"),
                Holder::Stock,
            ),
            (identity("tidegate-0", life), Holder::Tidegate),
            // A host may have our name.
            (format!("tidegate_{life}"), Holder::Stock),
            (identity("tidegate", life), Holder::Tidegate),
            (String::new(), Holder::Vacant),
            ("someone-else".to_owned(), Holder::Other),
            ("tidegate_".to_owned(), Holder::Other),
            (format!("_{life}"), Holder::Other),
        ];
        for (identity, expected) in rows {
            assert_eq!(holder(&identity), expected, "{identity}");
        }
    }

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
            let next = next_leader(Some(&lease), "me", time);
            assert_eq!(next.is_some(), expected, "{holder} {renewed}");
        }
        assert_eq!(next_leader(None, "me", time), None);
    }
}
