//! There and back: whatever an object holds, it is the same afterwards.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{Extensions, Trust, Version, convert_trusting};
use crate::hash::Keys;

/// The conversion of a hub with Open Cluster Management's definitions.
fn convert(object: Value, to: Version) -> Value {
    super::convert(object, to, Extensions::Kept)
}

fn both(kind: &str, version: Version, fields: Value) -> Value {
    let mut object = json!({"apiVersion": version.api_version(), "kind": kind, "metadata": {"name": "a", "namespace": "c1"}});
    if let (Some(object), Value::Object(fields)) = (object.as_object_mut(), fields) {
        object.extend(fields);
    }
    object
}

fn word() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => prop::sample::select(vec!["a", "b-c", "addontemplates", "90s", "__reserved_no_default__", "kubeClient", "customSigner",
            "kubernetes.io/kube-apiserver-client", "example.com/signer", "token", "csr", ""]).prop_map(Value::from),
        1 => "[a-zA-Z./_ ]{0,12}".prop_map(Value::from),
    ]
}

/// Anything at all, small.
fn junk() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        word()
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map("[a-e]{1,2}", inner, 0..3).prop_map(|all| json!(all)),
        ]
    })
}

/// A value, now and then something else, now and then nothing.
fn odd(value: BoxedStrategy<Value>) -> BoxedStrategy<Option<Value>> {
    prop_oneof![8 => value.prop_map(Some), 1 => junk().prop_map(Some), 3 => Just(None)].boxed()
}

fn fields(of: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let each: Vec<_> = of
        .into_iter()
        .map(|(name, value)| (Just(name), odd(value)))
        .collect();
    each.prop_map(|all| {
        let given = all
            .into_iter()
            .filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(given.collect::<Map<_, _>>())
    })
    .boxed()
}

fn list(of: BoxedStrategy<Value>) -> BoxedStrategy<Value> {
    prop::collection::vec(of, 0..4).prop_map(Value::from).boxed()
}

fn text() -> BoxedStrategy<Value> {
    word().boxed()
}

fn coordinates() -> BoxedStrategy<Value> {
    fields(vec![
        ("name", text()),
        ("namespace", text()),
        ("specHash", text()),
    ])
}

fn supported() -> BoxedStrategy<Value> {
    fields(vec![
        ("group", text()),
        ("resource", text()),
        ("defaultConfig", coordinates()),
        (
            "name",
            prop_oneof![5 => Just(Value::from("x")), 1 => text()].boxed(),
        ),
        ("namespace", text()),
    ])
}

fn install_strategy() -> BoxedStrategy<Value> {
    let placement = fields(vec![
        ("name", text()),
        ("namespace", text()),
        ("rolloutStrategy", junk().boxed()),
        ("addonSpec", junk().boxed()),
        ("addonTemplate", junk().boxed()),
    ]);
    fields(vec![
        ("type", text()),
        ("labelSelector", junk().boxed()),
        ("placements", list(placement)),
    ])
}

fn addon() -> BoxedStrategy<Value> {
    let spec = fields(vec![
        ("supportedConfigs", list(supported())),
        ("defaultConfigs", list(supported())),
        ("addOnConfiguration", junk().boxed()),
        ("configuration", junk().boxed()),
        ("installStrategy", install_strategy()),
        ("ofTomorrow", junk().boxed()),
    ]);
    let status = fields(vec![
        ("defaultconfigReferences", junk().boxed()),
        ("defaultConfigReferences", junk().boxed()),
        ("conditions", junk().boxed()),
        ("supportedVersions", junk().boxed()),
        ("ofTomorrow", junk().boxed()),
    ]);
    fields(vec![("spec", spec), ("status", status)])
}

fn subject() -> BoxedStrategy<Value> {
    fields(vec![
        ("user", text()),
        ("groups", junk().boxed()),
        ("organizationUnit", junk().boxed()),
        ("organizationUnits", junk().boxed()),
    ])
}

fn registration() -> BoxedStrategy<Value> {
    let content = fields(vec![
        ("signerName", text()),
        ("subject", subject()),
        ("driver", text()),
    ]);
    fields(vec![
        ("signerName", text()),
        ("subject", subject()),
        ("type", text()),
        ("kubeClient", content.clone()),
        ("customSigner", content),
    ])
}

