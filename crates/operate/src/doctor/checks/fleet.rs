//! Checks the placement controller and the agents of the clusters.
//!
//! A program is considered down if it has not written what it should.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::doctor::facts::{Fleet, HubFacts, Reading};
use crate::doctor::finding::{Finding, several};
use api::names::labels::PLACEMENT;
use kubernetes::field::{Listing, counted};

const PLACEMENTS: &str = "clusters/placements";
const CLUSTERS: &str = "clusters/available";
const AGENTS: &str = "clusters/work-agents";

/// How long a program may take to report the status of an object.
const PATIENCE: SignedDuration = SignedDuration::from_mins(5);
/// How many names are listed; the others are counted.
const NAMED: usize = 5;

fn named(names: &BTreeSet<String>, listing: Listing) -> String {
    let names: Vec<String> = names.iter().cloned().collect();
    several(&names, listing.most(NAMED))
}

fn text<'a>(object: &'a Value, at: &str) -> &'a str {
    object.pointer(at).and_then(Value::as_str).unwrap_or_default()
}

fn unread(id: &'static str, what: &str, why: &str) -> Finding {
    Finding::unknown(id, format!("{what} cannot be read: {why}"))
}

pub(super) fn placements(fleet: &Fleet) -> Option<Finding> {
    let (placements, decisions) = match (&fleet.placements, &fleet.decisions) {
        (Reading::Refused(why), _) => return Some(unread(PLACEMENTS, "placements", why)),
        (_, Reading::Refused(why)) => return Some(unread(PLACEMENTS, "placement decisions", why)),
        (Reading::Seen(placements), Reading::Seen(decisions)) => (placements, decisions),
        (Reading::NotAsked, _) | (_, Reading::NotAsked) => return None,
    };
    let decided: BTreeSet<(String, String)> = decisions
        .iter()
        .map(|decision| {
            let labels = decision.pointer("/metadata/labels");
            let of = labels.and_then(|all| all.get(PLACEMENT)).and_then(Value::as_str);
            (
                text(decision, "/metadata/namespace").to_owned(),
                of.unwrap_or_default().to_owned(),
            )
        })
        .collect();
    let is_reported = |placement: &&Value| {
        let conditions = placement.pointer("/status/conditions").and_then(Value::as_array);
        conditions.is_some_and(|all| !all.is_empty())
    };
    let silent = placements.iter().filter(|one| {
        let key = (
            text(one, "/metadata/namespace").to_owned(),
            text(one, "/metadata/name").to_owned(),
        );
        !decided.contains(&key) && !is_reported(one)
    });
    let silent: BTreeSet<String> = silent.map(key_of).collect();
    if silent.is_empty() {
        let unbound = placements.iter().filter(|one| has_no_sets(one));
        let unbound: BTreeSet<String> = unbound.map(key_of).collect();
        if let Some(first) = unbound.first() {
            let namespace = first.split('/').next().unwrap_or_default();
            let seen = format!(
                "{} without clusters, because no cluster set is bound to the namespace: {}",
                counted(unbound.len(), "placement"),
                named(&unbound, fleet.listing)
            );
            let fix = "create a ManagedClusterSetBinding in the namespace: until then, add-ons are not installed by this placement, and \
                       existing ones are uninstalled";
            let found = Finding::warning(PLACEMENTS, seen).fix(fix);
            return Some(found.command(format!("kubectl get managedclustersetbindings -n {namespace}")));
        }
        // One that is named and does not exist is a finding of its own.
        if missing_placements(fleet).is_some() {
            return None;
        }
        let seen = format!(
            "{}, all with a PlacementDecision",
            counted(placements.len(), "placement")
        );
        return Some(Finding::ok(PLACEMENTS, seen));
    }
    let seen = format!(
        "{} without a PlacementDecision: {}",
        counted(silent.len(), "placement"),
        named(&silent, fleet.listing)
    );
    Some(
        Finding::error(PLACEMENTS, seen)
            .fix("start OCM's placement controller, and check its log: without PlacementDecisions no add-on is installed")
            .command("kubectl get deployment -n open-cluster-management-hub cluster-manager-placement-controller"),
    )
}

fn key_of(object: &Value) -> String {
    format!(
        "{}/{}",
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name")
    )
}

