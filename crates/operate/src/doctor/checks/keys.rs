//! Whether the replicas share keys of records.

use crate::doctor::facts::{HubFacts, KeySecret, Reading};
use crate::doctor::finding::Finding;

const SHARED: &str = "records/keys";
const LOSS: &str = "replicas do not accept each other's records";

/// Returns whether the Secret of the keys can be used.
pub(super) fn shared(facts: &HubFacts) -> Option<Finding> {
    let (place, found) = match &facts.record_keys {
        Reading::NotAsked => return None,
        Reading::Refused(why) => return Some(Finding::unknown(SHARED, why.as_str())),
        Reading::Seen(KeySecret { place, keys }) => (place, keys),
    };
    let (namespace, name) = place.split_once('/').unwrap_or_default();
    Some(match found {
        None => Finding::error(SHARED, format!("there is no Secret {place}: {LOSS}"))
            .fix("apply the installation again, which contains this Secret; the webhook then writes a key into it")
            .command(format!("kubectl get secret {name} -n {namespace}")),
        Some(Ok(0)) => Finding::error(SHARED, format!("Secret {place} is empty: {LOSS}"))
            .fix("check the log of the webhook, which writes the first key: it requires --record-keys and the permission to update this \
                   Secret")
            .command(format!("kubectl logs deployment/tidegate-gate -n {namespace}")),
        Some(Err(fault)) => Finding::error(SHARED, format!("Secret {place}: {fault}: {LOSS}"))
            .fix("remove this entry, or replace it with 32 or more random bytes")
            .command(format!("kubectl edit secret {name} -n {namespace}")),
        Some(Ok(count)) => Finding::ok(
            SHARED,
            format!("Secret {place} has {}", kubernetes::field::counted(*count, "key")),
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;

    #[test]
    fn a_secret_without_a_usable_key_is_an_error_with_a_fix() {
        let of = |keys| {
            let place = "tidegate/tidegate-record-keys".to_owned();
            let facts = HubFacts {
                record_keys: Reading::Seen(KeySecret { place, keys }),
                ..HubFacts::default()
            };
            shared(&facts).expect("a finding")
        };
        for (keys, seen) in [
            (None, "there is no Secret tidegate/tidegate-record-keys"),
            (Some(Ok(0)), "is empty"),
            (Some(Err("key 1 has 5 bytes".to_owned())), "key 1 has 5 bytes"),
        ] {
            let found = of(keys);
            assert_eq!(found.severity, Severity::Error);
            assert!(found.seen.contains(seen), "{}", found.seen);
            assert!(
                !found.fix.is_empty() && found.command.contains("-n tidegate"),
                "{found:?}"
            );
        }
        assert_eq!(of(Some(Ok(2))).severity, Severity::Ok);
        assert!(shared(&HubFacts::default()).is_none());
    }
}