fn cluster_addon() -> BoxedStrategy<Value> {
    let reference = fields(vec![
        ("group", text()),
        ("resource", text()),
        ("name", text()),
        ("namespace", text()),
        ("desiredConfig", coordinates()),
        ("desiredConfigSpecHash", text()),
    ]);
    let status = fields(vec![
        ("registrations", list(registration())),
        ("kubeClientDriver", text()),
        ("configReferences", list(reference)),
        ("currentVersion", text()),
        ("conditions", junk().boxed()),
        ("healthCheck", junk().boxed()),
    ]);
    let spec = fields(vec![
        ("installNamespace", text()),
        ("desiredVersion", text()),
        ("configs", junk().boxed()),
    ]);
    let annotated = odd(text()).prop_map(|value| {
        let key = "addon.open-cluster-management.io/v1alpha1-install-namespace";
        let mut metadata = json!({"name": "a", "namespace": "c1", "annotations": {"other": "x"}});
        if let Some(Value::String(text)) = value {
            metadata["annotations"][key] = Value::from(text);
        }
        metadata
    });
    let rest = fields(vec![("spec", spec), ("status", status)]);
    let whole = (annotated, rest).prop_map(|(metadata, mut rest)| {
        rest["metadata"] = metadata;
        rest
    });
    whole.boxed()
}

