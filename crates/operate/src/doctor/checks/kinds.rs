//! The kinds: OCM's that must be there, our own, and the conversion between versions.
//!
//! Decides which are missing or too old. Never decides what of ours may be added to OCM's definitions; `definitions` does.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::doctor::facts::{HubFacts, Reading, Served};
use crate::doctor::finding::Finding;
use api::definitions::{Erasure, converter, erasure, extended, is_established};
use kubernetes::field::{counted, listed};
use store::Kind;

const OCM: &str = "ocm/definitions";
const OWN: &str = "tidegate/definitions";
const CONVERSION: &str = "ocm/conversion";

/// What OCM's kinds come from.
const INSTALL_OCM: &str = "install Open Cluster Management on the hub; to try Tidegate without it: \
                           `tidegate crds --for-hub-without-ocm | kubectl apply -f -`";

pub(super) fn served(facts: &HubFacts) -> Option<Finding> {
    let served = match &facts.served {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                OCM,
                format!("the kinds that the hub serves cannot be read: {why}"),
            ));
        }
        Reading::Seen(served) => served,
    };
    let needed: Vec<Kind> = Kind::ALL.into_iter().filter(|kind| kind.must_exist()).collect();
    let missing: Vec<String> = needed
        .iter()
        .filter(|kind| {
            !is_served(
                served,
                kind.address().group,
                kind.address().version,
                kind.address().resource,
            )
        })
        .map(|kind| {
            format!(
                "{}.{}/{}",
                kind.address().resource,
                kind.address().group,
                kind.address().version
            )
        })
        .collect();
    if missing.is_empty() {
        let beta = is_served(served, api::v1alpha1::GROUP, "v1beta1", "managedclusteraddons");
        let versions = if beta { "v1alpha1 and v1beta1" } else { "v1alpha1" };
        let seen = format!(
            "all {} are served; add-ons in {versions}",
            counted(needed.len(), "kind")
        );
        return Some(Finding::ok(OCM, seen));
    }
    let seen = format!(
        "the hub does not serve {}",
        listed(missing.iter().map(String::as_str))
    );
    Some(
        Finding::error(OCM, seen)
            .fix(INSTALL_OCM)
            .command("clusteradm init --wait"),
    )
}

fn is_served(served: &Served, group: &str, version: &str, resource: &str) -> bool {
    let place = format!("{group}/{version}");
    served.get(&place).is_some_and(|all| all.contains(resource))
}

pub(super) fn own(facts: &HubFacts) -> Option<Finding> {
    let live = match &facts.definitions {
        Reading::NotAsked => return None,
        Reading::Refused(why) => {
            return Some(Finding::unknown(
                OWN,
                format!("definitions cannot be read: {why}"),
            ));
        }
        Reading::Seen(live) => live,
    };
    let ours = api::crds().into_iter().filter(api::is_ours);
    let ours: Vec<Value> = ours.filter_map(|crd| serde_json::to_value(crd).ok()).collect();
    let (mut absent, mut dead, mut old) = (Vec::new(), Vec::new(), Vec::new());
    for wanted in &ours {
        let name = name(wanted).to_owned();
        match live.get(&name) {
            None => absent.push(name),
            Some(found) if !is_established(found) => dead.push(name),
            Some(found) => {
                let lacks: Vec<String> = fields(wanted).difference(&fields(found)).cloned().collect();
                if let Some(first) = lacks.first() {
                    old.push(format!(
                        "{name} ({}, such as {first})",
                        counted(lacks.len(), "field")
                    ));
                }
            }
        }
    }
    let parts = [
        ("missing on the hub: ", &absent),
        ("not served by the hub: ", &dead),
        ("older than this program: ", &old),
    ];
    let parts = parts.into_iter().filter(|(_, names)| !names.is_empty());
    let parts: Vec<String> = parts
        .map(|(words, names)| format!("{words}{}", listed(names.iter().map(String::as_str))))
        .collect();
    if parts.is_empty() {
        let seen = format!(
            "all {} of Tidegate have the definitions of this version",
            counted(ours.len(), "kind")
        );
        return Some(Finding::ok(OWN, seen));
    }
    let fix =
        "apply the definitions of this program: kinds and fields that the hub does not serve have no effect";
    Some(
        Finding::warning(OWN, parts.join("; "))
            .fix(fix)
            .command("tidegate crds | kubectl apply -f -"),
    )
}

fn name(definition: &Value) -> &str {
    let name = definition.pointer("/metadata/name").and_then(Value::as_str);
    name.unwrap_or_default()
}

/// Returns every field of every version of a definition, as paths.
fn fields(definition: &Value) -> BTreeSet<String> {
    let mut all = BTreeSet::new();
    let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
    for version in versions.into_iter().flatten() {
        let name = version.get("name").and_then(Value::as_str).unwrap_or_default();
        if let Some(schema) = version.pointer("/schema/openAPIV3Schema") {
            walk(schema, name, &mut all);
        }
    }
    all
}

fn walk(schema: &Value, at: &str, all: &mut BTreeSet<String>) {
    let properties = schema.get("properties").and_then(Value::as_object);
    for (name, below) in properties.into_iter().flatten() {
        let path = format!("{at}.{name}");
        walk(below, &path, all);
        all.insert(path);
    }
    for inner in ["items", "additionalProperties"] {
        if let Some(below) = schema.get(inner).filter(|below| below.is_object()) {
            walk(below, &format!("{at}[]"), all);
        }
    }
}

