//! The targets: each takes any bytes and must neither panic nor run long. Properties of the results are asserted.

use std::sync::LazyLock;

use crate::{grammars, hub, merge};
use admission::{Enforcement, Facts, Rulebook, Webhook, decide, wire};
use cel_engine::{Activation, Program, Purpose};
use devhub::patch::{json, kinds, merge as merge_patch, strategic};
use kubernetes::duration::GoDuration;
use model::{AddonName, AddonVersion, InstallNamespace, Limit, ProgressDeadline, Scalar, Soak, Tolerance};
use schema::Schema;
use serde_json::{Value, json as value};
use store::AddonFacts;
use tidegate::server::Limits;

/// A target by its name.
pub type Target = (&'static str, fn(&[u8]));

/// All targets, in the order of the smoke run.
pub const TARGETS: [Target; 15] = [
    ("review", review),
    ("kinds", kinds),
    ("policy", crate::policies::policy),
    ("cel_compile", cel_compile),
    ("cel_evaluate", cel_evaluate),
    ("json_patch", json_patch),
    ("yaml", yaml),
    ("scalars", scalars),
    ("schema", schema),
    ("hub_request", hub::request),
    ("hub_binary", hub::binary),
    ("structured_merge", merge::program),
    ("owned_paths", merge::owned_paths),
    ("grammars", grammars::grammars),
    ("amplification", crate::amplification::amplification),
];

static FACTS: LazyLock<Facts> = LazyLock::new(|| {
    let spec = serde_json::from_value(value!({
        "supportedConfigs": [{"group": "addon.open-cluster-management.io", "resource": "addondeploymentconfigs"}],
        "installStrategy": {"type": "Placements", "placements": [{"name": "p", "namespace": "d"}]},
    }));
    let facts = Facts::default().completed();
    let facts = facts.with_addon("helloworld", AddonFacts::of(&spec.expect("a specification")));
    facts.with_placement("d", "p", ["cluster1"])
});

/// The body of an AdmissionReview: size limit, decoder, both webhooks, encoder.
pub fn review(bytes: &[u8]) {
    if bytes.len() > Limits::default().body_bytes {
        return;
    }
    let Ok(review) = wire::Review::decode(bytes) else {
        return;
    };
    for webhook in [Webhook::Mutate, Webhook::Validate] {
        let verdict = decide(&review.request(webhook), &FACTS, &Rulebook::default());
        let again = decide(&review.request(webhook), &FACTS, &Rulebook::default());
        assert_eq!(verdict, again, "the same question gets the same answer");
        let answer = wire::encode(review.uid(), &verdict);
        assert!(
            serde_json::from_slice::<Value>(&answer).is_ok(),
            "the answer is JSON"
        );
    }
}

/// A kind (by the first byte) and its JSON, as object and as old object.
pub fn kinds(bytes: &[u8]) {
    const KINDS: [(&str, &str, &str); 8] = [
        (
            "addon.open-cluster-management.io",
            "managedclusteraddons",
            "ManagedClusterAddOn",
        ),
        (
            "addon.open-cluster-management.io",
            "clustermanagementaddons",
            "ClusterManagementAddOn",
        ),
        (
            "addon.open-cluster-management.io",
            "addondeploymentconfigs",
            "AddOnDeploymentConfig",
        ),
        (
            "addon.open-cluster-management.io",
            "addontemplates",
            "AddOnTemplate",
        ),
        ("cluster.open-cluster-management.io", "placements", "Placement"),
        (
            "cluster.open-cluster-management.io",
            "managedclusters",
            "ManagedCluster",
        ),
        ("work.open-cluster-management.io", "manifestworks", "ManifestWork"),
        ("policy.tidegate.io", "addonpolicies", "AddOnPolicy"),
    ];
    let Some((first, body)) = bytes.split_first() else {
        return;
    };
    let Ok(spec) = serde_json::from_slice::<Value>(body) else {
        return;
    };
    let (group, resource, kind) = KINDS[usize::from(*first) % KINDS.len()];
    let object = value!({
        "apiVersion": format!("{group}/v1alpha1"), "kind": kind,
        "metadata": {"name": "helloworld", "namespace": "cluster1"}, "spec": spec,
    });
    for old in [
        Value::Null,
        object.clone(),
        value!({"metadata": {"name": "helloworld"}, "spec": {}}),
    ] {
        let question = value!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
            "uid": "u", "operation": if old.is_null() { "CREATE" } else { "UPDATE" }, "name": "helloworld",
            "namespace": "cluster1", "kind": {"group": group, "version": "v1alpha1", "kind": kind},
            "resource": {"group": group, "version": "v1alpha1", "resource": resource},
            "object": object, "oldObject": old,
        }});
        review(question.to_string().as_bytes());
    }
}

