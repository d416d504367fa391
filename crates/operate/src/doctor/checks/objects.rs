//! Checks the objects on the hub: policies, stalled add-ons, objects that cannot be decoded.
//!
//! Decides by conditions that are on the hub. Never judges an object itself: gate and audit do.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::doctor::facts::{Fleet, Reading};
use crate::doctor::finding::{Finding, several};
use api::reason::{Class, Reason};
use kubernetes::field::{Listing, counted, shortened};

const POLICIES: &str = "policies/compiled";
const STALLED: &str = "addons/stalled";
const MALFORMED: &str = "objects/readable";

/// How many are listed with their message; the others are counted.
const NAMED: usize = 3;
/// The longest message that is repeated.
const LONGEST: usize = 200;

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let all = object.pointer("/status/conditions").and_then(Value::as_array)?;
    all.iter().find(|one| text(one, "/type") == kind)
}

/// Returns objects with the reason and message of a condition.
fn told(objects: &[(&Value, &Value)], listing: Listing) -> String {
    let most = listing.most(NAMED);
    let first = objects.iter().take(most);
    let words: Vec<String> = first
        .map(|(object, condition)| {
            let name = text(object, "/metadata/name");
            format!(
                "{name}: {}: {}",
                text(condition, "/reason"),
                shortened(text(condition, "/message"), listing.most(LONGEST))
            )
        })
        .collect();
    let rest = objects.len().saturating_sub(most);
    let more = if rest == 0 {
        String::new()
    } else {
        format!("; and {rest} more")
    };
    format!("{}{more}", words.join("; "))
}

pub(super) fn policies(fleet: &Fleet) -> Vec<Finding> {
    let policies = match &fleet.policies {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            return vec![Finding::unknown(
                POLICIES,
                format!("policies cannot be read: {why}"),
            )];
        }
        Reading::Seen(policies) => policies,
    };
    let of = |kind: &str, status: &str| -> Vec<(&Value, &Value)> {
        let found = policies
            .iter()
            .filter_map(|policy| Some((policy, condition(policy, kind)?)));
        found.filter(|(_, one)| text(one, "/status") == status).collect()
    };
    let broken = of("Compiled", "False");
    let unseen = policies
        .iter()
        .filter(|policy| condition(policy, "Compiled").is_none())
        .count();
    if broken.is_empty() && unseen == 0 {
        let seen = format!(
            "{} in force",
            counted(policies.len(), "policy").replace("policys", "policies")
        );
        return vec![Finding::ok(POLICIES, seen)];
    }
    let mut findings = Vec::new();
    if let Some((first, _)) = broken.first() {
        let seen = format!(
            "{} of {} policies do not compile: {}",
            broken.len(),
            policies.len(),
            told(&broken, fleet.listing)
        );
        findings.push(
            Finding::error(POLICIES, seen)
                .fix("correct the policy; until then its last valid version is in force, if it had one")
                .command(format!(
                    "kubectl describe addonpolicy {}",
                    text(first, "/metadata/name")
                )),
        );
    }
    if unseen > 0 {
        let seen = format!(
            "{unseen} of {} policies have no status: the controllers of Tidegate have not processed them",
            policies.len()
        );
        findings.push(
            Finding::warning(POLICIES, seen)
                .fix("start the controllers")
                .command("kubectl get addonpolicies"),
        );
    }
    findings
}

pub(super) fn stalled(fleet: &Fleet) -> Vec<Finding> {
    let addons = match &fleet.addons {
        Reading::NotAsked => return Vec::new(),
        Reading::Refused(why) => {
            return vec![Finding::unknown(
                STALLED,
                format!("add-ons cannot be read: {why}"),
            )];
        }
        Reading::Seen(addons) => addons,
    };
    let roll_ups = seen(&fleet.rollouts);
    let still = stalled_objects(addons.iter().chain(roll_ups));
    let (unread, rest): (Vec<_>, Vec<_>) = still
        .into_iter()
        .partition(|(_, one)| Reason::word_is(text(one, "/reason"), Class::Unread));
    let mut findings = Vec::new();
    if let Some((first, _)) = unread.first() {
        let name = text(first, "/metadata/name");
        let seen = format!(
            "the controllers cannot read the objects that {} depends on, and do not change them: {}",
            counted(unread.len(), "add-on"),
            told(&unread, fleet.listing)
        );
        findings.push(
            Finding::error(STALLED, seen)
                .fix("grant the controllers permission to get the object (manifests/rbac of this version), or check why the API server \
                       does not respond")
                .command(format!("tidegate why {name}")),
        );
    }
    if let Some((first, _)) = rest.first() {
        let (count, name) = (rest.len(), text(first, "/metadata/name"));
        let seen = format!(
            "{count} of {} add-ons are stalled: {}",
            addons.len(),
            told(&rest, fleet.listing)
        );
        findings.push(
            Finding::warning(STALLED, seen)
                .fix("each requires an administrator; show the cause with tidegate why")
                .command(format!("tidegate why {name}")),
        );
    }
    findings.extend(upgrades(seen(&fleet.upgrades), fleet.listing));
    if findings.is_empty() {
        let everywhere = format!("{}, and none is stalled", counted(addons.len(), "add-on"));
        let on_clusters = on_clusters(seen(&fleet.instances));
        findings.push(on_clusters.unwrap_or_else(|| Finding::ok(STALLED, everywhere)));
    }
    findings
}