/// Whether OCM's placement controller reports that no cluster set is bound to the namespace of a placement.
fn has_no_sets(placement: &Value) -> bool {
    let conditions = placement.pointer("/status/conditions").and_then(Value::as_array);
    let mut conditions = conditions.into_iter().flatten();
    conditions
        .any(|one| text(one, "/reason") == "NoManagedClusterSetBindings" && text(one, "/status") == "False")
}

/// Returns the placements that add-ons and upgrades name and that do not exist.
pub(super) fn missing_placements(fleet: &Fleet) -> Option<Finding> {
    let Reading::Seen(placements) = &fleet.placements else {
        return None;
    };
    let known: BTreeSet<(&str, &str)> = placements.iter().map(place).collect();
    let mut missing: BTreeMap<(&str, &str), String> = BTreeMap::new();
    let addons = read(&fleet.addons).iter().map(|addon| (addon, of_addon(addon)));
    let upgrades = read(&fleet.upgrades)
        .iter()
        .map(|upgrade| (upgrade, of_upgrade(upgrade)));
    for (object, named) in addons.chain(upgrades) {
        for place in named.into_iter().filter(|place| !known.contains(place)) {
            missing
                .entry(place)
                .or_insert_with(|| text(object, "/metadata/name").to_owned());
        }
    }
    let words: Vec<String> = missing
        .iter()
        .map(|((namespace, name), by)| format!("{namespace}/{name} (referenced by {by})"))
        .collect();
    let first = missing.keys().next()?;
    let verb = match words.len() {
        1 => "1 placement does not exist".to_owned(),
        count => format!("{count} placements do not exist"),
    };
    Some(
        Finding::error(PLACEMENTS, format!("{verb}: {}", several(&words, NAMED)))
            .fix("create the placement, or refer to an existing one; until then clusters keep their configuration, and no change starts")
            .command(format!("kubectl get placements -n {}", first.0)),
    )
}

fn place(object: &Value) -> (&str, &str) {
    (
        text(object, "/metadata/namespace"),
        text(object, "/metadata/name"),
    )
}

fn read(reading: &Reading<Vec<Value>>) -> &[Value] {
    match reading {
        Reading::Seen(objects) => objects,
        Reading::NotAsked | Reading::Refused(_) => &[],
    }
}

/// The placements that an add-on follows: a list that another install strategy leaves in the spec does not count.
fn of_addon(addon: &Value) -> Vec<(&str, &str)> {
    let mut all = Vec::new();
    if text(addon, "/spec/installStrategy/type") == "Placements" {
        all.extend(listed(addon, "/spec/installStrategy/placements"));
    }
    let rolling = addon.pointer("/spec/configuration/rolloutStrategy/rollingUpdateWithPlacement");
    all.extend(rolling.map(|one| (text(one, "/namespace"), text(one, "/name"))));
    all
}

fn of_upgrade(upgrade: &Value) -> Vec<(&str, &str)> {
    listed(upgrade, "/spec/placement").collect()
}

fn listed<'a>(object: &'a Value, at: &str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let all = object.pointer(at).and_then(Value::as_array);
    all.into_iter()
        .flatten()
        .map(|one| (text(one, "/namespace"), text(one, "/name")))
}

pub(super) fn clusters(fleet: &Fleet) -> Option<Finding> {
    let clusters = match &fleet.clusters {
        Reading::NotAsked => return None,
        Reading::Refused(why) => return Some(unread(CLUSTERS, "clusters", why)),
        Reading::Seen(clusters) => clusters,
    };
    let away = clusters
        .iter()
        .filter(|one| !holds(one, "ManagedClusterConditionAvailable"));
    let away: BTreeSet<String> = away.map(|one| text(one, "/metadata/name").to_owned()).collect();
    if clusters.is_empty() {
        return Some(Finding::note(CLUSTERS, "no cluster is registered"));
    }
    if away.is_empty() {
        return Some(Finding::ok(
            CLUSTERS,
            format!("all {} are available", counted(clusters.len(), "cluster")),
        ));
    }
    let seen = format!(
        "{} of {} are not available: {}",
        away.len(),
        counted(clusters.len(), "cluster"),
        named(&away, fleet.listing)
    );
    let first = away.first().map_or("", String::as_str);
    Some(
        Finding::warning(CLUSTERS, seen)
            .fix(
                "check the klusterlet of these clusters; a rollout waits for them until its progressDeadline",
            )
            .command(format!("kubectl describe managedcluster {first}")),
    )
}

