//! The enforcement settings of the operator: verdicts, responses on the wire, and existing objects.

use admission::{BlastRadius, Enforcement, Operation, Rulebook, Verdict, Webhook, wire};
use kubernetes::field::Violation;
use serde_json::{Value, json};
use store::{Facts, Kind, ObjectKey};

use crate::kit::asked::{Asked, WrittenFacts};

fn rulebook(settings: &str) -> Rulebook {
    Rulebook {
        enforcement: Enforcement::parse(settings).expect("a good file"),
        ..Rulebook::default()
    }
}

/// An add-on whose one placement has this rollout.
fn addon(progressive: &Value) -> Value {
    let strategy = json!({"type": "Progressive", "progressive": progressive});
    let placement = json!({"name": "all", "namespace": "default", "rolloutStrategy": strategy});
    json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "hello"},
        "spec": {"installStrategy": {"type": "Placements", "placements": [placement]}},
    })
}

/// A group that is listed twice: refused by a rule, and by no schema.
fn twice() -> Value {
    json!({"mandatoryDecisionGroups": [{"groupName": "canary"}, {"groupName": "canary"}]})
}

/// A group with a name and a position: a rule warns.
fn both() -> Value {
    json!({"mandatoryDecisionGroups": [{"groupName": "canary", "groupIndex": 0}]})
}

fn told(asked: &Asked, settings: &str) -> String {
    let verdict = asked.under(&rulebook(settings), Webhook::Validate, &Facts::default());
    let rules = |found: &[Violation]| {
        let rules: Vec<&str> = found.iter().map(Violation::rule).collect();
        rules.join(",")
    };
    let warned: Vec<&str> = verdict
        .warnings()
        .iter()
        .map(|warning| warning.violation().rule())
        .collect();
    format!(
        "denied [{}] warned [{}] audited [{}]",
        rules(verdict.violations()),
        warned.join(","),
        rules(verdict.audited())
    )
}

#[test]
fn a_finding_goes_where_its_setting_sends_it() {
    let wrong = Asked::create(addon(&twice()));
    let doubtful = Asked::create(addon(&both()));
    let misshapen = Asked::create(addon(&json!({"maxConcurrency": "130%"})));
    let rows = [
        (
            &wrong,
            "",
            "denied [rollout/mandatory-groups] warned [] audited []",
        ),
        (
            &wrong,
            "[{rule: rollout/*, action: Warn}]",
            "denied [] warned [rollout/mandatory-groups] audited []",
        ),
        (
            &wrong,
            "[{rule: rollout/*, action: Warn, addons: [other]}]",
            "denied [rollout/mandatory-groups] warned [] audited []",
        ),
        (
            &wrong,
            "[{rule: rollout/*, action: Audit, addons: ['h*']}]",
            "denied [] warned [] audited [rollout/mandatory-groups]",
        ),
        (
            &wrong,
            "[{rule: '*', action: Off}]",
            "denied [] warned [] audited []",
        ),
        (
            &doubtful,
            "",
            "denied [] warned [rollout/mandatory-groups] audited []",
        ),
        (
            &doubtful,
            "[{rule: '*/mandatory-groups', action: Deny}]",
            "denied [rollout/mandatory-groups] warned [] audited []",
        ),
        // Errors of the API server itself are reported with its message if the rule is off.
        (
            &misshapen,
            "[{rule: rollout/*, action: Off}]",
            "denied [schema/value] warned [] audited []",
        ),
    ];
    for (asked, settings, expected) in rows {
        assert_eq!(told(asked, settings), expected, "{settings}");
    }
}

#[test]
fn a_rule_that_is_raised_to_deny_lets_stored_objects_through() {
    let mut object = addon(&both());
    let old = object.clone();
    object["spec"]["addOnMeta"] = json!({"displayName": "another field"});
    let asked = Asked {
        operation: Operation::Update,
        subresource: "",
        object,
        old: Some(old),
    };
    assert_eq!(
        told(&asked, "[{rule: rollout/*, action: Deny}]"),
        "denied [] warned [rollout/mandatory-groups] audited []"
    );
}