fn seen(reading: &Reading<Vec<Value>>) -> &[Value] {
    match reading {
        Reading::Seen(objects) => objects,
        Reading::NotAsked | Reading::Refused(_) => &[],
    }
}

/// Reports stalled upgrades of clusters.
fn upgrades(upgrades: &[Value], listing: Listing) -> Option<Finding> {
    let still: Vec<(&Value, &Value)> = upgrades
        .iter()
        .filter_map(|upgrade| Some((upgrade, still(upgrade)?)))
        .collect();
    let (first, _) = still.first()?;
    let all = upgrades.len();
    let seen = format!(
        "{} of {all} ManagedClustersUpgrades are stalled: {}",
        still.len(),
        told(&still, listing)
    );
    let (namespace, name) = (text(first, "/metadata/namespace"), text(first, "/metadata/name"));
    Some(
        Finding::warning(STALLED, seen)
            .fix("each requires an administrator; show the cause with tidegate why")
            .command(format!("tidegate why mcu/{namespace}/{name}")),
    )
}

/// Returns the stalled objects, each name once, with the condition.
fn stalled_objects<'a>(objects: impl Iterator<Item = &'a Value>) -> Vec<(&'a Value, &'a Value)> {
    let mut names = BTreeSet::new();
    objects
        .filter_map(|object| Some((object, still(object)?)))
        .filter(|(object, _)| names.insert(text(object, "/metadata/name")))
        .collect()
}

/// Returns the condition of a stalled object. A placement that does not exist is waited for only because it may be applied
/// next.
fn still(object: &Value) -> Option<&Value> {
    let stalled = condition(object, "Stalled").filter(|one| text(one, "/status") == "True");
    stalled.or_else(|| {
        let ready = condition(object, "Ready")?;
        let is_missing = *text(ready, "/reason") == Reason::PlacementNotFound;
        (is_missing && text(ready, "/status") == "False").then_some(ready)
    })
}

/// Reports stalled instances of add-ons that are not stalled as a whole.
fn on_clusters(instances: &[Value]) -> Option<Finding> {
    let stands = |one: &&Value| {
        condition(one, "Stalled").is_some_and(|condition| text(condition, "/status") == "True")
    };
    let first = instances.iter().find(stands)?;
    let count = instances.iter().filter(stands).count();
    let seen = format!("{count} of {} ManagedClusterAddOns are stalled", instances.len());
    let (name, cluster) = (text(first, "/metadata/name"), text(first, "/metadata/namespace"));
    let finding = Finding::warning(STALLED, seen).fix("show the cause with tidegate why");
    Some(finding.command(format!("tidegate why {name} --cluster {cluster}")))
}

