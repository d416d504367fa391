//! Properties of the webhook: it never panics, adds nothing twice, and accepts only what the planner can decode.

use admission::{Operation, Rulebook, Webhook, decide, wire};
use api::v1alpha1::{ClusterManagementAddOn, CreationTemplate, PlacementStrategy};
use kubernetes::field::Path;
use model::{
    ConfigReference, ConfigRollout, InstallNamespace, RawConfigRollout, RawReference, RawStrategy,
    RolloutKind, RolloutStrategy,
};
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use serde_json::{Map, Value, json};
use store::Facts;

use crate::kit::asked::{Asked, WrittenFacts};
use crate::kit::search::amount;

/// Every key that some rule or stage looks at, so that wild documents reach deep.
const KEYS: [&str; 38] = [
    "apiVersion",
    "kind",
    "metadata",
    "name",
    "namespace",
    "annotations",
    "labels",
    "managedFields",
    "operation",
    "fieldsV1",
    "f:spec",
    "f:installNamespace",
    "kubectl.kubernetes.io/last-applied-configuration",
    "deletionTimestamp",
    "spec",
    "status",
    "supportedConfigs",
    "defaultConfig",
    "group",
    "resource",
    "configuration",
    "dependencies",
    "configs",
    "rolloutStrategy",
    "type",
    "rollingUpdateWithPlacement",
    "maxConcurrentlyUpdating",
    "installStrategy",
    "placements",
    "space",
    "addonSpec",
    "addonTemplate",
    "installNamespace",
    "desiredVersion",
    "mandatoryDecisionGroups",
    "maxConcurrency",
    "minSuccessTime",
    "\u{0}\u{202e}",
];

fn keys() -> Vec<&'static str> {
    let blocks = RolloutKind::EVERY.map(|kind| kind.block());
    KEYS.into_iter().chain(blocks).collect()
}

fn wild() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
        "[-+0-9.hmsµ%]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(8, 96, 6, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..5).prop_map(Value::from),
            btree_map(prop::sample::select(keys()).prop_map(str::to_owned), inner, 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

fn of_kind(kind: &'static str, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert(
            "apiVersion".into(),
            "addon.open-cluster-management.io/v1alpha1".into(),
        );
        fields.insert("kind".into(), kind.into());
    }
    object
}

/// A failing case prints its input; it is kept by writing it down as an example, not in a file of seeds.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn facts() -> Facts {
    let written: WrittenFacts = serde_json::from_value(json!({
        "addons": {"helloworld": {
            "supportedConfigs": [{"group": "g", "resource": "rs"}],
            "installStrategy": {"type": "Placements", "placements": [
                {"name": "p", "namespace": "d", "addonSpec": {"installNamespace": "agents"}}]},
        }},
        "placements": {"d/p": ["cluster1"]},
        "agents": {"cluster1/helloworld": ["ts.g"]},
    }))
    .expect("facts");
    written.read()
}

proptest! {
    #![proptest_config(config(amount(400, 2_000)))]

    #[test]
    fn any_object_gets_an_answer(
        kind in prop::sample::select(vec![
            "ClusterManagementAddOn", "ManagedClusterAddOn", "AddOnTemplate", "AddOnDeploymentConfig", "AddOnHubConfig", "Placement",
        ]),
        object in wild(),
        spec in wild(),
        old in prop::option::of(wild()),
        webhook in prop::sample::select(vec![Webhook::Mutate, Webhook::Validate]),
    ) {
        // A wild spec in a tame object gets further than a wild object.
        for object in [object, json!({"metadata": {"name": "helloworld", "namespace": "cluster1"}, "spec": spec})] {
            let operation = if old.is_some() { Operation::Update } else { Operation::Create };
            let asked = Asked { operation, subresource: "", object: of_kind(kind, object), old: old.clone() };
            let verdict = asked.at(webhook, &facts());
            let bytes = wire::encode("u", &verdict);
            prop_assert!(serde_json::from_slice::<Value>(&bytes).is_ok());
            prop_assert!(bytes.len() < 64 << 10);
        }
    }

    #[test]
    fn any_review_gets_an_answer_or_an_error(review in wild(), request in wild(), bytes in vec(any::<u8>(), 0..200)) {
        let mut request = request.as_object().cloned().unwrap_or_default();
        request.extend([("uid".to_owned(), json!("u")), ("operation".to_owned(), json!("UPDATE"))]);
        let whole = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request});
        for bytes in [serde_json::to_vec(&review), serde_json::to_vec(&whole), Ok(bytes)] {
            let bytes = bytes.expect("JSON");
            if let Ok(review) = wire::Review::decode(&bytes) {
                let verdict = decide(&review.request(Webhook::Mutate), &facts(), &Rulebook::default());
                prop_assert!(!wire::encode(review.uid(), &verdict).is_empty());
            }
        }
    }
}