pub(super) fn conversion(facts: &HubFacts) -> Vec<Finding> {
    let mut findings = Vec::new();
    let broken = facts
        .converted
        .iter()
        .filter_map(|(kind, reading)| match reading {
            Reading::Refused(why) => Some((kind, why)),
            Reading::NotAsked | Reading::Seen(()) => None,
        });
    let broken: Vec<(&String, &String)> = broken.collect();
    if let Some((kind, why)) = broken.first() {
        let seen = format!("{kind} cannot be read in the converted version: {why}");
        findings.push(
            Finding::error(CONVERSION, seen)
                .fix("fix the conversion webhook of the CustomResourceDefinition: until then klusterlets cannot read their add-ons")
                .command(format!("kubectl get crd {CMA} -o jsonpath='{{.spec.conversion}}'")),
        );
    }
    let Reading::Seen(live) = &facts.definitions else {
        return findings;
    };
    for (name, ours) in extended() {
        let Some(found) = live.get(&name) else { continue };
        if erasure(found, &ours) == Erasure::Certain {
            let seen = format!("every write of {name} in another version erases Tidegate's fields");
            findings.push(
                Finding::error(CONVERSION, seen)
                    .fix("make the hub convert with Tidegate's /convert, or remove the fields (docs/ocm/definitions.md)")
                    .command("tidegate definitions revert"),
            );
        }
    }
    if findings.is_empty() && !facts.converted.is_empty() {
        let by = live.get(CMA).and_then(converter);
        let by = by.map_or_else(
            || "no conversion is necessary".to_owned(),
            |by| format!("converted by {}", place(&by)),
        );
        findings.push(Finding::ok(
            CONVERSION,
            format!("add-ons can be read in v1beta1; {by}"),
        ));
    }
    findings
}

const CMA: &str = "clustermanagementaddons.addon.open-cluster-management.io";

fn place(converter: &Value) -> String {
    if let Some(url) = converter.as_str() {
        return url.to_owned();
    }
    let text = |field: &str| converter.get(field).and_then(Value::as_str).unwrap_or_default();
    format!("service {}/{}", text("namespace"), text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::Severity;
    use serde_json::json;
    use std::collections::BTreeMap;

    fn all_served() -> Served {
        let mut served = Served::new();
        for kind in Kind::ALL {
            let place = format!("{}/{}", kind.address().group, kind.address().version);
            served
                .entry(place)
                .or_default()
                .insert(kind.address().resource.to_owned());
        }
        served
    }

    fn definitions() -> BTreeMap<String, Value> {
        let all = api::crds().into_iter().map(|crd| {
            let mut value = serde_json::to_value(crd).expect("plain data");
            value["status"] = json!({"conditions": [{"type": "Established", "status": "True"}]});
            (name(&value).to_owned(), value)
        });
        all.collect()
    }

    #[test]
    fn a_kind_of_ocm_that_is_not_served_is_reported_with_its_name() {
        let mut facts = HubFacts {
            served: Reading::Seen(all_served()),
            ..HubFacts::default()
        };
        assert_eq!(served(&facts).expect("said").severity, Severity::Ok);
        let mut less = all_served();
        less.remove("work.open-cluster-management.io/v1");
        facts.served = Reading::Seen(less);
        let found = served(&facts).expect("said");
        assert_eq!(found.severity, Severity::Error);
        assert!(
            found
                .seen
                .contains("manifestworks.work.open-cluster-management.io/v1"),
            "{}",
            found.seen
        );
        facts.served = Reading::Refused("no".to_owned());
        assert_eq!(served(&facts).expect("said").severity, Severity::Unknown);
    }

    #[test]
    fn own_definitions_that_are_missing_not_established_or_old_are_reported() {
        let of = |definitions: BTreeMap<String, Value>| HubFacts {
            definitions: Reading::Seen(definitions),
            ..HubFacts::default()
        };
        let said = |definitions| own(&of(definitions)).expect("said");
        assert_eq!(said(definitions()).severity, Severity::Ok);
        let mut gone = definitions();
        gone.remove("addonpolicies.tidegate.io");
        assert!(
            said(gone)
                .seen
                .contains("missing on the hub: \"addonpolicies.tidegate.io\"")
        );
        let mut dead = definitions();
        dead.get_mut("addonpolicies.tidegate.io").expect("ours")["status"] = json!({});
        assert!(said(dead).seen.contains("not served by the hub"));
        let mut old = definitions();
        let schema =
            &mut old.get_mut("addonrollouts.tidegate.io").expect("ours")["spec"]["versions"][0]["schema"];
        schema["openAPIV3Schema"]["properties"]
            .as_object_mut()
            .expect("fields")
            .remove("status");
        let found = said(old);
        assert_eq!(found.severity, Severity::Warning);
        assert!(found.seen.contains("older than this program"), "{}", found.seen);
    }

    #[test]
    fn a_conversion_that_does_not_answer_or_erases_is_reported() {
        let mut facts = HubFacts {
            definitions: Reading::Seen(definitions()),
            converted: BTreeMap::from([("managedclusteraddons.v1beta1".to_owned(), Reading::Seen(()))]),
            ..HubFacts::default()
        };
        let found = conversion(&facts);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].severity, Severity::Ok, "{found:?}");
        let down = Reading::Refused("conversion webhook failed: connection refused".to_owned());
        facts
            .converted
            .insert("managedclusteraddons.v1beta1".to_owned(), down);
        let found = conversion(&facts);
        assert_eq!(found[0].severity, Severity::Error);
        assert!(found[0].seen.contains("connection refused"));
    }
}