fn is_identity(kind: &str, from: Version, to: Version, given: Value) -> Result<(), TestCaseError> {
    let object = both(kind, from, given);
    for extensions in [Extensions::Kept, Extensions::Served] {
        let there = super::convert(object.clone(), to, extensions);
        prop_assert_eq!(there.get("apiVersion"), Some(&Value::from(to.api_version())));
        let back = super::convert(there.clone(), from, extensions);
        prop_assert_eq!(&back, &object, "by way of {}", there);
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn an_addon_comes_back_as_it_was(given in addon()) {
        is_identity("ClusterManagementAddOn", Version::V1alpha1, Version::V1beta1, given.clone())?;
        is_identity("ClusterManagementAddOn", Version::V1beta1, Version::V1alpha1, given)?;
    }

    #[test]
    fn an_addon_of_a_cluster_comes_back_as_it_was(given in cluster_addon()) {
        is_identity("ManagedClusterAddOn", Version::V1alpha1, Version::V1beta1, given.clone())?;
        is_identity("ManagedClusterAddOn", Version::V1beta1, Version::V1alpha1, given)?;
    }
}

fn alpha_addon() -> Value {
    both(
        "ClusterManagementAddOn",
        Version::V1alpha1,
        json!({"spec": {
        "supportedConfigs": [
            {"group": "g", "resource": "with", "defaultConfig": {"name": "d", "namespace": "n"}},
            {"group": "g", "resource": "without"}],
        "configuration": {"configs": [{"resource": "r", "name": "x"}]},
        "installStrategy": {"type": "Placements", "placements": [
            {"name": "one", "namespace": "p", "addonTemplate": {"desiredVersion": "1"}},
            {"name": "two", "namespace": "p", "addonTemplate": {"desiredVersion": "2"}}]}},
        "status": {"conditions": [{"type": "Ready"}], "defaultconfigReferences": []}}),
    )
}

#[test]
fn fields_stand_where_open_cluster_management_has_them() {
    let beta = convert(alpha_addon(), Version::V1beta1);
    assert_eq!(
        beta["spec"]["defaultConfigs"],
        json!([{"group": "g", "resource": "with", "name": "d", "namespace": "n"},
            {"group": "g", "resource": "without", "name": "__reserved_no_default__"}])
    );
    assert_eq!(beta["status"], json!({"defaultConfigReferences": []}));
    assert_eq!(
        beta["spec"]["installStrategy"]["placements"][0],
        json!({"name": "one", "namespace": "p"})
    );
    let client = json!({"signerName": "kubernetes.io/kube-apiserver-client", "subject": {"user": "u", "groups": ["g"]}});
    let custom = json!({"signerName": "example.com/s", "subject": {"user": "v", "organizationUnit": ["o"]}});
    let alpha = both(
        "ManagedClusterAddOn",
        Version::V1alpha1,
        json!({"spec": {"installNamespace": "x"}, "status": {
        "kubeClientDriver": "token", "registrations": [client, custom],
        "configReferences": [{"group": "g", "resource": "r", "name": "n", "desiredConfig": {"name": "n", "specHash": "h"}}]}}),
    );
    let beta = convert(alpha, Version::V1beta1);
    assert_eq!(
        beta["metadata"]["annotations"],
        json!({"addon.open-cluster-management.io/v1alpha1-install-namespace": "x"}),
        "nothing had to be kept"
    );
    assert_eq!(
        beta["status"],
        json!({"registrations": [
            {"type": "kubeClient", "kubeClient": {"driver": "token", "subject": {"user": "u", "groups": ["g"]}}},
            {"type": "customSigner", "customSigner": {"signerName": "example.com/s", "subject": {"user": "v", "organizationUnits": ["o"]}}}],
            "configReferences": [{"group": "g", "resource": "r", "desiredConfig": {"name": "n", "specHash": "h"}}]})
    );
}

#[test]
fn what_a_client_of_v1beta1_changes_takes_only_what_it_touches() {
    let mut beta = convert(alpha_addon(), Version::V1beta1);
    let placements = beta["spec"]["installStrategy"]["placements"]
        .as_array_mut()
        .expect("placements");
    placements.remove(0);
    placements.insert(0, json!({"name": "three", "namespace": "p"}));
    beta["spec"]["defaultConfigs"][1]["name"] = json!("new");
    beta["metadata"]["labels"] = json!({"a": "b"});
    // A typed client leaves out what it does not know.
    beta.as_object_mut().expect("an object").remove("status");
    let alpha = convert(beta, Version::V1alpha1);
    assert_eq!(
        alpha["spec"]["installStrategy"]["placements"],
        json!([{"name": "three", "namespace": "p"},
            {"name": "two", "namespace": "p", "addonTemplate": {"desiredVersion": "2"}}]),
        "what belonged to a placement goes with it"
    );
    assert_eq!(
        alpha["spec"]["supportedConfigs"][1]["defaultConfig"],
        json!({"name": "new"})
    );
    assert_eq!(
        alpha["spec"]["configuration"],
        alpha_addon()["spec"]["configuration"]
    );
    assert_eq!(alpha["status"], json!({"conditions": [{"type": "Ready"}]}));
    assert_eq!(alpha["metadata"].get("annotations"), None);
}

#[test]
fn a_namespace_that_is_none_stays_an_annotation_unless_it_is_to_be_judged() {
    let key = "addon.open-cluster-management.io/v1alpha1-install-namespace";
    let mut beta = both("ManagedClusterAddOn", Version::V1beta1, json!({"spec": {}}));
    beta["metadata"]["annotations"] = json!({key: "Not A Label"});
    let stored = convert(beta.clone(), Version::V1alpha1);
    assert_eq!(stored["spec"], json!({}));
    assert_eq!(
        super::read_as_written(beta)["spec"],
        json!({"installNamespace": "Not A Label"})
    );
}

#[test]
fn where_v1beta1_has_our_fields_they_stay_in_their_place() {
    let object = alpha_addon();
    let beta = super::convert(object.clone(), Version::V1beta1, Extensions::Served);
    assert_eq!(beta["spec"]["configuration"], object["spec"]["configuration"]);
    assert_eq!(beta["spec"]["installStrategy"], object["spec"]["installStrategy"]);
    assert_eq!(beta["status"]["conditions"], object["status"]["conditions"]);
    assert_eq!(
        beta["metadata"].get("annotations"),
        None,
        "nothing had to be kept"
    );
    let mut edited = beta;
    edited["spec"]
        .as_object_mut()
        .expect("a spec")
        .remove("configuration");
    let alpha = super::convert(edited, Version::V1alpha1, Extensions::Served);
    assert_eq!(
        alpha["spec"].get("configuration"),
        None,
        "what is taken out is out"
    );
}

/// OCM has proposed the field for both versions: a copy in an annotation would restore what a client of the other version has removed.
#[test]
fn dependencies_stay_in_their_place_and_no_copy_is_kept() {
    let spec =
        json!({"spec": {"dependencies": [{"name": "base", "type": "Optional", "message": "no logs"}]}});
    let object = both("ClusterManagementAddOn", Version::V1alpha1, spec);
    for extensions in [Extensions::Kept, Extensions::Served] {
        let mut beta = super::convert(object.clone(), Version::V1beta1, extensions);
        assert_eq!(beta["spec"], object["spec"]);
        assert_eq!(beta["metadata"], object["metadata"], "no annotation");
        beta["spec"]["dependencies"].take();
        let alpha = super::convert(beta, Version::V1alpha1, extensions);
        assert_eq!(alpha["spec"]["dependencies"], Value::Null);
    }
}

#[test]
fn an_object_that_is_too_deep_spoils_no_other() {
    let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
    let review = format!(
        r#"{{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{{"uid":"u",
        "desiredAPIVersion":"addon.open-cluster-management.io/v1beta1","objects":[{},
        {{"apiVersion":"addon.open-cluster-management.io/v1alpha1","kind":"ClusterManagementAddOn","spec":{deep}}}]}}}}"#,
        alpha_addon()
    );
    let answer = super::answer(review.as_bytes(), Extensions::Kept, &Keys::default()).expect("an answer");
    let answer = String::from_utf8(answer).expect("a text");
    assert!(answer.contains(&convert(alpha_addon(), Version::V1beta1).to_string()));
    let kept = format!(
        r#"{{"apiVersion":"addon.open-cluster-management.io/v1beta1","kind":"ClusterManagementAddOn","spec":{deep},"metadata":{{}}}}"#
    );
    assert!(answer.contains(&kept), "{answer}");
}