fn pick(values: Vec<Value>) -> impl Strategy<Value = Value> {
    prop::sample::select(values)
}

fn mostly(good: Vec<Value>, bad: Vec<Value>) -> impl Strategy<Value = Value> {
    prop_oneof![6 => pick(good), 1 => pick(bad)]
}

fn amounts() -> impl Strategy<Value = Value> {
    let good = vec![
        json!(1),
        json!("25%"),
        json!("100%"),
        json!(7),
        json!("1%"),
        json!(2_147_483_647),
    ];
    let bad = [
        json!(0),
        json!(-1),
        json!("130%"),
        json!("25"),
        json!(2.5),
        json!(3_000_000_000_i64),
        json!(""),
    ];
    mostly(good, bad.into())
}

fn times() -> impl Strategy<Value = Value> {
    let bad = ["0", "None", "banana", "", "5min", "10|", "1.5h"].map(Value::from);
    let good = ["5m", "1h30m", "90s", "10h"].map(Value::from);
    mostly(good.into(), bad.into_iter().chain([json!(5)]).collect())
}

fn strategies() -> impl Strategy<Value = Value> {
    let groups = pick(vec![
        json!([]),
        json!([{"groupName": "a"}]),
        json!([{"groupIndex": -1}]),
    ]);
    let block = (amounts(), amounts(), times(), times(), groups).prop_map(
        |(concurrency, failures, soak, deadline, groups)| {
            json!({"maxConcurrency": concurrency, "maxFailures": failures, "minSuccessTime": soak,
                "progressDeadline": deadline, "mandatoryDecisionGroups": groups})
        },
    );
    let mut kinds = vec![("canary", "progressive"), ("Progressive", "all")];
    kinds.extend(RolloutKind::EVERY.map(|kind| (kind.name(), kind.block())));
    (prop::sample::select(kinds), block).prop_map(|((kind, of), block)| json!({"type": kind, of: block}))
}

fn references() -> impl Strategy<Value = Value> {
    let resources = ["addondeploymentconfigs", "addonhubconfigs", "AddOnTemplate", ""].map(Value::from);
    let names = ["a", "b", "c", ""].map(Value::from);
    (pick(resources.into()), pick(names.into())).prop_map(|(resource, name)| {
        json!({"group": "addon.open-cluster-management.io", "resource": resource, "namespace": "n", "name": name})
    })
}

/// Objects whose every leaf may be right or wrong, with right ones frequent enough to be accepted whole at times.
pub(crate) fn addons() -> impl Strategy<Value = Value> {
    let namespace = pick(["agents", "a-b", "Not_A_Name", ""].map(Value::from).into());
    let update = (amounts(), pick(vec![json!("p"), json!("")])).prop_map(|(at_once, name)| {
        json!({"type": "RollingUpdateWithPlacement", "rollingUpdateWithPlacement":
            {"name": name, "namespace": "d", "maxConcurrentlyUpdating": at_once}})
    });
    (strategies(), vec(references(), 0..3), namespace, update).prop_map(
        |(strategy, configs, namespace, update)| {
            json!({
                "apiVersion": "addon.open-cluster-management.io/v1alpha1",
                "kind": "ClusterManagementAddOn",
                "metadata": {"name": "helloworld"},
                "spec": {
                    "configuration": {"rolloutStrategy": update},
                    "installStrategy": {"type": "Placements", "placements": [{
                        "name": "p", "namespace": "d", "configs": configs, "rolloutStrategy": strategy,
                        "addonSpec": {"installNamespace": namespace},
                    }]},
                },
            })
        },
    )
}

