//! Checks which other program manages add-ons, and which replica of Tidegate writes.
//!
//! Decides what a Lease, the switch of OCM's operator and the marks of add-ons say together. Never decides who should manage.

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::doctor::facts::{Election, HubFacts, Reading, Stage};
use crate::doctor::finding::Finding;
use api::definitions::version_annotation;
use api::names::annotations::{LIFECYCLE, LIFECYCLE_TIDEGATE};
use kubernetes::field::{counted, listed};

const OPERATOR: &str = "ocm/version";
const STOCK: &str = "ocm/addon-manager";
const ELECTION: &str = "election/lease";

/// How long the Leases of Tidegate's replicas last, which renew them every two seconds.
const OURS_LASTS: SignedDuration = SignedDuration::from_secs(15);
/// A Lease that was not renewed for so long has no holder, whatever it announces: the controllers believe it no longer either.
const LONGEST: SignedDuration = SignedDuration::from_secs(120);
/// How far ahead a renewal may lie, for want of equal clocks.
const AHEAD: SignedDuration = SignedDuration::from_secs(-10);

/// The release of OCM that was tried (`docs/ocm/compatibility.md`).
const TRIED: (u64, u64) = (1, 3);
/// A kind that OCM's operator defines, on which it writes its version.
const OF_OPERATOR: &str = "managedclusters.cluster.open-cluster-management.io";

pub(super) fn operator(facts: &HubFacts) -> Option<Finding> {
    let Reading::Seen(definitions) = &facts.definitions else {
        return None;
    };
    let Some(version) = definitions.get(OF_OPERATOR).and_then(version_annotation) else {
        return Some(Finding::note(
            OPERATOR,
            "OCM's definitions have no annotation with the version of its operator",
        ));
    };
    let mut numbers = version.trim_start_matches('v').split(['.', '-', '+']);
    let mut next = || numbers.next()?.parse::<u64>().ok();
    let found = (next(), next());
    let seen = format!("OCM {version}");
    match found {
        (Some(major), Some(minor)) if (major, minor) == TRIED => Some(Finding::ok(OPERATOR, seen)),
        (Some(_), Some(_)) => Some(
            Finding::note(OPERATOR, format!("{seen}, which was not tested with Tidegate"))
                .fix("read docs/ocm/compatibility.md, and start with --controllers observe"),
        ),
        (Some(_) | None, None) | (None, Some(_)) => Some(Finding::unknown(
            OPERATOR,
            format!("{seen} is not a valid version"),
        )),
    }
}

fn whole_seconds(age: SignedDuration) -> SignedDuration {
    SignedDuration::from_secs(age.as_secs())
}

/// What a Lease says at the time of the hub.
struct Held<'a> {
    holder: &'a str,
    age: Option<SignedDuration>,
    lasts: SignedDuration,
}

impl<'a> Held<'a> {
    fn of(lease: &'a Value, now: Timestamp) -> Self {
        let spec = lease.get("spec").unwrap_or(&Value::Null);
        let text = |field: &str| spec.get(field).and_then(Value::as_str).unwrap_or_default();
        let lasts = spec.get("leaseDurationSeconds").and_then(Value::as_i64);
        Self {
            holder: text("holderIdentity"),
            age: text("renewTime")
                .parse()
                .ok()
                .map(|renewed: Timestamp| now.duration_since(renewed)),
            lasts: SignedDuration::from_secs(lasts.unwrap_or_default()),
        }
    }

    fn is_alive(&self) -> bool {
        let longest = if self.is_ours() { OURS_LASTS * 2 } else { LONGEST };
        let is_recent = |age: SignedDuration| AHEAD < age && age < self.lasts.min(longest);
        !self.holder.is_empty() && self.age.is_some_and(is_recent)
    }

    /// Returns a value that a holder that renews in time does not write.
    fn oddity(&self) -> Option<String> {
        let off = self.age.filter(|age| *age < AHEAD || *age > LONGEST);
        if let Some(age) = off {
            let off = whole_seconds(age.abs());
            let which = if age.is_negative() { "ahead of" } else { "behind" };
            return Some(format!(
                "the clock of its machine is {off:#} {which} the clock of the hub"
            ));
        }
        let is_odd = self.is_ours() && self.lasts != OURS_LASTS;
        is_odd.then(|| {
            format!(
                "its duration is {:#}, but a replica of Tidegate uses {:#}: another client has written it",
                self.lasts, OURS_LASTS
            )
        })
    }

    fn is_ours(&self) -> bool {
        self.holder.starts_with("tidegate_")
    }

    fn age(&self) -> String {
        let whole = self.age.map(|age| whole_seconds(age.abs()));
        match (whole, self.age.is_some_and(|age| age < AHEAD)) {
            (None, _) => "never".to_owned(),
            (Some(age), true) => format!("{age:#} in the future"),
            (Some(age), false) => format!("{age:#} ago"),
        }
    }
}

