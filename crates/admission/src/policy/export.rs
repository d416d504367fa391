//! Exports policies as Kubernetes' own objects, which the API server enforces itself.
//!
//! Only a policy that has the same meaning there is exported. For all others the export returns the reasons.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::compile::Policy;
use super::document::{Kind, Origin, Source};
use super::fault::joined_lines;
use super::patch::Leave;
use super::set::PolicySet;

const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// Functions of this engine that the API server of Kubernetes does not have.
pub(super) const FOREIGN_FUNCTIONS: [&str; 4] = ["math.", "base64.", "reverse", "cel.bind"];

/// Why a policy cannot be exported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNative {
    /// Name of the policy.
    pub policy: String,
    /// Every reason.
    pub reasons: Vec<String>,
}

/// Returns the native objects of every policy of a set, or why it has none, sorted by name.
pub fn native(set: &PolicySet) -> Vec<Result<Vec<Value>, NotNative>> {
    set.policies()
        .map(|policy| {
            let reasons = hindrances(policy);
            if reasons.is_empty() {
                Ok(objects(policy))
            } else {
                Err(NotNative {
                    policy: policy.name.to_string(),
                    reasons,
                })
            }
        })
        .collect()
}

/// Returns why a policy cannot be exported.
pub(super) fn hindrances(policy: &Policy) -> Vec<String> {
    let mut reasons = Vec::new();
    let mut say = |when: bool, words: &str| {
        if when {
            reasons.push(words.to_owned());
        }
    };
    let spec = &policy.spec;
    say(
        policy.kind != Kind::AddOnPolicy,
        "it is already a policy of Kubernetes",
    );
    say(!policy.facts.is_empty(), "it reads facts about the fleet");
    say(!spec.schemas.is_empty(), "it checks values against a JSON schema");
    say(!spec.exceptions.is_empty(), "it has exceptions");
    say(
        spec.params.is_some(),
        "its params are inline, and Kubernetes reads params from another object",
    );
    say(
        policy
            .mutations
            .iter()
            .any(|part| part.leave == Leave::AbsentOnly),
        "it adds only absent fields, which Kubernetes does not guarantee: set allowOverwrite, and check with has()",
    );
    let foreign = policy.expressions().flat_map(|(_, one)| one.program.functions());
    let foreign = foreign.filter(|name| is_foreign(name));
    for name in foreign.collect::<BTreeSet<String>>() {
        say(
            true,
            &format!("it calls {name}(), which the API server does not have"),
        );
    }
    if reasons.is_empty() {
        reasons = rejections(policy);
    }
    reasons
}

/// Returns why the API server would reject the native objects of a policy: it checks the types of expressions more strictly.
fn rejections(policy: &Policy) -> Vec<String> {
    let source = |document: Value| Source {
        origin: Origin::Hub,
        document,
    };
    let sources: Vec<Source> = objects(policy).into_iter().map(source).collect();
    let loaded = PolicySet::load(&sources, &[], &PolicySet::default());
    let faults = loaded.reports.iter().flat_map(|report| &report.faults);
    let reasons: BTreeSet<String> = faults
        .map(|fault| format!("the API server rejects {}", fault.one_line()))
        .collect();
    reasons.into_iter().collect()
}

pub(super) fn is_foreign(function: &str) -> bool {
    FOREIGN_FUNCTIONS
        .iter()
        .any(|known| function == *known || (known.ends_with('.') && function.starts_with(known)))
}

fn objects(policy: &Policy) -> Vec<Value> {
    let mut all = Vec::new();
    let spec = &policy.spec;
    if !(spec.validations.is_empty() && spec.audit_annotations.is_empty()) {
        all.push(object(
            "ValidatingAdmissionPolicy",
            &policy.name,
            &validating(policy),
        ));
        let actions = if spec.validation_actions.is_empty() {
            vec!["Deny".to_owned()]
        } else {
            spec.validation_actions.clone()
        };
        let mut binding = binding(policy);
        binding.insert("validationActions".to_owned(), json!(actions));
        all.push(object(
            "ValidatingAdmissionPolicyBinding",
            &policy.name,
            &Value::Object(binding),
        ));
    }
    if !spec.mutations.is_empty() {
        all.push(object("MutatingAdmissionPolicy", &policy.name, &mutating(policy)));
        let binding = Value::Object(binding(policy));
        all.push(object("MutatingAdmissionPolicyBinding", &policy.name, &binding));
    }
    all
}

fn object(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name}, "spec": spec})
}

/// The fields that both kinds of policies share.
fn shared(policy: &Policy) -> Map<String, Value> {
    let whole = serde_json::to_value(&policy.spec).unwrap_or_default();
    let names = [
        "failurePolicy",
        "matchConstraints",
        "matchConditions",
        "variables",
        "reinvocationPolicy",
    ];
    let mut spec: Map<String, Value> = names
        .into_iter()
        .filter_map(|name| Some((name.to_owned(), whole.get(name)?.clone())))
        .collect();
    spec.entry("failurePolicy").or_insert_with(|| json!("Fail"));
    spec
}

fn validating(policy: &Policy) -> Value {
    let mut spec = shared(policy);
    spec.remove("reinvocationPolicy");
    let validations = policy.spec.validations.iter().map(|validation| {
        let mut out = Map::new();
        let mut put = |name: &str, text: String| {
            if !text.is_empty() {
                out.insert(name.to_owned(), Value::String(text));
            }
        };
        put("expression", validation.expression.clone());
        // Kubernetes has no field for the hint, so it is part of the message.
        let message = match (validation.message.trim(), validation.suggestion.trim()) {
            (message, "") => message.to_owned(),
            ("", _) => String::new(),
            (message, cure) => format!("{message}; hint: {cure}"),
        };
        put("message", joined_lines(&message));
        put("messageExpression", validation.message_expression.clone());
        // Without a reason the API server responds with 422, and force modes then delete the object.
        let reason = match validation.reason.as_str() {
            "" => "Forbidden".to_owned(),
            reason => reason.to_owned(),
        };
        put("reason", reason);
        Value::Object(out)
    });
    spec.insert("validations".to_owned(), validations.collect());
    let notes = serde_json::to_value(&policy.spec.audit_annotations).unwrap_or_default();
    if notes.as_array().is_some_and(|notes| !notes.is_empty()) {
        spec.insert("auditAnnotations".to_owned(), notes);
    }
    Value::Object(spec)
}

fn mutating(policy: &Policy) -> Value {
    let mut spec = shared(policy);
    spec.entry("reinvocationPolicy").or_insert_with(|| json!("Never"));
    let mutations = policy.spec.mutations.iter().map(|mutation| {
        let mut value = serde_json::to_value(mutation).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.remove("allowOverwrite");
        }
        value
    });
    spec.insert("mutations".to_owned(), mutations.collect());
    Value::Object(spec)
}

fn binding(policy: &Policy) -> Map<String, Value> {
    let mut spec = Map::new();
    spec.insert("policyName".to_owned(), json!(&*policy.name));
    if let Some(resources) = &policy.spec.match_resources {
        let resources = serde_json::to_value(resources).unwrap_or_default();
        spec.insert("matchResources".to_owned(), resources);
    }
    spec
}