fn holds(object: &Value, kind: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| text(one, "/type") == kind && text(one, "/status") == "True")
}

pub(super) fn agents(facts: &HubFacts) -> Option<Finding> {
    let works = match &facts.fleet.works {
        Reading::NotAsked => return None,
        Reading::Refused(why) => return Some(unread(AGENTS, "works", why)),
        Reading::Seen(works) => works,
    };
    let Reading::Seen(dates) = &facts.dates else {
        return None;
    };
    let mut by_cluster: BTreeMap<String, (usize, usize)> = BTreeMap::new();
    for work in works.iter().filter(|work| is_old(work, dates.hub)) {
        let count = by_cluster
            .entry(text(work, "/metadata/namespace").to_owned())
            .or_default();
        count.0 += 1;
        count.1 += usize::from(!is_answered(work));
    }
    // An agent that has answered some of its works is alive: what it has not answered is a matter of that work.
    let silent: BTreeSet<String> = by_cluster
        .iter()
        .filter(|(_, (all, unanswered))| all == unanswered)
        .map(|(cluster, _)| cluster.clone())
        .collect();
    if by_cluster.is_empty() {
        let seen = format!("{}, none older than {PATIENCE:#}", counted(works.len(), "work"));
        return Some(Finding::ok(AGENTS, seen));
    }
    if silent.is_empty() {
        let seen = format!(
            "the agents of {} report the status of {}",
            counted(by_cluster.len(), "cluster"),
            counted(works.len(), "work")
        );
        return Some(Finding::ok(AGENTS, seen));
    }
    let seen = format!(
        "the work agents of {} have not reported for more than {PATIENCE:#}: {}",
        counted(silent.len(), "cluster"),
        named(&silent, facts.fleet.listing)
    );
    let first = silent.first().map_or("", String::as_str);
    Some(
        Finding::warning(AGENTS, seen)
            .fix("check the klusterlet work agent of these clusters")
            .command(format!("kubectl get manifestworks -n {first}")),
    )
}

fn is_old(work: &Value, now: Timestamp) -> bool {
    let made = text(work, "/metadata/creationTimestamp").parse::<Timestamp>();
    made.is_ok_and(|made| now.duration_since(made) > PATIENCE)
}

