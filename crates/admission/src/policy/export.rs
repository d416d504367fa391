//! Policies as Kubernetes' own objects, to be enforced by the API server itself.
//!
//! Decides what can be said there with the same meaning; everything else is refused with the reason, because a policy
//! that means something else in another place is worse than none.

use serde_json::{Map, Value, json};

use super::compile::Policy;
use super::document::Kind;
use super::patch::Leave;
use super::set::PolicySet;

const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// Functions that this engine has and Kubernetes' API server has not.
pub(super) const FOREIGN_FUNCTIONS: [&str; 4] = ["math.", "base64.", "reverse", "cel.bind"];

/// Why a policy has no native form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotNative {
    /// Name of the policy.
    pub policy: String,
    /// Every reason.
    pub reasons: Vec<String>,
}

/// Returns the native objects of every policy of a set, or why it has none, in the order of names.
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

/// Returns what cannot be said in Kubernetes' words.
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
        "it is one of Kubernetes' own kinds already",
    );
    say(!policy.facts.is_empty(), "it asks for facts about the fleet");
    say(!spec.schemas.is_empty(), "it checks values against a JSON schema");
    say(!spec.exceptions.is_empty(), "it has exceptions");
    say(
        spec.params.is_some(),
        "it has its params inline, and Kubernetes reads them from another object",
    );
    say(
        policy
            .mutations
            .iter()
            .any(|part| part.leave == Leave::AbsentOnly),
        "it adds absent fields only, which Kubernetes does not promise: set allowOverwrite and guard with has()",
    );
    let foreign = policy.expressions().flat_map(|(_, one)| one.program.functions());
    let foreign = foreign.filter(|name| is_foreign(name));
    for name in foreign.collect::<std::collections::BTreeSet<String>>() {
        say(
            true,
            &format!("it calls {name}(), which the API server does not have"),
        );
    }
    reasons
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
        // Kubernetes has no field for the cure: it is in the message.
        let message = match (validation.message.trim(), validation.suggestion.trim()) {
            (message, "") => message.to_owned(),
            ("", _) => String::new(),
            (message, cure) => format!("{message}; hint: {cure}"),
        };
        put(
            "message",
            message.split_whitespace().collect::<Vec<_>>().join(" "),
        );
        put("messageExpression", validation.message_expression.clone());
        // Without a reason the API server answers 422, and force modes delete an object whose change is answered so.
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