/// The time by which Leases are judged: the hub's, else this machine's.
fn now(facts: &HubFacts) -> Option<Timestamp> {
    match &facts.dates {
        Reading::Seen(dates) => Some(dates.hub),
        Reading::NotAsked | Reading::Refused(_) => None,
    }
}

pub(super) fn stock(facts: &HubFacts) -> Option<Finding> {
    let election = match &facts.stock {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            let seen = format!("the Lease of OCM's add-on manager cannot be read: {why}");
            return Some(Finding::unknown(STOCK, seen).fix(
                "grant `list` and `watch` on that Lease (manifests/rbac/controllers.yaml); until then Tidegate does not manage its add-ons",
            ));
        }
        Reading::Seen(election) => election,
    };
    let is_off = switched_off(&facts.managers);
    let held = election
        .lease
        .as_ref()
        .zip(now(facts))
        .map(|(lease, now)| Held::of(lease, now));
    let Some(held) = held.filter(Held::is_alive) else {
        let rest = match is_off {
            Some(true) => " and is disabled in its ClusterManager",
            Some(false) => "; OCM's operator keeps its Deployment, so it may become active again",
            None => "",
        };
        return Some(Finding::ok(
            STOCK,
            format!("OCM's add-on manager is not active{rest}"),
        ));
    };
    if held.is_ours() {
        let seen = format!(
            "Tidegate holds the Lease {} of OCM's add-on manager ({})",
            election.place, held.holder
        );
        return Some(Finding::ok(STOCK, seen));
    }
    Some(at_work(&held, &listed_templates(&facts.fleet.addons), is_off))
}

/// Returns the finding while OCM's manager holds its Lease.
fn at_work(held: &Held<'_>, fought: &[String], is_off: Option<bool>) -> Finding {
    if let Some(first) = fought.first() {
        let seen = format!(
            "OCM's add-on manager is active ({}) and also manages {}, in spite of the annotation lifecycle=tidegate: both overwrite each \
             other's changes indefinitely",
            held.holder,
            listed(fought.iter().map(String::as_str))
        );
        return Finding::error(STOCK, seen)
            .fix("remove addontemplates from spec.supportedConfigs of these add-ons, then restart OCM's add-on manager \
                   (docs/ocm/beside.md)")
            .command(format!("kubectl edit clustermanagementaddon {first}"));
    }
    let seen = format!(
        "OCM's add-on manager is active ({}, renewed {}); it manages the add-ons without the annotation lifecycle=tidegate",
        held.holder,
        held.age()
    );
    let finding = match is_off {
        Some(true) => Finding::warning(STOCK, format!("{seen}, although AddonManagement is disabled")),
        Some(false) | None => Finding::note(STOCK, seen),
    };
    finding.fix("choose which program manages add-ons: docs/ocm/beside.md or docs/ocm/instead.md")
}

/// Returns whether the ClusterManager disables OCM's add-on manager; `None` if there is no operator.
fn switched_off(managers: &Reading<Vec<Value>>) -> Option<bool> {
    let Reading::Seen(managers) = managers else {
        return None;
    };
    let first = managers.first()?;
    let gates = first
        .pointer("/spec/addOnManagerConfiguration/featureGates")
        .and_then(Value::as_array);
    let is_off = |gate: &Value| {
        let text = |field: &str| gate.get(field).and_then(Value::as_str);
        text("feature") == Some("AddonManagement") && text("mode") == Some("Disable")
    };
    Some(gates.into_iter().flatten().any(is_off))
}

/// Returns the add-ons that are marked for Tidegate, and that OCM runs a manager of its own for all the same.
fn listed_templates(addons: &Reading<Vec<Value>>) -> Vec<String> {
    let Reading::Seen(addons) = addons else {
        return Vec::new();
    };
    let is_fought = |addon: &&Value| {
        let marks = addon.pointer("/metadata/annotations");
        let mark = marks.and_then(|all| all.get(LIFECYCLE)).and_then(Value::as_str);
        let types = addon.pointer("/spec/supportedConfigs").and_then(Value::as_array);
        let is_template = |one: &Value| one.get("resource").and_then(Value::as_str) == Some("addontemplates");
        mark == Some(LIFECYCLE_TIDEGATE) && types.into_iter().flatten().any(is_template)
    };
    let names = addons.iter().filter(is_fought);
    names
        .filter_map(|addon| addon.pointer("/metadata/name")?.as_str())
        .map(str::to_owned)
        .collect()
}

