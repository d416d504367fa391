//! The backstop: ValidatingAdmissionPolicies deny dangerous objects while no webhook answers, and nothing that the webhooks admit.
//!
//! Evaluated here with the CEL engine of the dev hub; `bypass` tries to get around them on a hub.

use std::sync::LazyLock;

use admission::{BREAK_GLASS, BackstopPolicy, Enforcement, Operation, Webhook, backstop};
use cel_engine::Program;
use model::RolloutKind;
use proptest::prelude::*;
use serde_json::{Value, json};
use store::Facts;

use crate::kit::asked::{Asked, resource};
use crate::kit::pages::pages;
use crate::kit::search::amount;
use crate::pure::properties_admission::addons;

/// A policy whose expressions are compiled.
struct Compiled {
    rule: &'static str,
    resources: Vec<String>,
    conditions: Vec<Program>,
    validations: Vec<Program>,
    messages: Vec<(String, Option<Program>)>,
}

static POLICIES: LazyLock<Vec<Compiled>> = LazyLock::new(|| backstop().iter().map(Compiled::of).collect());

impl Compiled {
    fn of(one: &BackstopPolicy) -> Self {
        let spec = &one.policy["spec"];
        let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
        let program = |value: &Value| {
            let text = value.as_str().expect("an expression");
            Program::compile(text).expect("an expression of the backstop compiles")
        };
        let all = |name: &str| {
            let parts = list(&spec[name]);
            parts.iter().map(|part| program(&part["expression"])).collect()
        };
        let resources = list(&spec["matchConstraints"]["resourceRules"][0]["resources"]);
        let messages = list(&spec["validations"]).into_iter().map(|validation| {
            let text = validation["message"].as_str().expect("a message").to_owned();
            let expression = validation.get("messageExpression").map(program);
            (text, expression)
        });
        Self {
            rule: one.rule,
            resources: resources
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            conditions: all("matchConditions"),
            validations: all("validations"),
            messages: messages.collect(),
        }
    }

    /// Returns the messages with which a request is refused. An expression that fails is a refusal as well.
    fn refuses(&self, asked: &Asked, user: &Value) -> Vec<String> {
        let text = |name: &str| asked.object[name].as_str().unwrap_or_default();
        let (group, _) = text("apiVersion").split_once('/').unwrap_or_default();
        let plural = resource(group, text("kind"));
        let operation = match asked.operation {
            Operation::Create => "CREATE",
            Operation::Update => "UPDATE",
            Operation::Delete | Operation::Connect => return Vec::new(),
        };
        if !asked.subresource.is_empty() || !self.resources.contains(&plural) {
            return Vec::new();
        }
        let request = json!({"operation": operation, "userInfo": user});
        let old = asked.old.clone().unwrap_or_default();
        let variables = [
            ("request", &request),
            ("object", &asked.object),
            ("oldObject", &old),
        ];
        let holds = |program: &Program| match program.eval(&variables) {
            Ok(value) => Ok(value == json!(true)),
            Err(error) => Err(format!("{}: {error}", program.source())),
        };
        for condition in &self.conditions {
            match holds(condition) {
                Ok(true) => {}
                Ok(false) => return Vec::new(),
                Err(error) => return vec![error],
            }
        }
        let judged = self.validations.iter().zip(&self.messages);
        judged
            .filter_map(|(validation, (text, expression))| match holds(validation) {
                Ok(true) => None,
                Ok(false) => {
                    let told = expression.as_ref().map(|one| one.eval(&variables));
                    let told = told.and_then(|told| told.ok()?.as_str().map(str::to_owned));
                    Some(told.unwrap_or_else(|| text.clone()))
                }
                Err(error) => Some(error),
            })
            .collect()
    }
}

/// Returns rule and message of everything in the backstop that refuses a request.
pub(crate) fn refusals(asked: &Asked) -> Vec<(&'static str, String)> {
    refusals_of(
        asked,
        &json!({"username": "lead", "groups": ["system:authenticated"]}),
    )
}

fn refusals_of(asked: &Asked, user: &Value) -> Vec<(&'static str, String)> {
    let of_policy = |one: &'static Compiled| {
        let told = one.refuses(asked, user).into_iter();
        told.map(move |message| (one.rule, message))
    };
    POLICIES.iter().flat_map(of_policy).collect()
}

