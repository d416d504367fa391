//! The effect of `tidegate definitions` on Open Cluster Management's own CRDs: it only adds, and can be reverted completely.

use api::definitions::{
    Conversion, DefinitionPlan, Hazard, HubContext, Operator, OperatorWill, Presence, Proof, Unfit, plan,
    revert, revert_text,
};
use serde_json::{Value, json};

use crate::kit::manifests::repository;

const EXTENDED: [&str; 4] = [
    "addondeploymentconfigs",
    "addontemplates",
    "clustermanagementaddons",
    "managedclusteraddons",
];
const RECORD: &str = "/metadata/annotations/tidegate.io~1added-fields";
const CMA_SPEC: &str = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties";

/// A definition of Open Cluster Management as a hub shows it.
fn theirs(plural: &str) -> Value {
    let text = std::fs::read_to_string(repository(&format!("tests/data/ocm-crds/{plural}.yaml")));
    let mut crd: Value = serde_saphyr::from_str(&text.expect("the definition")).expect("YAML");
    crd["metadata"]["resourceVersion"] = json!("7");
    crd
}

/// The same without the version that needs a conversion.
fn older(plural: &str) -> Value {
    let mut crd = theirs(plural);
    let versions = crd["spec"]["versions"].as_array_mut().expect("versions");
    versions.retain(|version| version["name"] == "v1alpha1");
    crd
}

fn ours(plural: &str) -> Value {
    let mut all = api::crds().into_iter();
    let crd = all.find(|crd| crd.spec.names.plural == plural).expect("ours");
    serde_json::to_value(crd).expect("plain data")
}

fn address() -> Value {
    json!({"namespace": "tidegate", "name": "tidegate", "path": "/convert", "port": 443})
}

/// A hub without an operator, whose conversion is Tidegate's.
fn calm() -> HubContext {
    HubContext {
        operator: Operator::Absent,
        proof: Proof::Lossless(address()),
    }
}