fn is_answered(work: &Value) -> bool {
    let conditions = work.pointer("/status/conditions").and_then(Value::as_array);
    conditions
        .into_iter()
        .flatten()
        .any(|one| text(one, "/type") == "Applied")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::facts::Dates;
    use crate::doctor::finding::Severity;
    use serde_json::json;

    #[test]
    fn a_placement_without_a_decision_is_reported() {
        let placement = json!({"metadata": {"name": "all", "namespace": "default"}});
        let decision = json!({"metadata": {"namespace": "default", "labels": {PLACEMENT: "all"}}});
        let said = |decisions: Vec<Value>, status: Value| {
            let mut placement = placement.clone();
            placement["status"] = status;
            let fleet = Fleet {
                placements: Reading::Seen(vec![placement]),
                decisions: Reading::Seen(decisions),
                ..Fleet::default()
            };
            placements(&fleet).expect("said")
        };
        assert_eq!(said(vec![decision], json!({})).severity, Severity::Ok);
        let found = said(Vec::new(), json!({}));
        assert_eq!(found.severity, Severity::Error);
        assert!(found.seen.contains("default/all"), "{}", found.seen);
        let told = json!({"conditions": [{"type": "PlacementSatisfied", "status": "False"}]});
        assert_eq!(
            said(Vec::new(), told).severity,
            Severity::Ok,
            "it selects no cluster, and its conditions say so"
        );
        let unbound = json!({"conditions": [{"type": "PlacementSatisfied", "status": "False", "reason": "NoManagedClusterSetBindings"}]});
        let found = said(Vec::new(), unbound);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.seen.ends_with(": default/all"), "{}", found.seen);
        let hidden = Fleet {
            placements: Reading::Refused("no".to_owned()),
            ..Fleet::default()
        };
        assert_eq!(placements(&hidden).expect("said").severity, Severity::Unknown);
    }

    #[test]
    fn a_placement_that_is_named_and_does_not_exist_is_an_error() {
        let named = |name: &str| json!([{"namespace": "default", "name": name}]);
        let addon = json!({"metadata": {"name": "hello"}, "spec": {
            "installStrategy": {"type": "Placements", "placements": named("all")}}});
        let rolling = json!({"metadata": {"name": "rolls"}, "spec": {"configuration": {"rolloutStrategy": {
            "rollingUpdateWithPlacement": {"namespace": "default", "name": "canary"}}}}});
        // What another install strategy leaves in the spec is followed by no program.
        let manual = json!({"metadata": {"name": "manual"}, "spec": {
            "installStrategy": {"type": "Manual", "placements": named("unused")}}});
        let upgrade = json!({"metadata": {"name": "to-4-12", "namespace": "default"}, "spec": {"placement": named("edge")}});
        let said = |there: &[&str]| {
            let of = |name: &&str| json!({"metadata": {"name": name, "namespace": "default"}, "status": {"conditions": [{}]}});
            let fleet = Fleet {
                placements: Reading::Seen(there.iter().map(of).collect()),
                decisions: Reading::Seen(Vec::new()),
                addons: Reading::Seen(vec![addon.clone(), rolling.clone(), manual.clone()]),
                upgrades: Reading::Seen(vec![upgrade.clone()]),
                ..Fleet::default()
            };
            (missing_placements(&fleet), placements(&fleet))
        };
        let (missing, decided) = said(&["all", "canary", "edge"]);
        assert_eq!(missing, None);
        assert_eq!(decided.expect("said").severity, Severity::Ok);
        let (missing, decided) = said(&["all"]);
        let missing = missing.expect("said");
        assert_eq!((missing.id, missing.severity), (PLACEMENTS, Severity::Error));
        assert_eq!(
            missing.seen,
            "2 placements do not exist: default/canary (referenced by rolls), default/edge (referenced by to-4-12)"
        );
        assert_eq!(decided, None, "nothing of that id is well");
        let (missing, _) = said(&["canary", "edge"]);
        let missing = missing.expect("said");
        assert!(
            missing
                .seen
                .starts_with("1 placement does not exist: default/all"),
            "{}",
            missing.seen
        );
        assert_eq!(missing.command, "kubectl get placements -n default");
    }

    #[test]
    fn clusters_that_are_away_are_counted_and_named() {
        let cluster = |name: &str, status: &str| json!({"metadata": {"name": name}, "status": {"conditions": [{"type": "ManagedClusterConditionAvailable", "status": status}]}});
        let said = |all: Vec<Value>| {
            clusters(&Fleet {
                clusters: Reading::Seen(all),
                ..Fleet::default()
            })
            .expect("said")
        };
        assert_eq!(said(vec![cluster("a", "True")]).severity, Severity::Ok);
        let found = said(vec![cluster("a", "True"), cluster("b", "Unknown")]);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.seen.starts_with("1 of 2 clusters"), "{}", found.seen);
        assert_eq!(said(Vec::new()).severity, Severity::Note);
    }

    #[test]
    fn an_agent_without_a_report_on_old_works_is_reported() {
        let work = |made: &str, conditions: Value| json!({"metadata": {"namespace": "c1", "creationTimestamp": made}, "status": {"conditions": conditions}});
        let said = |works: Vec<Value>| {
            let now: Timestamp = "2030-01-01T01:00:00Z".parse().expect("a time");
            let mut facts = HubFacts {
                dates: Reading::Seen(Dates { hub: now, here: now }),
                ..HubFacts::default()
            };
            facts.fleet.works = Reading::Seen(works);
            agents(&facts).expect("said")
        };
        let old = "2030-01-01T00:00:00Z";
        let applied = json!([{"type": "Applied", "status": "True"}]);
        assert_eq!(said(vec![work(old, applied.clone())]).severity, Severity::Ok);
        assert_eq!(
            said(vec![work("2030-01-01T00:59:00Z", json!([]))]).severity,
            Severity::Ok,
            "it is too early"
        );
        let found = said(vec![work(old, json!([]))]);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.seen.contains("c1"), "{}", found.seen);
        assert_eq!(
            said(vec![work(old, json!([])), work(old, applied)]).severity,
            Severity::Ok,
            "the agent lives"
        );
    }
}