fn addon(strategy: &Value) -> Value {
    json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": "ClusterManagementAddOn",
        "metadata": {"name": "helloworld"},
        "spec": {"installStrategy": {"type": "Placements", "placements": [
            {"name": "first", "namespace": "default"},
            {"name": "all", "namespace": "default", "rolloutStrategy": strategy}]}}})
}

fn update(old: &Value, object: &Value) -> Asked {
    Asked {
        operation: Operation::Update,
        subresource: "",
        object: object.clone(),
        old: Some(old.clone()),
    }
}

/// Whatever the webhooks admit, with what they change, the backstop admits; what both judge, they refuse by the same rule.
fn agrees(asked: &Asked, facts: &Facts) -> Result<(), TestCaseError> {
    let mut asked = asked.clone();
    let changed = asked.at(Webhook::Mutate, facts);
    let fits = json_patch::patch(&mut asked.object, changed.patch());
    prop_assert!(fits.is_ok(), "{fits:?}");
    let refused = refusals(&asked);
    if refused.is_empty() {
        return Ok(());
    }
    for webhook in [Webhook::Mutate, Webhook::Validate] {
        let verdict = asked.at(webhook, facts);
        for (rule, message) in &refused {
            // A value that does not fit the schema is refused by that alone, where no rule has more to say.
            let by_rule = verdict.violations().iter().any(|fault| fault.rule() == *rule);
            prop_assert!(
                by_rule,
                "{message}\nbut {webhook:?} says {:?}\nof {}",
                verdict.violations(),
                asked.object
            );
        }
    }
    Ok(())
}

#[test]
fn the_backstop_admits_what_the_webhooks_admit_of_every_example() {
    let mut refused = 0;
    for page in pages() {
        for example in page.examples {
            refused += usize::from(!refusals(&example.asked).is_empty());
            agrees(&example.asked, &example.facts)
                .unwrap_or_else(|error| panic!("{}: {}: {error}", page.path.display(), example.title));
        }
    }
    assert!(
        refused > 5,
        "the pages show what the backstop is about: {refused}"
    );
}

#[test]
fn a_decision_cannot_have_the_name_of_another_user_without_the_webhook() {
    let approval = |by: Value, reason: &str| {
        json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "RolloutApproval", "metadata": {"name": "a"},
            "spec": {"addon": "a", "placement": "default/all", "decision": {"result": "Approved", "by": by, "reason": reason}}})
    };
    let mut undecided = approval(json!(""), "");
    undecided["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("decision");
    let (ours, theirs) = (approval(json!("lead"), ""), approval(json!("jane"), ""));
    let mut of_no_one = ours.clone();
    of_no_one["spec"]["decision"]
        .as_object_mut()
        .expect("it")
        .remove("by");
    for admitted in [&ours, &of_no_one, &undecided] {
        assert_eq!(refusals(&update(&theirs, admitted)), []);
        assert_eq!(refusals(&update(&undecided, admitted)), []);
    }
    let mut labelled = theirs.clone();
    labelled["spec"]["group"] = json!("prod");
    assert_eq!(
        refusals(&update(&theirs, &labelled)),
        [],
        "the decision is the same"
    );
    for (old, new) in [
        (&undecided, &theirs),
        (&ours, &theirs),
        (&theirs, &approval(json!("jane"), "it is fine")),
    ] {
        let refused = refusals(&update(old, new));
        let expected = "spec.decision.by: Invalid value: \"jane\": must be the user of the request, or absent [approval/author]";
        assert_eq!(refused, [("approval/author", expected.to_owned())]);
    }
}