fn is_readable(addon: &ClusterManagementAddOn) -> bool {
    let path = Path::root();
    let rollout = addon
        .spec
        .configuration
        .as_ref()
        .and_then(|configuration| configuration.rollout_strategy.as_ref());
    let template = |template: &CreationTemplate| {
        template
            .install_namespace
            .as_deref()
            .is_none_or(|text| InstallNamespace::parse(text).is_ok())
    };
    let placement = |placement: &PlacementStrategy| {
        let strategy = placement.rollout_strategy.as_ref();
        let configs = placement.configs.iter().all(|config| {
            let raw = RawReference {
                group: Some(&config.group),
                resource: Some(&config.resource),
                namespace: Some(&config.namespace),
                name: Some(&config.name),
            };
            ConfigReference::parse(raw, &path).is_ok()
        });
        configs
            && strategy
                .is_none_or(|strategy| RolloutStrategy::parse(&RawStrategy::from(strategy), &path).is_ok())
            && placement.addon_spec.as_ref().is_none_or(template)
    };
    rollout.is_none_or(|rollout| ConfigRollout::parse(&RawConfigRollout::from(rollout), &path).is_ok())
        && addon
            .spec
            .install_strategy
            .iter()
            .flat_map(|strategy| &strategy.placements)
            .all(placement)
}

proptest! {
    #![proptest_config(config(amount(400, 2_000)))]

    #[test]
    fn what_the_gate_accepts_the_planner_can_read(object in addons()) {
        let verdict = Asked::create(object.clone()).at(Webhook::Validate, &Facts::default());
        let read = serde_json::from_value::<ClusterManagementAddOn>(object);
        let readable = read.as_ref().is_ok_and(is_readable);
        if verdict.allowed() {
            prop_assert!(readable, "accepted, but not readable: {read:?}");
        }
    }

    #[test]
    fn an_addition_is_made_once_and_accepted(
        given in prop::option::of(prop::sample::select(vec!["open-cluster-management-agent-addon", "mine", "agents"])),
        live in prop::option::of(prop::sample::select(vec!["open-cluster-management-agent-addon", "mine", "Bad_"])),
        owner in prop::option::of((prop::sample::select(vec!["Apply", "Update"]), any::<bool>())),
        annotation in prop::option::of(prop::sample::select(vec![r#"{"spec":{}}"#, r#"{"spec":{"installNamespace":"x"}}"#, "{"])),
    ) {
        let mut object = json!({
            "apiVersion": "addon.open-cluster-management.io/v1alpha1",
            "kind": "ManagedClusterAddOn",
            "metadata": {"name": "helloworld", "namespace": "cluster1"},
            "spec": {},
        });
        let mut old = live.map(|live| {
            let mut old = object.clone();
            old["spec"]["installNamespace"] = json!(live);
            old["metadata"]["labels"] = json!({"was": "otherwise"});
            old
        });
        if let Some(given) = given {
            object["spec"]["installNamespace"] = json!(given);
        }
        if let Some((operation, owns)) = owner {
            let fields = if owns { json!({"f:spec": {"f:installNamespace": {}}}) } else { json!({"f:spec": {}}) };
            object["metadata"]["managedFields"] = json!([{
                "apiVersion": "addon.open-cluster-management.io/v1alpha1", "operation": operation, "fieldsV1": fields}]);
        }
        if let Some(annotation) = annotation {
            object["metadata"]["annotations"] = json!({"kubectl.kubernetes.io/last-applied-configuration": annotation});
        }
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let mut asked = Asked { operation, subresource: "", object, old: old.take() };
        let first = asked.at(Webhook::Mutate, &facts());
        prop_assert_eq!(&first, &asked.at(Webhook::Mutate, &facts()));
        if given.is_some_and(|given| given != "open-cluster-management-agent-addon") {
            prop_assert!(first.patch().0.is_empty(), "a value in the request is kept");
        }
        json_patch::patch(&mut asked.object, first.patch()).expect("the addition fits");
        prop_assert!(asked.at(Webhook::Mutate, &facts()).patch().0.is_empty(), "nothing is added twice");
        prop_assert_eq!(asked.at(Webhook::Validate, &facts()).allowed(), true);
    }
}

#[test]
fn the_planner_property_sees_accepted_objects() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;
    let mut runner = TestRunner::deterministic();
    let accepted = (0..400).filter(|_| {
        let object = addons().new_tree(&mut runner).expect("an object").current();
        Asked::create(object)
            .at(Webhook::Validate, &Facts::default())
            .allowed()
    });
    assert!(accepted.count() > 5, "the property would hold of nothing");
}