fn converted(mut crd: Value) -> Value {
    let service = json!({"namespace": "tidegate", "name": "tidegate", "path": "/convert"});
    crd["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "clientConfig": {"service": service, "caBundle": "eA=="}, "conversionReviewVersions": ["v1"]}});
    crd
}

fn patched(crd: &Value, operations: &[Value]) -> Value {
    let patch: json_patch::Patch =
        serde_json::from_value(operations.iter().cloned().collect()).expect("a JSON patch");
    let mut copy = crd.clone();
    json_patch::patch(&mut copy, &patch).expect("it applies");
    copy
}

fn paths(plan: &DefinitionPlan, standing: Presence, is_column: bool) -> Vec<&str> {
    let chosen = plan.additions.iter();
    let chosen = chosen.filter(|one| one.standing == standing && one.is_column == is_column);
    chosen.map(|one| one.path.as_str()).collect()
}

#[test]
fn fields_and_columns_are_added_and_nothing_else_is_touched() {
    for (plural, fields, columns) in [
        ("addondeploymentconfigs", &[][..], &[][..]),
        ("addontemplates", &[], &["Version", "Age"]),
        (
            "clustermanagementaddons",
            &[
                "spec.configuration",
                "spec.installStrategy.labelSelector",
                "spec.installStrategy.placements[].addonSpec",
                "spec.installStrategy.placements[].addonTemplate",
                "status.conditions",
                "status.defaultVersion",
                "status.observedGeneration",
                "status.supportedVersions",
            ],
            &["Install", "Ready", "Reason", "Age", "Version", "Message"],
        ),
        (
            "managedclusteraddons",
            &[
                "spec.desiredVersion",
                "status.configReferences[].desiredConfigSpecHash",
                "status.configReferences[].lastAppliedConfigSpecHash",
                "status.currentVersion",
                "status.lastVersion",
                "status.observedGeneration",
            ],
            &["Ready", "Reason", "Desired", "Current", "Age"],
        ),
    ] {
        for live in [older(plural), converted(theirs(plural))] {
            let plan = plan(&live, &ours(plural), &calm());
            assert_eq!(plan.hazards, [], "{plural}");
            assert_eq!(paths(&plan, Presence::New, false), fields, "{plural}");
            let kind = live["spec"]["names"]["kind"].as_str().unwrap_or_default();
            assert_eq!(api::conversion::own_fields(kind), fields, "conversions");
            assert_eq!(paths(&plan, Presence::New, true), columns, "{plural}");
            only_adds(&live, &plan.patch);
        }
    }
}

/// Everything in `before` is unchanged; additions are in `v1alpha1` or are the record.
fn only_adds(before: &Value, operations: &[Value]) {
    if operations.is_empty() {
        return;
    }
    let tested: Vec<&str> = operations
        .iter()
        .filter(|one| one["op"] == "test")
        .filter_map(|one| one["path"].as_str())
        .collect();
    assert_eq!(
        tested,
        [
            "/metadata/name",
            "/metadata/resourceVersion",
            "/spec/versions/0/name"
        ]
    );
    let changes = operations.iter().filter(|one| one["op"] != "test");
    for change in changes {
        assert_eq!(change["op"], "add", "{change}");
        let path = change["path"].as_str().expect("a path");
        let is_ours = [
            "/spec/versions/0/schema/openAPIV3Schema/properties/",
            "/spec/versions/0/additionalPrinterColumns",
            "/metadata/annotations",
        ];
        assert!(is_ours.iter().any(|place| path.starts_with(place)), "{path}");
    }
    let after = patched(before, operations);
    contains(&after, before, "");
    let mut rest = after;
    for whole in [
        "/spec/versions/0/schema",
        "/spec/versions/0/additionalPrinterColumns",
    ] {
        let place = rest.pointer_mut(whole).expect("v1alpha1 has it");
        *place = before.pointer(whole).expect("it had it before").clone();
    }
    let annotations = rest["metadata"].as_object_mut().expect("metadata");
    annotations.remove("annotations");
    assert_eq!(rest, *before, "versions, conversion and names are as they were");
}

fn contains(after: &Value, before: &Value, path: &str) {
    match (after, before) {
        (Value::Object(after), Value::Object(before)) => {
            for (name, value) in before {
                let found = after.get(name);
                contains(found.unwrap_or(&Value::Null), value, &format!("{path}/{name}"));
            }
        }
        (Value::Array(after), Value::Array(before)) => {
            assert!(after.len() >= before.len(), "{path}");
            for (place, (after, before)) in after.iter().zip(before).enumerate() {
                contains(after, before, &format!("{path}/{place}"));
            }
        }
        _ => assert_eq!(after, before, "{path}"),
    }
}

#[test]
fn what_was_added_is_not_added_again_and_is_taken_out_to_the_last_byte() {
    for plural in EXTENDED {
        let live = converted(theirs(plural));
        for annotations in [json!(null), json!({"a": "b"})] {
            let mut live = live.clone();
            if annotations.is_object() {
                live["metadata"]["annotations"] = annotations;
            }
            let first = plan(&live, &ours(plural), &calm());
            let after = patched(&live, &first.patch);
            let again = plan(&after, &ours(plural), &calm());
            assert_eq!(again.patch, Vec::<Value>::new(), "{plural}");
            assert_eq!(again.pending().count(), 0, "{plural}");
            assert_eq!(again.additions.len(), first.additions.len(), "{plural}");

            let back = revert(&after);
            assert_eq!(back.stays, Vec::<String>::new());
            assert_eq!(back.removed.len(), first.additions.len(), "{plural}");
            assert_eq!(patched(&after, &back.patch), live, "{plural}");
            assert_eq!(
                revert(&live).patch,
                Vec::<Value>::new(),
                "{plural}: nothing is recorded"
            );
        }
    }
}

#[test]
fn differences_are_reported_and_kept() {
    let mut live = older("clustermanagementaddons");
    live.pointer_mut(CMA_SPEC).expect("properties")["configuration"] = json!({"type": "string"});
    let columns = live.pointer_mut("/spec/versions/0/additionalPrinterColumns");
    let columns = columns.and_then(Value::as_array_mut).expect("columns");
    columns.push(json!({"name": "Ready", "type": "string", "jsonPath": ".status.ready"}));
    let plan = plan(&live, &ours("clustermanagementaddons"), &calm());
    let told: Vec<(&str, &str)> = plan
        .differences
        .iter()
        .map(|one| (one.path.as_str(), one.key.as_str()))
        .collect();
    assert_eq!(
        told,
        [
            ("spec.configuration", "type"),
            ("spec.installStrategy.type", "enum"),
            ("status", "default"),
            ("column Ready", "jsonPath"),
        ]
    );
    assert!(!paths(&plan, Presence::New, false).contains(&"spec.configuration"));
    only_adds(&live, &plan.patch);
    let after = patched(&live, &plan.patch);
    assert_eq!(patched(&after, &revert(&after).patch), live);
}

#[test]
fn fields_that_another_client_changed_or_added_are_not_ours() {
    let plural = "managedclusteraddons";
    let live = older(plural);
    let mut after = patched(&live, &plan(&live, &ours(plural), &calm()).patch);
    let place = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/desiredVersion";
    after.pointer_mut(place).expect("it was added")["maxLength"] = json!(5);
    let again = plan(&after, &ours(plural), &calm());
    assert_eq!(again.patch, Vec::<Value>::new());
    assert_eq!(again.differences.len(), 1, "{:?}", again.differences);
    let back = revert(&after);
    assert_eq!(back.stays, ["spec.desiredVersion"]);
    let rest = patched(&after, &back.patch);
    assert_eq!(rest.pointer(place), after.pointer(place));
    assert_eq!(
        rest["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"],
        live["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    );
    // It is reported for as long as it exists.
    assert_eq!(revert(&rest).stays, ["spec.desiredVersion"]);
    assert_eq!(revert(&rest).patch, Vec::<Value>::new());

    // The owner has restored the CRD without our fields: the record lists deleted fields.
    let mut restored = live.clone();
    restored["metadata"]["annotations"] = after["metadata"]["annotations"].clone();
    assert_eq!(
        paths(&plan(&restored, &ours(plural), &calm()), Presence::New, false).len(),
        6
    );
    assert_eq!(patched(&restored, &revert(&restored).patch), live);
    let told = revert_text(&revert(&restored), "took out");
    assert!(told.contains("only the record"), "{told}");
}

#[test]
fn what_another_tidegate_added_is_brought_up_to_date() {
    let plural = "managedclusteraddons";
    let live = older(plural);
    let mut earlier = ours(plural);
    let version = &mut earlier["spec"]["versions"][0];
    version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["desiredVersion"]["description"] =
        json!("As it was said before.");
    let columns = version["additionalPrinterColumns"]
        .as_array_mut()
        .expect("columns");
    let ready = columns.iter_mut().find(|one| one["name"] == "Ready").expect("it");
    ready["description"] = json!("old");
    let old = patched(&live, &plan(&live, &earlier, &calm()).patch);
    let now = plan(&old, &ours(plural), &calm());
    assert_eq!(paths(&now, Presence::Outdated, false), ["spec.desiredVersion"]);
    assert_eq!(paths(&now, Presence::Outdated, true), ["Ready"]);
    let new = patched(&old, &now.patch);
    assert_eq!(new, patched(&live, &plan(&live, &ours(plural), &calm()).patch));
    assert_eq!(patched(&new, &revert(&new).patch), live);
}

#[test]
fn a_definition_that_is_ours_already_gets_nothing() {
    for plural in EXTENDED {
        let mut live = ours(plural);
        live["metadata"]["resourceVersion"] = json!("7");
        let plan = plan(&live, &ours(plural), &calm());
        assert_eq!((plan.additions, plan.hazards), (vec![], vec![]), "{plural}");
        assert_eq!(plan.differences, vec![], "{plural}");
    }
}

#[test]
fn no_addition_gives_existing_objects_a_value() {
    for plural in EXTENDED {
        let live = older(plural);
        for change in plan(&live, &ours(plural), &calm()).patch {
            assert_eq!(change["value"].get("default"), None, "{change}");
        }
    }
}

#[test]
fn the_operator_overwrites_unless_the_version_is_higher_than_its_own() {
    let will = |marked: Option<&str>, own: Option<&str>| {
        let mut live = older("managedclusteraddons");
        if let Some(marked) = marked {
            live["metadata"]["annotations"] = json!({"operator.open-cluster-management.io/version": marked});
        }
        let around = HubContext {
            operator: Operator::Present(own.map(str::to_owned)),
            proof: Proof::NotAsked,
        };
        let plan = plan(&live, &ours("managedclusteraddons"), &around);
        let word = match plan.operator {
            OperatorWill::Nothing => "nothing",
            OperatorWill::LeaveAlone { .. } => "leaves alone",
            OperatorWill::Overwrite { .. } => "overwrites",
            OperatorWill::Unknown { .. } => "unknown",
        };
        (word, plan.hazards.len())
    };
    for (marked, own, expected) in [
        (None, None, ("overwrites", 1)),
        (None, Some("1.3.0"), ("overwrites", 1)),
        (Some("1.3.0"), Some("1.3.0"), ("overwrites", 1)),
        (Some("1.2.9"), Some("1.3.0"), ("overwrites", 1)),
        (Some("v1.10.0"), Some("1.9.0"), ("leaves alone", 0)),
        (Some("99.0.0"), Some("v1.3.1-dev"), ("leaves alone", 0)),
        (Some("1.3.0"), Some("1.3.0-rc.1"), ("overwrites", 1)),
        (Some("99.0.0"), None, ("unknown", 0)),
        (Some("latest"), Some("1.3.0"), ("unknown", 0)),
    ] {
        assert_eq!(will(marked, own), expected, "{marked:?} {own:?}");
    }
}

#[test]
fn a_conversion_that_may_lose_the_fields_is_refused() {
    let elsewhere = json!("https://127.0.0.1:9/convert");
    let two = || theirs("clustermanagementaddons");
    let of = |live: &Value, proof: Proof| {
        let around = HubContext {
            operator: Operator::Absent,
            proof,
        };
        plan(live, &ours("clustermanagementaddons"), &around)
    };
    let lossless = of(&converted(two()), Proof::Lossless(address()));
    assert!(matches!(lossless.conversion, Conversion::Lossless { .. }));
    assert_eq!(lossless.hazards, []);
    for (live, proof, is_known) in [
        (two(), Proof::NotAsked, true),
        (two(), Proof::Lossless(address()), true),
        (converted(two()), Proof::Loses(address()), true),
        (converted(two()), Proof::Lossless(elsewhere), false),
        (converted(two()), Proof::NotAsked, false),
        (
            converted(two()),
            Proof::Unanswered("it is away".to_owned()),
            false,
        ),
    ] {
        let plan = of(&live, proof.clone());
        let [hazard] = &plan.hazards[..] else {
            panic!("{proof:?}: {:?}", plan.hazards);
        };
        let told = hazard.to_string();
        assert_eq!(matches!(hazard, Hazard::Erased { .. }), is_known, "{told}");
        assert!(told.starts_with("spec.conversion: "), "{told}");
        assert!(told.contains("v1beta1"), "{told}");
        assert!(hazard.cure().contains("docs/ocm/v1beta1.md"), "{}", hazard.cure());
    }
    // A version that is not served, and columns, lose nothing.
    let mut unserved = two();
    unserved["spec"]["versions"][1]["served"] = json!(false);
    assert_eq!(of(&unserved, Proof::NotAsked).conversion, Conversion::NoOther);
    let templates = plan(&theirs("addontemplates"), &ours("addontemplates"), &calm());
    assert!(matches!(templates.conversion, Conversion::NothingToLose { .. }));
    assert_eq!(templates.hazards, []);
}

#[test]
fn malformed_crds_are_reported_and_not_changed() {
    let without = |pointer: &str| {
        let mut live = older("managedclusteraddons");
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        let parent = live.pointer_mut(parent).and_then(Value::as_object_mut);
        parent.expect("it is there").remove(key);
        live
    };
    let mut unserved = older("managedclusteraddons");
    unserved["spec"]["versions"][0]["served"] = json!(false);
    let mut renamed = older("managedclusteraddons");
    renamed["spec"]["versions"][0]["name"] = json!("v1");
    for (live, unfit) in [
        (json!(null), Unfit::Unnamed),
        (without("/metadata/resourceVersion"), Unfit::Unnamed),
        (without("/spec/versions"), Unfit::NoVersion),
        (renamed, Unfit::NoVersion),
        (unserved, Unfit::NotServed),
        (without("/spec/versions/0/schema"), Unfit::NoSchema),
    ] {
        let plan = plan(&live, &ours("managedclusteraddons"), &calm());
        assert_eq!(plan.hazards, [Hazard::Unfit(unfit)]);
        assert_eq!(plan.patch, Vec::<Value>::new());
    }
    let mut free = older("managedclusteraddons");
    free["spec"]["preserveUnknownFields"] = json!(true);
    let mut open = older("managedclusteraddons");
    for part in ["spec", "status"] {
        let of = format!("/spec/versions/0/schema/openAPIV3Schema/properties/{part}");
        *open.pointer_mut(&of).expect("a part") =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    }
    for live in [free, open] {
        let plan = plan(&live, &ours("managedclusteraddons"), &calm());
        assert_eq!(paths(&plan, Presence::New, false), Vec::<&str>::new());
        assert_eq!(plan.hazards, []);
    }
    let mut bare = older("managedclusteraddons");
    let status = bare.pointer_mut("/spec/versions/0/schema/openAPIV3Schema/properties/status");
    *status.expect("a status") = json!({"type": "object"});
    let plan = plan(&bare, &ours("managedclusteraddons"), &calm());
    assert!(paths(&plan, Presence::New, false).contains(&"status.*"));
    let after = patched(&bare, &plan.patch);
    assert_eq!(patched(&after, &revert(&after).patch), bare);
}

#[test]
fn an_unreadable_record_stops_everything() {
    for text in [json!("nonsense"), json!("{}x"), json!("{\"other\":1}"), json!(7)] {
        let mut live = older("managedclusteraddons");
        live["metadata"]["annotations"] = json!({"tidegate.io/added-fields": text});
        let plan = plan(&live, &ours("managedclusteraddons"), &calm());
        assert_eq!(plan.hazards, [Hazard::UnreadableRecord]);
        let back = revert(&live);
        assert_eq!(
            (back.hazard, back.patch),
            (Some(Hazard::UnreadableRecord), vec![])
        );
    }
}

/// Whatever stands wherever in a definition: no panic, and what comes out is a patch that applies and leads back.
#[test]
fn no_definition_is_too_odd() {
    let live = older("managedclusteraddons");
    let after = patched(&live, &plan(&live, &ours("managedclusteraddons"), &calm()).patch);
    assert!(after.pointer(RECORD).is_some());
    let mut places = Vec::new();
    pointers(&after, String::new(), &mut places);
    assert!(places.len() > 300, "{}", places.len());
    let ours = ours("managedclusteraddons");
    let odd = json!([null, 7, "x", [], {}, {"properties": []}]);
    for (count, place) in places.iter().enumerate() {
        let mut damaged = after.clone();
        *damaged.pointer_mut(place).expect("a place") = odd[count % 6].clone();
        patched(&damaged, &plan(&damaged, &ours, &calm()).patch);
        patched(&damaged, &revert(&damaged).patch);
    }
}

fn pointers(value: &Value, at: String, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                pointers(value, format!("{at}/{name}"), found);
            }
        }
        Value::Array(items) => {
            for (place, value) in items.iter().enumerate() {
                pointers(value, format!("{at}/{place}"), found);
            }
        }
        _ => {}
    }
    if !at.is_empty() {
        found.push(at);
    }
}