#[test]
fn a_pause_cannot_have_the_name_of_another_user_without_the_webhook() {
    let rollout = |lines: Option<&str>, pause: Value| {
        let mut object = json!({"apiVersion": "tidegate.io/v1alpha1", "kind": "AddOnRollout",
            "metadata": {"name": "a"}, "spec": {"addon": "a", "pause": pause}});
        if let Some(lines) = lines {
            object["metadata"]["annotations"] = json!({"tidegate.io/set-by": lines});
        }
        object
    };
    let of = |user: &str| format!("* 2030-01-01T00:00:00Z {user}");
    let (jane, lead) = (of("jane"), of("lead"));
    let old = rollout(Some(&jane), json!({}));
    let both = format!("{jane}\ndefault/edge 2030-01-01T00:00:00Z lead");
    for admitted in [None, Some(jane.as_str()), Some(&lead), Some(&both)] {
        let object = rollout(admitted, json!({"reason": "it is fine"}));
        assert_eq!(refusals(&update(&old, &object)), [], "{admitted:?}");
    }
    let plain = rollout(None, json!({}));
    assert_eq!(refusals(&Asked::create(plain.clone())), []);
    assert_eq!(refusals(&update(&plain, &rollout(Some(&lead), json!({})))), []);
    let expected = "metadata.annotations[tidegate.io/set-by]: Invalid value: each new line must end with the user of the request; remove the \
                    annotation [rollout/author]";
    let more = format!("{both}\ndefault/west 2030-01-01T00:00:00Z jane");
    for forged in [jane.as_str(), &more, "", "jane", "* 2030 lead\n"] {
        let object = rollout(Some(forged), json!({}));
        let refused = refusals(&update(&plain, &object));
        assert_eq!(refused, [("rollout/author", expected.to_owned())], "{forged:?}");
        let refused = refusals(&Asked::create(object));
        assert_eq!(refused, [("rollout/author", expected.to_owned())], "{forged:?}");
    }
}

/// Texts where a duration belongs: right, wrong, and on the edge of both.
fn times() -> impl Strategy<Value = Value> {
    let known = [
        "None",
        "none",
        "",
        "0",
        "-0",
        "+0s",
        "banana",
        "1h30m",
        "10m",
        "9223372036855s",
        "1e3s",
    ];
    prop_oneof![
        "[-+]?[0-9.]{0,3}(h|m|s|ms|us|µs|μs|ns|d|x)?([0-9.]{0,3}(h|m|s|ms|ns)?){0,3}".prop_map(Value::from),
        "[0-9a-z]{18,24}".prop_map(Value::from),
        prop::sample::select(known.to_vec()).prop_map(Value::from),
    ]
}

/// Numbers and texts where a limit belongs.
fn limits() -> impl Strategy<Value = Value> {
    prop_oneof![
        "-?[0-9]{0,4}%?".prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-2_i64..200).prop_map(Value::from),
        Just(json!(2_147_483_647_i64)),
        Just(json!(2_147_483_648_i64)),
    ]
}

