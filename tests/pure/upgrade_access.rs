//! Placements of other namespaces in a ManagedClustersUpgrade: the webhook records that their author may use them, and the controllers
//! accept no other record.
//!
//! The attack: a user who may create upgrades in one namespace refers to the placement of another, and the clusters of that placement
//! run the user's manifests.

use std::collections::BTreeMap;
use std::sync::Arc;

use admission::{Facts, Operation, Request, RequestContext, Rulebook, UserRight, Verdict, Webhook, decide};
use api::hash::Keys;
use serde_json::value::to_raw_value;
use serde_json::{Value, json};
use store::{Event, Kind, Name, ObjectKey, Owner, Settings, Store};

const RECORD: &str = "/metadata/annotations/tidegate.io~1placement-access";

fn upgrade(name: &str) -> Value {
    json!({"apiVersion": "cluster.open-cluster-management.io/v1beta1", "kind": "ManagedClustersUpgrade",
        "metadata": {"name": name, "namespace": "tenant", "uid": "u", "resourceVersion": "1", "generation": 1},
        "spec": {"placement": [{"name": "all", "namespace": "default"}], "clusterVersion": {"version": "4.12.0"},
            "preUpgradeAction": {"manifestWork": {"workload": {"manifests": [{"apiVersion": "rbac.authorization.k8s.io/v1",
                "kind": "ClusterRoleBinding", "metadata": {"name": "evil"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io",
                    "kind": "ClusterRole", "name": "cluster-admin"}}]}}}}})
}

fn keys() -> Arc<Keys> {
    Arc::new(Keys::new([vec![3; 32]]))
}

/// Returns what the gate says when the hub has said whether the user may get the placement.
fn verdict(may: Option<bool>, object: &Value, old: Option<&Value>) -> Verdict {
    let question = UserRight {
        object: ObjectKey::new(Kind::Placement, "default", "all"),
        namespace: Name::from("default"),
    };
    let facts = Facts::default().entitled(
        may.map(|may| (question, may))
            .into_iter()
            .collect::<BTreeMap<_, _>>(),
    );
    let rulebook = Rulebook {
        keys: keys(),
        ..Rulebook::default()
    };
    let (new, was) = (
        to_raw_value(object).expect("JSON"),
        old.map(|old| to_raw_value(old).expect("JSON")),
    );
    let user = to_raw_value(&json!({"username": "tenant"})).expect("JSON");
    let request = Request {
        webhook: Webhook::Mutate,
        operation: if old.is_some() {
            Operation::Update
        } else {
            Operation::Create
        },
        group: "cluster.open-cluster-management.io",
        version: "v1beta1",
        resource: "managedclustersupgrades",
        kind: "ManagedClustersUpgrade",
        subresource: "",
        namespace: "tenant",
        name: object["metadata"]["name"].as_str().unwrap_or_default(),
        object: Some(&new),
        old: was.as_deref(),
        dry_run: false,
        circumstances: RequestContext {
            user: Some(&user),
            ..RequestContext::default()
        },
    };
    decide(&request, &facts, &rulebook)
}

fn stored(verdict: &Verdict, object: &Value) -> Value {
    let mut stored = object.clone();
    json_patch::patch(&mut stored, verdict.patch()).expect("it fits");
    stored
}

/// Returns how many placements the controllers do not accept.
fn unproven(object: &Value, keys: &Keys) -> usize {
    let mut store = Store::new(Settings::default());
    drop(store.apply(Event::Applied {
        kind: Kind::Upgrade,
        object: object.clone(),
    }));
    let name = object["metadata"]["name"].as_str().expect("a name");
    let owner = Owner::new(Kind::Upgrade, "tenant", name);
    let view = store.upgrade_view(&owner).expect("it is there");
    view.proven_by(keys).unproven.len()
}

#[test]
fn who_may_not_get_a_placement_reaches_no_cluster_by_it() {
    let object = upgrade("evil");
    for may in [Some(false), None] {
        let refused = verdict(may, &object, None);
        assert!(!refused.allowed(), "{may:?}");
        assert_eq!(refused.asks_whether().len(), 1, "the hub is asked");
        let shown = refused.violations()[0].to_string();
        assert!(
            shown.contains("spec.placement[0]") && shown.ends_with("[upgrade/placement-access]"),
            "{shown}"
        );
        assert!(stored(&refused, &object).pointer(RECORD).is_none());
    }
    assert_eq!(
        unproven(&object, &keys()),
        1,
        "stored without the webhook, it starts no cluster"
    );
}

#[test]
fn the_record_of_an_author_counts_for_that_upgrade_as_it_was_written() {
    let object = upgrade("good");
    let allowed = verdict(Some(true), &object, None);
    assert!(allowed.allowed(), "{:?}", allowed.violations());
    let good = stored(&allowed, &object);
    assert!(
        good.pointer(RECORD)
            .is_some_and(|record| record.as_str().is_some_and(|record| record.ends_with(" tenant"))),
        "{good}"
    );
    assert_eq!(unproven(&good, &keys()), 0);
    assert_eq!(unproven(&good, &Keys::new([vec![4; 32]])), 1, "another hub's key");
    let mut copied = upgrade("copied");
    copied["metadata"]["annotations"] = good["metadata"]["annotations"].clone();
    assert_eq!(unproven(&copied, &keys()), 1, "a copied record");
    let mut changed = good.clone();
    changed["spec"]["preUpgradeAction"]["manifestWork"]["workload"]["manifests"][0]["kind"] =
        json!("RoleBinding");
    assert_eq!(
        unproven(&changed, &keys()),
        1,
        "an action that the author did not write"
    );
    assert!(
        !verdict(Some(false), &changed, Some(&good)).allowed(),
        "who changes it is asked about"
    );
}

#[test]
fn a_record_is_renewed_by_who_may_get_the_placement_and_stays_otherwise() {
    let object = upgrade("good");
    let good = stored(&verdict(Some(true), &object, None), &object);
    let mut labelled = good.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    let untouched = verdict(None, &labelled, Some(&good));
    assert!(
        untouched.allowed() && untouched.patch().is_empty(),
        "{:?}",
        untouched.violations()
    );
    let mut renewed = object.clone();
    renewed["metadata"]["annotations"] = json!({"tidegate.io/placement-access": "renew"});
    assert!(!verdict(Some(false), &renewed, Some(&object)).allowed());
    let again = stored(&verdict(Some(true), &renewed, Some(&object)), &renewed);
    assert_eq!(unproven(&again, &keys()), 0);
    let second = verdict(Some(true), &again, Some(&object));
    assert!(second.patch().is_empty(), "the same record: {:?}", second.patch());
}