#[test]
fn a_review_answers_every_object_in_its_order() {
    let objects = [
        alpha_addon(),
        json!("no object"),
        json!({"kind": "Other", "apiVersion": "a/v1", "metadata": {}}),
    ];
    let review = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "ConversionReview", "request": {
        "uid": "u", "desiredAPIVersion": "addon.open-cluster-management.io/v1beta1", "objects": objects}});
    let answer =
        super::answer(review.to_string().as_bytes(), Extensions::Kept, &Keys::default()).expect("an answer");
    let answer: Value = serde_json::from_slice(&answer).expect("JSON");
    assert_eq!(answer["response"]["uid"], json!("u"));
    assert_eq!(answer["response"]["result"], json!({"status": "Success"}));
    let [first, second, third] = objects;
    assert_eq!(
        answer["response"]["convertedObjects"],
        json!([convert(first, Version::V1beta1), second, third])
    );
    assert!(super::answer(b"{}", Extensions::Kept, &Keys::default()).is_err());
    let wrong = review.to_string().replace("v1beta1\"", "v9\"");
    let answer: Value = serde_json::from_slice(
        &super::answer(wrong.as_bytes(), Extensions::Kept, &Keys::default()).expect("an answer"),
    )
    .expect("JSON");
    assert_eq!(answer["response"]["result"]["status"], json!("Failure"));
}

/// An author who may write an object may write its annotations, but not its status.
#[test]
fn a_hub_puts_back_nothing_that_its_conversion_has_not_signed() {
    let (ours, theirs) = (Keys::new([vec![1; 32]]), Keys::new([vec![2; 32]]));
    let to =
        |object: Value, version, keys| convert_trusting(object, version, Extensions::Kept, Trust::Keys(keys));
    let mut stored = both(
        "ManagedClusterAddOn",
        Version::V1alpha1,
        json!({"spec": {"desiredVersion": "1.0.0"},
        "status": {"currentVersion": "1.0.0", "namespace": "x"}}),
    );
    let shown = to(stored.clone(), Version::V1beta1, &ours);
    let key = Version::V1alpha1.kept_in();
    let kept = shown["metadata"]["annotations"][key]
        .as_str()
        .expect("it is kept")
        .to_owned();
    assert_eq!(
        to(shown.clone(), Version::V1alpha1, &ours),
        stored,
        "its own comes back, the status too"
    );
    let json = kept.split_once(' ').expect("a signature").1;
    let forged = json!({"fields": [[["status", "conditions"], [{"type": "Available", "status": "True"}]], [["spec", "desiredVersion"], "9"]]}).to_string();
    let exact = json!({"exact": {"spec": {"installNamespace": "kube-system"}, "status": {"currentVersion": "9"}}, "of": "x"}).to_string();
    let signature = kept.split_once(' ').expect("a signature").0;
    for text in [
        json.to_owned(),
        forged.clone(),
        exact,
        format!("{signature} {forged}"),
        format!(" {json}"),
        "x".to_owned(),
        String::new(),
    ] {
        let mut written = both("ManagedClusterAddOn", Version::V1beta1, json!({"spec": {}}));
        written["metadata"]["annotations"] = json!({key: text});
        let alpha = to(written.clone(), Version::V1alpha1, &ours);
        assert_eq!(alpha["spec"], json!({}), "{text}");
        assert_eq!(alpha.get("status"), None, "{text}");
        assert_eq!(
            alpha["metadata"]["annotations"][key],
            json!(text),
            "what does not count stays where it is"
        );
        assert_eq!(super::is_signed(&written, &ours), Some(false), "{text}");
        assert_eq!(to(alpha, Version::V1beta1, &ours), written, "and is shown again");
    }
    let mut copied = shown.clone();
    copied["metadata"]["name"] = json!("other");
    assert_eq!(
        to(copied, Version::V1alpha1, &ours)["status"],
        json!({"namespace": "x"}),
        "the signature of another object"
    );
    let alpha = to(shown, Version::V1alpha1, &theirs);
    assert_eq!(alpha["spec"], json!({}), "the key of another hub");
    stored["metadata"]["annotations"] = json!({Version::V1beta1.kept_in(): forged});
    assert_eq!(
        to(stored, Version::V1beta1, &ours)["status"].get("conditions"),
        None,
        "nor what v1beta1 is shown"
    );
}