/// The text of an expression.
pub fn cel_compile(bytes: &[u8]) {
    let Ok(source) = std::str::from_utf8(bytes) else {
        return;
    };
    for purpose in [Purpose::Judgement, Purpose::Mutation] {
        match Program::build_for(source, purpose) {
            Ok(program) => {
                let _ = (
                    program.reads("object"),
                    program.functions(),
                    program.result_kind(),
                    program.loops(),
                );
            }
            Err(error) => {
                assert!(!error.faults.is_empty(), "a refusal says why");
                for fault in &error.faults {
                    assert!(source.is_char_boundary(fault.offset), "a place is in the text");
                }
                let _ = error.to_string();
            }
        }
    }
}

/// An expression, a line break, and the object it reads.
pub fn cel_evaluate(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let (source, object) = text.split_once('\n').unwrap_or((&text, "{}"));
    let Ok(object) = serde_json::from_str::<Value>(object) else {
        return;
    };
    let Ok(program) = Program::build_for(source, Purpose::Mutation) else {
        return;
    };
    let results = [(); 2].map(|()| {
        let mut activation = Activation::new(200_000);
        activation.bind("object", &object);
        activation.bind("oldObject", &object);
        let lazy = Program::build("object.spec");
        if let Ok(lazy) = &lazy {
            let mut inner = activation.inner(200_000);
            inner.declare("spec", lazy);
            return (inner.eval(&program), inner.left());
        }
        (activation.eval(&program), activation.left())
    });
    // Cached patterns cost less the second time.
    let [(first, _), (second, _)] = results;
    assert_eq!(first.is_ok(), second.is_ok(), "{first:?} {second:?}");
    if let (Ok(first), Ok(second)) = (first, second) {
        assert_eq!(first, second, "the same expression has the same value");
    }
}

/// A patch, a line break, and the document it changes: JSON patch, merge patch, strategic merge patch.
pub fn json_patch(bytes: &[u8]) {
    let at = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (patch, rest) = bytes.split_at(at);
    let document = serde_json::from_slice::<Value>(rest).unwrap_or_else(|_| value!({"a": {"b": [1, 2]}}));
    for decoding in [json::Decoding::Plain, json::Decoding::Checked] {
        if let Ok(patch) = json::decode(patch, decoding) {
            let _ = json::apply(&document, &patch);
        }
        let _ = merge_patch::decode(patch, decoding);
        let _ = strategic::decode(patch, decoding);
    }
    if let Ok(patch) = serde_json::from_slice::<Value>(patch) {
        let mut merged = document.clone();
        merge_patch::apply(&mut merged, &patch);
        let again = {
            let mut again = merged.clone();
            merge_patch::apply(&mut again, &patch);
            again
        };
        assert_eq!(merged, again, "a merge patch changes nothing twice");
        for (group, kind) in [("apps", "Deployment"), ("", "Pod"), ("", "Service")] {
            let _ = strategic::apply(&document, &patch, kinds::of(group, kind));
        }
    }
}

/// A YAML file: any documents, and the enforcement file.
pub fn yaml(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let _ = serde_saphyr::from_multiple::<Value>(text);
    if let Err(error) = Enforcement::parse(text) {
        assert!(!error.to_string().is_empty(), "a refusal says why");
    }
}

/// Durations, percentages, versions and names.
pub fn scalars(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let other = serde_json::from_slice::<Value>(bytes).unwrap_or(Value::Null);
    let mut values = vec![Scalar::Text(&text), Scalar::Other(&other)];
    values.extend(other.as_i64().map(Scalar::Int));
    for value in values {
        let _ = (
            Limit::parse(value),
            Limit::parse_positive(value),
            Tolerance::parse(value),
        );
        let _ = (Soak::parse(value), ProgressDeadline::parse(value));
    }
    let _ = (GoDuration::parse(&text), AddonVersion::parse(&text));
    let _ = (AddonName::parse(&text), InstallNamespace::parse(&text));
}

/// A structural schema, a line break, and an object: prune, default, validate as new and as changed.
pub fn schema(bytes: &[u8]) {
    let at = bytes
        .iter()
        .position(|byte| *byte == b'\n')
        .unwrap_or(bytes.len());
    let (definition, rest) = bytes.split_at(at);
    let Ok(definition) = serde_json::from_slice::<Value>(definition) else {
        return;
    };
    let Ok(parsed) = Schema::parse(&definition) else {
        return;
    };
    let mut object = serde_json::from_slice::<Value>(rest).unwrap_or_else(|_| value!({}));
    let old = object.clone();
    parsed.prune(&mut object);
    parsed.apply_defaults(&mut object);
    let mut again = object.clone();
    parsed.apply_defaults(&mut again);
    assert_eq!(object, again, "defaults change nothing twice");
    let _ = parsed.validate(&object, None);
    let _ = parsed.validate(&object, Some(&old));
}