#[test]
fn audited_rules_are_only_in_the_audit_log() {
    let asked = Asked::create(addon(&twice()));
    let settings = "[{rule: rollout/*, action: Audit}]";
    let verdict: Verdict = asked.under(&rulebook(settings), Webhook::Validate, &Facts::default());
    let answer: Value = serde_json::from_slice(&wire::encode("u", &verdict)).expect("JSON");
    let response = &answer["response"];
    assert_eq!(response["allowed"], json!(true));
    assert!(response.get("warnings").is_none() && response.get("status").is_none());
    let path = "spec.installStrategy.placements[0].rolloutStrategy.progressive.mandatoryDecisionGroups[1]";
    let audited = response["auditAnnotations"]["audited"]
        .as_str()
        .unwrap_or_default();
    assert!(audited.starts_with(path), "{audited}");
    assert!(audited.ends_with("[rollout/mandatory-groups]"), "{audited}");
}

fn fleet(text: &str) -> Facts {
    serde_saphyr::from_str::<WrittenFacts>(text)
        .expect("facts")
        .read()
}

fn cluster_addon() -> Asked {
    Asked::create(json!({
        "apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ManagedClusterAddOn",
        "metadata": {"name": "hello", "namespace": "cluster1"}, "spec": {},
    }))
}

#[test]
fn what_only_the_watch_has_not_seen_never_refuses_and_is_asked_for() {
    let strict = rulebook("[{rule: naming/unknown-cluster, action: Deny}]");
    let facts = fleet("{addons: {hello: {}}, clusters: {cluster2: {}}}");
    let ask = |facts: &Facts| cluster_addon().under(&strict, Webhook::Validate, facts);
    let doubtful = ask(&facts);
    assert!(doubtful.allowed() && doubtful.warnings().len() == 1);
    let cluster = ObjectKey::new(Kind::Cluster, "", "cluster1");
    assert_eq!(doubtful.asks().iter().collect::<Vec<_>>(), [&cluster]);
    let says = |exists| ask(&facts.clone().confirmed_by([(cluster.clone(), exists)].into()));
    let (absent, present) = (says(false), says(true));
    assert!(!absent.allowed() && absent.asks().is_empty());
    assert!(present.allowed() && present.warnings().is_empty() && present.asks().is_empty());
    assert!(
        !ask(&facts.clone().without_doubt()).allowed(),
        "a folder is all there is"
    );
    let off = rulebook("[{rule: naming/unknown-cluster, action: 'Off'}]");
    let silent = cluster_addon().under(&off, Webhook::Validate, &facts);
    assert!(
        silent.warnings().is_empty() && silent.asks().is_empty(),
        "a rule that is off requests nothing"
    );
}

#[test]
fn a_deletion_is_refused_only_where_the_operator_says_so() {
    let facts = fleet("{installed: {hello: {'': [c1, c2]}}}");
    let asked = Asked {
        operation: Operation::Delete,
        ..Asked::create(addon(&json!({})))
    };
    let told = |settings: &str| {
        let verdict = asked.under(&rulebook(settings), Webhook::Validate, &facts);
        (verdict.allowed(), verdict.warnings().len())
    };
    assert_eq!(told(""), (true, 1));
    assert_eq!(
        told("[{rule: deletion/*, action: Deny, addons: [hello]}]"),
        (false, 0)
    );
    assert_eq!(
        told("[{rule: deletion/*, action: Deny, addons: [other]}]"),
        (true, 1)
    );
}

#[test]
fn the_share_of_a_fleet_that_is_too_much_is_the_operators() {
    let facts = fleet("{installed: {hello: {'': [c1, c2, c3, c4, c5, c6]}}}");
    let with = |name: &str| {
        let default = json!({"group": "g", "resource": "things", "defaultConfig": {"name": name}});
        let mut object = addon(&json!({}));
        object["spec"] = json!({"supportedConfigs": [default]});
        object
    };
    let asked = Asked {
        operation: Operation::Update,
        subresource: "",
        object: with("new"),
        old: Some(with("old")),
    };
    let told = |percent: u8| {
        let rulebook = Rulebook {
            blast_radius: BlastRadius::percent(percent).expect("a share"),
            ..rulebook("[{rule: blast-radius/*, action: Deny}]")
        };
        asked.under(&rulebook, Webhook::Validate, &facts).allowed()
    };
    assert!(!told(50) && !told(99) && told(100));
}