pub(super) fn malformed(fleet: &Fleet) -> Option<Finding> {
    let faults = match &fleet.malformed {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                MALFORMED,
                format!("not every object was checked: {why}"),
            ));
        }
        Reading::Seen(faults) => faults,
    };
    if faults.is_empty() {
        return Some(Finding::ok(MALFORMED, "every object can be decoded"));
    }
    let longest = fleet.listing.most(LONGEST);
    let words: Vec<String> = faults
        .iter()
        .map(|(words, _)| shortened(words, longest))
        .collect();
    let seen = format!(
        "{} cannot be decoded and are ignored: {}",
        counted(faults.len(), "object"),
        several(&words, fleet.listing.most(NAMED))
    );
    let command = faults.first().map_or("", |(_, command)| command);
    Some(
        Finding::error(MALFORMED, seen)
            .fix("correct them; the webhook rejects such objects, so they were stored while it was unavailable")
            .command(command),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use serde_json::json;

    fn object(name: &str, kind: &str, status: &str, reason: &str) -> Value {
        json!({"metadata": {"name": name, "namespace": "c1"},
            "status": {"conditions": [{"type": kind, "status": status, "reason": reason, "message": "the words"}]}})
    }

    #[test]
    fn a_policy_that_does_not_compile_is_reported_with_its_message() {
        let said = |all: Vec<Value>| {
            policies(&Fleet {
                policies: Reading::Seen(all),
                ..Fleet::default()
            })
        };
        let good = object("good", "Compiled", "True", "Compiled");
        assert_eq!(said(vec![good.clone()])[0].severity, Severity::Ok);
        let bad = object("bad", "Compiled", "False", "DoesNotCompile");
        let found = said(vec![good, bad]);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(
            found[0].seen.contains("bad: DoesNotCompile: the words"),
            "{}",
            found[0].seen
        );
        assert_eq!(found[0].command, "kubectl describe addonpolicy bad");
        assert_eq!(
            said(vec![json!({"metadata": {"name": "new"}})])[0].severity,
            Severity::Warning
        );
        let hidden = policies(&Fleet {
            policies: Reading::Refused("no".to_owned()),
            ..Fleet::default()
        });
        assert_eq!(hidden[0].severity, Severity::Unknown);
    }

    #[test]
    fn stalled_add_ons_are_named() {
        let said = |addons: Vec<Value>, instances: Vec<Value>| {
            let fleet = Fleet {
                addons: Reading::Seen(addons),
                instances: Reading::Seen(instances),
                ..Fleet::default()
            };
            stalled(&fleet)
        };
        let sound = object("sound", "Stalled", "False", "NotStalled");
        assert_eq!(said(vec![sound.clone()], Vec::new())[0].severity, Severity::Ok);
        let still = object("still", "Stalled", "True", "TooManyFailures");
        let found = said(vec![sound.clone(), still.clone()], Vec::new());
        assert_eq!((found.len(), found[0].severity), (1, Severity::Warning));
        assert_eq!(found[0].command, "tidegate why still");
        for reason in ["ReadFailed", "RemovalUnconfirmed"] {
            let held = object("held", "Stalled", "True", reason);
            let found = said(vec![sound.clone(), held], Vec::new());
            assert_eq!(found.len(), 1);
            assert_eq!(
                (found[0].severity, &*found[0].command),
                (Severity::Error, "tidegate why held")
            );
            assert!(
                found[0].seen.contains(&format!("held: {reason}: the words")),
                "{}",
                found[0].seen
            );
        }
        let found = said(vec![sound], vec![still.clone()]);
        assert_eq!(found[0].command, "tidegate why still --cluster c1");
        // Where OCM's definitions keep no conditions, the roll-up has them.
        let fleet = Fleet {
            addons: Reading::Seen(vec![json!({"metadata": {"name": "still"}})]),
            rollouts: Reading::Seen(vec![still]),
            ..Fleet::default()
        };
        assert_eq!(stalled(&fleet)[0].severity, Severity::Warning);
    }

    #[test]
    fn a_stalled_upgrade_is_reported_and_so_is_a_missing_placement() {
        let upgrade = object("to-4-12", "Stalled", "True", "ClusterIDUnknown");
        let fleet = Fleet {
            addons: Reading::Seen(Vec::new()),
            upgrades: Reading::Seen(vec![upgrade]),
            ..Fleet::default()
        };
        let found = stalled(&fleet);
        assert_eq!(found[0].severity, Severity::Warning);
        assert_eq!(found[0].command, "tidegate why mcu/c1/to-4-12");
        assert!(
            found[0]
                .seen
                .starts_with("1 of 1 ManagedClustersUpgrades are stalled: to-4-12: ClusterIDUnknown"),
            "{}",
            found[0].seen
        );
        let addon = |reason: &str| Fleet {
            addons: Reading::Seen(vec![object("hello", "Ready", "False", reason)]),
            ..Fleet::default()
        };
        assert_eq!(
            stalled(&addon("PlacementNotFound"))[0].severity,
            Severity::Warning
        );
        assert_eq!(stalled(&addon("Progressing"))[0].severity, Severity::Ok);
    }

    #[test]
    fn an_object_that_cannot_be_read_is_named() {
        let said = |faults: Reading<Vec<(String, String)>>| {
            malformed(&Fleet {
                malformed: faults,
                ..Fleet::default()
            })
            .expect("said")
        };
        assert_eq!(said(Reading::Seen(Vec::new())).severity, Severity::Ok);
        let found = said(Reading::Seen(vec![(
            "ManagedCluster c1: no name".to_owned(),
            "kubectl get managedcluster c1 -o yaml".to_owned(),
        )]));
        assert_eq!(found.severity, Severity::Error);
        assert!(found.seen.contains("c1: no name"), "{}", found.seen);
        assert_eq!(
            said(Reading::Refused("no".to_owned())).severity,
            Severity::Unknown
        );
    }
}