/// A strategy of which some fields of some blocks are given.
fn strategies() -> impl Strategy<Value = Value> {
    let block = (
        prop::option::of(limits()),
        prop::option::of(limits()),
        prop::option::of(times()),
        prop::option::of(times()),
    );
    let block = block.prop_map(|(concurrency, failures, soak, deadline)| {
        let given = [
            ("maxConcurrency", concurrency),
            ("maxFailures", failures),
            ("minSuccessTime", soak),
            ("progressDeadline", deadline),
        ];
        let given = given
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(given.collect())
    });
    let blocks = RolloutKind::EVERY.map(|kind| kind.block());
    let kinds = prop::sample::select(RolloutKind::EVERY.map(|kind| kind.name()).to_vec());
    let given = prop::collection::btree_map(prop::sample::select(blocks.to_vec()), block, 1..3);
    (kinds, given).prop_map(|(kind, given)| {
        let mut strategy = json!(given);
        strategy["type"] = json!(kind);
        strategy
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: amount(200, 1_000), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_backstop_admits_what_the_webhooks_admit(
        strategy in strategies(), old in prop::option::of(strategies()), whole in addons(),
        version in prop::sample::select(vec!["v1alpha1", "v1beta1"]), shift in any::<bool>(),
    ) {
        let dated = |mut object: Value| {
            object["apiVersion"] = json!(format!("addon.open-cluster-management.io/{version}"));
            object
        };
        agrees(&Asked::create(dated(whole)), &Facts::default())?;
        let mut object = dated(addon(&strategy));
        if shift && let Some(all) = object["spec"]["installStrategy"]["placements"].as_array_mut() {
            all.remove(0);
        }
        let asked = match old {
            Some(old) => update(&dated(addon(&old)), &object),
            None => Asked::create(object),
        };
        agrees(&asked, &Facts::default())?;
    }

    /// A fault that was stored before, or a change of anything but the spec, is never refused.
    #[test]
    fn what_is_stored_may_stay(strategy in strategies(), other in strategies()) {
        let old = addon(&strategy);
        let mut labelled = old.clone();
        labelled["metadata"] = json!({"name": "helloworld", "labels": {"a": "b"}, "finalizers": ["a/b"],
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": "u"}]});
        prop_assert!(refusals(&update(&old, &labelled)).is_empty());
        let mut moved = old.clone();
        moved["spec"]["installStrategy"]["placements"].as_array_mut().expect("placements").remove(0);
        moved["spec"]["supportedConfigs"] = json!([]);
        prop_assert!(refusals(&update(&old, &moved)).is_empty());
        let status = Asked { subresource: "status", ..update(&old, &addon(&other)) };
        prop_assert!(refusals(&status).is_empty());
        for user in [
            json!({"username": "on-call", "groups": [BREAK_GLASS]}),
            json!({"username": "system:serviceaccount:kube-system:generic-garbage-collector"}),
        ] {
            prop_assert!(refusals_of(&Asked::create(addon(&other)), &user).is_empty());
        }
    }
}

#[test]
fn what_stops_an_add_on_manager_is_refused_with_path_value_and_rule() {
    let rows = [
        ("minSuccessTime", json!("banana"), "rollout/min-success-time"),
        ("minSuccessTime", json!("5"), "rollout/min-success-time"),
        ("minSuccessTime", json!("5min"), "rollout/min-success-time"),
        (
            "minSuccessTime",
            json!("bananabananabananabanana"),
            "rollout/min-success-time",
        ),
        ("progressDeadline", json!("5sxyz"), "rollout/progress-deadline"),
        ("progressDeadline", json!("10|"), "rollout/progress-deadline"),
        ("progressDeadline", json!("none"), "rollout/progress-deadline"),
        ("maxConcurrency", json!("130%"), "rollout/max-concurrency"),
        ("maxConcurrency", json!(-1), "rollout/max-concurrency"),
        (
            "maxConcurrency",
            json!(3_000_000_000_i64),
            "rollout/max-concurrency",
        ),
        ("maxFailures", json!("half"), "rollout/max-failures"),
        ("maxFailures", json!(-1), "rollout/max-failures"),
    ];
    for (field, value, rule) in rows {
        for (kind, block) in RolloutKind::EVERY.map(|kind| (kind.name(), kind.block())) {
            let asked = Asked::create(addon(&json!({"type": kind, block: {field: value}})));
            let told = refusals(&asked);
            assert_eq!(
                told.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(),
                [rule],
                "{field} {value}"
            );
            let (_, message) = &told[0];
            let shown = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            let start = format!(
                "spec.installStrategy.placements[].rolloutStrategy.{block}.{field}: Invalid value: \"{shown}\": must be "
            );
            assert!(
                message.starts_with(&start) && message.ends_with(&format!("[{rule}]")),
                "{message}"
            );
        }
    }
    for good in [
        "0",
        "5m",
        "1h30m",
        "1.5h",
        "300ms",
        "-0",
        "1m1m1m1m1m1m1m1m1m1m1m1m",
        "100µs",
    ] {
        let asked = Asked::create(addon(&json!({"type": "All", "all": {"minSuccessTime": good}})));
        assert!(refusals(&asked).is_empty(), "{good}");
    }
}

/// A part of the largest size, and how it is made.
fn of_size(
    kind: &str,
    namespace: Option<&str>,
    count: usize,
    build: impl Fn(Value) -> Value,
    item: impl Fn(usize) -> Value,
) -> Value {
    let mut object = json!({"apiVersion": "addon.open-cluster-management.io/v1alpha1", "kind": kind,
        "metadata": {"name": "a"}, "spec": build((0..count).map(item).collect())});
    if let Some(namespace) = namespace {
        object["metadata"]["namespace"] = json!(namespace);
    }
    object
}

/// Makes the spec of an object of a list.
type Build<'a> = &'a dyn Fn(Value) -> Value;

#[test]
fn the_bounds_are_those_of_the_rule_in_both_versions() {
    let configs = |list: Value| json!({"configs": list});
    let defaults = |list: Value| json!({"defaultConfigs": list});
    let of_placement = |list: Value| json!({"installStrategy": {"type": "Placements", "placements": [{"name": "a", "namespace": "n"}, {"name": "p", "namespace": "n", "configs": list}]}});
    let reference =
        |n: usize| json!({"group": "g", "resource": "rs", "name": format!("n{n}"), "namespace": "x"});
    let rows: [(&str, Option<&str>, &str, Build<'_>, &str); 4] = [
        (
            "ManagedClusterAddOn",
            Some("cluster1"),
            "v1alpha1",
            &configs,
            "spec.configs",
        ),
        (
            "ManagedClusterAddOn",
            Some("cluster1"),
            "v1beta1",
            &configs,
            "spec.configs",
        ),
        (
            "ClusterManagementAddOn",
            None,
            "v1alpha1",
            &of_placement,
            "spec.installStrategy.placements[].configs",
        ),
        (
            "ClusterManagementAddOn",
            None,
            "v1beta1",
            &defaults,
            "spec.defaultConfigs",
        ),
    ];
    for (kind, namespace, version, build, path) in rows {
        let sized = |count| {
            let mut object = of_size(kind, namespace, count, build, reference);
            object["apiVersion"] = json!(format!("addon.open-cluster-management.io/{version}"));
            object
        };
        let (most, more, yet_more) = (sized(10_000), sized(10_001), sized(10_002));
        assert!(
            refusals(&Asked::create(most.clone())).is_empty(),
            "{kind} {version}"
        );
        let told = refusals(&Asked::create(more.clone()));
        let message = format!("{path}: Too many: must have at most 10000 items [schema/bounds]");
        assert_eq!(told, [("schema/bounds", message)], "{kind} {version}");
        agrees(&Asked::create(more.clone()), &Facts::default()).expect("the rule refuses it too");
        agrees(&update(&most, &more), &Facts::default()).expect("the rule refuses it too");
        assert_eq!(refusals(&update(&most, &more)).len(), 1, "{kind} {version}");
        for (old, new) in [(&yet_more, &more), (&more, &most)] {
            assert!(
                refusals(&update(old, new)).is_empty(),
                "{kind} {version}: it may shrink"
            );
        }
    }
}

/// An expression costs less than an API server allows, also where both versions of the object are read to their end. (A real one
/// allows ten thousand placements; the engine here counts more.)
#[test]
fn no_expression_costs_too_much() {
    // As long as a text may be that is compared with the whole form, and longer ones.
    for time in ["1h1h1h1h1h", "1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h1h"] {
        for wrong in [false, true] {
            let mut object = of_size(
                "ClusterManagementAddOn",
                None,
                5_000,
                |list| json!({"installStrategy": {"type": "Placements", "placements": list}}),
                |n| {
                    let strategy = json!({"type": "Progressive", "progressive": {"minSuccessTime": time, "progressDeadline": time,
                        "maxConcurrency": "100%", "maxFailures": "100%"}});
                    json!({"name": format!("p{n}"), "namespace": "n", "rolloutStrategy": strategy})
                },
            );
            if wrong {
                object["spec"]["installStrategy"]["placements"][4_999]["rolloutStrategy"]["progressive"]["minSuccessTime"] =
                    json!("?");
            }
            let told = refusals(&Asked::create(object.clone()));
            assert_eq!(told.len(), usize::from(wrong), "{told:?}");
            if wrong {
                assert!(told[0].1.contains("[rollout/min-success-time]"), "{told:?}");
                let mut changed = object.clone();
                changed["spec"]["supportedConfigs"] = json!([]);
                assert!(
                    refusals(&update(&object, &changed)).is_empty(),
                    "it was stored so"
                );
            }
        }
    }
}

#[test]
fn a_rule_that_does_not_refuse_everywhere_has_no_policy() {
    let rows = [
        ("[]", true),
        ("[{rule: rollout/min-success-time, action: Deny}]", true),
        ("[{rule: rollout/min-success-time, action: Warn}]", false),
        ("[{rule: 'rollout/*', action: Audit, addons: [other]}]", false),
        ("[{rule: '*', action: 'Off', namespaces: [test]}]", false),
        ("[{rule: 'config/*', action: Warn}]", true),
    ];
    for (settings, kept) in rows {
        let enforcement = Enforcement::parse(settings).expect("settings");
        assert_eq!(
            enforcement.always_denies("rollout/min-success-time"),
            kept,
            "{settings}"
        );
        assert!(
            enforcement.always_denies("schema/bounds"),
            "{settings}: no setting changes that"
        );
    }
}