pub(super) fn election(facts: &HubFacts) -> Option<Finding> {
    let election = match &facts.election {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            let seen = format!("the Lease of the leader election cannot be read: {why}");
            return Some(
                Finding::unknown(ELECTION, seen).fix("specify the Lease with --elect, and grant `get` on it"),
            );
        }
        Reading::Seen(election) => election,
    };
    let Election {
        place, lease, named, ..
    } = election;
    let (namespace, name) = place.split_once('/').unwrap_or(("", place));
    let look = format!("kubectl get lease {name} -n {namespace} -o yaml");
    if facts.stage == Stage::BeforeStart {
        return None;
    }
    let Some(lease) = lease else {
        let seen = format!("there is no Lease {place}");
        return Some(if *named {
            Finding::error(
                ELECTION,
                format!("{seen}: no replica has taken part in the leader election, so no replica writes"),
            )
            .fix("start the controllers, or pass the Lease of their leader election")
            .command(format!("kubectl get deployments,leases -n {namespace}"))
        } else {
            Finding::note(
                ELECTION,
                format!("{seen}: no leader election, which is correct if only one process writes"),
            )
            .fix("pass --elect to doctor if there are several replicas: then a missing leader is an error")
        });
    };
    let held = Held::of(lease, now(facts)?);
    Some(if election.renewed || held.is_alive() {
        let finding = led(&held, place, lease);
        if held.is_ours() {
            finding
        } else {
            finding.command(look)
        }
    } else {
        without_leader(&held, place)
    })
}

fn led(held: &Held<'_>, place: &str, lease: &Value) -> Finding {
    let transitions = lease.pointer("/spec/leaseTransitions").and_then(Value::as_u64);
    let count = transitions.map(|count| usize::try_from(count).unwrap_or(usize::MAX));
    let handed = count.map_or_else(String::new, |count| format!(", {}", counted(count, "change")));
    let seen = format!("{} holds {place}, renewed {}{handed}", held.holder, held.age());
    if !held.is_ours() {
        let seen = format!("{seen}; the holder is not a replica of Tidegate, so Tidegate writes nothing");
        return Finding::error(ELECTION, seen)
            .fix("wait until that Lease expires, or use another Lease (--elect)");
    }
    match held.oddity() {
        None => Finding::ok(ELECTION, seen),
        Some(odd) => Finding::warning(ELECTION, format!("{seen}; {odd}"))
            .fix("correct the clock of that machine; another replica takes over a Lease that is not renewed within two minutes"),
    }
}

fn without_leader(held: &Held<'_>, place: &str) -> Finding {
    let seen = if held.holder.is_empty() {
        format!("no replica holds {place}, so no replica writes")
    } else {
        format!(
            "{} held {place} and renewed it {}; the Lease has expired, and no replica writes",
            held.holder,
            held.age()
        )
    };
    Finding::error(ELECTION, seen)
        .fix("start the controllers, or check in their log why no replica becomes the leader")
        .command("kubectl logs -n tidegate deployment/tidegate-controllers")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Dates;
    use crate::doctor::finding::Severity;
    use serde_json::json;
    use std::collections::BTreeMap;

    const OCMS: &str = "hub-1_0d9c1f6e-5b1e-4a43-8f0e-3a5c5c1a9f10";

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    fn facts() -> HubFacts {
        let now = at("2030-01-01T00:00:20Z");
        HubFacts {
            dates: Reading::Seen(Dates { hub: now, here: now }),
            ..HubFacts::default()
        }
    }

    fn lease(holder: &str, renewed: &str) -> Reading<Election> {
        lasting(holder, renewed, 15)
    }

    /// One that was written while it was looked at.
    fn moving(holder: &str, renewed: &str) -> Reading<Election> {
        Reading::Seen(Election {
            renewed: true,
            ..held_for(holder, renewed, 15)
        })
    }

    fn lasting(holder: &str, renewed: &str, seconds: u32) -> Reading<Election> {
        Reading::Seen(held_for(holder, renewed, seconds))
    }

    fn held_for(holder: &str, renewed: &str, seconds: u32) -> Election {
        let spec = json!({"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": seconds, "leaseTransitions": 2});
        Election {
            place: "tidegate/leader".to_owned(),
            lease: Some(json!({"spec": spec})),
            named: true,
            renewed: false,
        }
    }

    /// Asserts the severity and the message for each Lease.
    fn reports(rows: Vec<(Reading<Election>, Severity, &str)>) {
        for (election_fact, severity, words) in rows {
            let facts = HubFacts {
                election: election_fact,
                ..facts()
            };
            let found = election(&facts).expect("said");
            assert_eq!(found.severity, severity, "{}", found.seen);
            assert!(found.seen.contains(words), "{}", found.seen);
        }
    }

    #[test]
    fn a_lease_that_is_not_renewed_is_reported_with_its_age() {
        use Severity::{Error, Ok, Unknown};
        let ours = "tidegate_a_1";
        reports(vec![
            (lease(ours, "2030-01-01T00:00:18.5Z"), Ok, "1s ago, 2 changes"),
            (
                lease(ours, "2030-01-01T00:00:00Z"),
                Error,
                "20s ago; the Lease has expired",
            ),
            (lease("", "2030-01-01T00:00:18Z"), Error, "no replica holds"),
            (
                lease(OCMS, "2030-01-01T00:00:18Z"),
                Error,
                "not a replica of Tidegate",
            ),
            (
                lasting(OCMS, "2029-12-31T23:58:00Z", 86_400),
                Error,
                "the Lease has expired",
            ),
            (Reading::Refused("no".to_owned()), Unknown, "cannot be read"),
        ]);
    }

    /// What announces a day, or lies in the future, is no proof of life; what moves is, whatever its clock says.
    #[test]
    fn a_lease_is_alive_when_it_moves_and_not_because_it_says_so() {
        use Severity::{Error, Ok, Warning};
        let ours = "tidegate_a_1";
        reports(vec![
            (
                lasting(ours, "2029-12-31T23:59:40Z", 86_400),
                Error,
                "40s ago; the Lease has expired",
            ),
            (
                lasting(ours, "2030-01-01T00:00:18Z", 86_400),
                Warning,
                "its duration is 24h",
            ),
            (
                lease(ours, "2030-01-01T01:00:20Z"),
                Error,
                "1h in the future; the Lease has expired",
            ),
            (
                moving(ours, "2030-01-01T01:00:20Z"),
                Warning,
                "1h ahead of the clock of the hub",
            ),
            (
                moving(ours, "2029-01-01T00:00:00Z"),
                Warning,
                "behind the clock of the hub",
            ),
            (moving(ours, "2030-01-01T00:00:18Z"), Ok, "2s ago"),
        ]);
    }

    #[test]
    fn no_lease_at_all_is_an_error_where_replicas_are_said_to_elect() {
        let said = |named: bool, stage: Stage| {
            let nothing = Election {
                place: "a/b".to_owned(),
                named,
                ..Election::default()
            };
            let facts = HubFacts {
                election: Reading::Seen(nothing),
                stage,
                ..facts()
            };
            election(&facts).map(|found| found.severity)
        };
        assert_eq!(said(false, Stage::Running), Some(Severity::Note));
        assert_eq!(said(true, Stage::Running), Some(Severity::Error));
        assert_eq!(
            said(true, Stage::BeforeStart),
            None,
            "before the start no replica leads"
        );
    }

    #[test]
    fn two_managers_of_one_template_add_on_are_an_error_and_one_beside_us_is_a_note() {
        let mut facts = HubFacts {
            stock: lease(OCMS, "2030-01-01T00:00:18Z"),
            ..facts()
        };
        assert_eq!(stock(&facts).expect("said").severity, Severity::Note);
        let addon = json!({"metadata": {"name": "hello", "annotations": {LIFECYCLE: "tidegate"}},
            "spec": {"supportedConfigs": [{"resource": "addontemplates"}]}});
        facts.fleet.addons = Reading::Seen(vec![addon]);
        let found = stock(&facts).expect("said");
        assert_eq!(found.severity, Severity::Error);
        assert_eq!(found.command, "kubectl edit clustermanagementaddon hello");
        facts.fleet.addons = Reading::NotAsked;
        let gate = json!({"spec": {"addOnManagerConfiguration": {"featureGates": [{"feature": "AddonManagement", "mode": "Disable"}]}}});
        facts.managers = Reading::Seen(vec![gate]);
        assert_eq!(stock(&facts).expect("said").severity, Severity::Warning);
        facts.stock = lease(OCMS, "2030-01-01T00:00:00Z");
        assert_eq!(stock(&facts).expect("said").severity, Severity::Ok);
        facts.stock = Reading::Refused("forbidden".to_owned());
        assert_eq!(stock(&facts).expect("said").severity, Severity::Unknown);
    }

    #[test]
    fn the_version_of_ocm_is_reported_and_an_untested_one_is_a_note() {
        let of = |version: &str| {
            let definition = json!({"metadata": {"annotations": {"operator.open-cluster-management.io/version": version}}});
            let definitions = BTreeMap::from([(OF_OPERATOR.to_owned(), definition)]);
            operator(&HubFacts {
                definitions: Reading::Seen(definitions),
                ..HubFacts::default()
            })
            .expect("said")
        };
        assert_eq!(of("1.3.1").severity, Severity::Ok);
        assert_eq!(of("v1.4.0-rc1").severity, Severity::Note);
        assert_eq!(of("latest").severity, Severity::Unknown);
    }
}
