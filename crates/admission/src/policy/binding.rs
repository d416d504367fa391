//! Bindings of policies: the actions on a violation, the objects, and the params.
//!
//! Parses the bindings of Kubernetes and the inline binding of `AddOnPolicy`.

use cel_engine::admission_policy::MatchResources;
use kubernetes::labels::Selector;
use serde_json::Value;

use super::document::{Kind, Written};
use super::fault::PolicyFault;
use super::matching::{self, labels as selector};
use super::outcome::{Actions, UserNotice};
use super::question::Question;
use api::LabelSelector;
use api::v1alpha1::{MatchConstraints, ParamKind};
use kubernetes::field::{Path, quoted};

static NULL: Value = Value::Null;

/// One binding of a policy.
#[derive(Clone, Debug)]
pub(super) struct Binding {
    pub(super) actions: Actions,
    pub(super) matcher: MatchResources,
    params: Params,
}

#[derive(Clone, Debug)]
enum Params {
    /// None: in expressions `params` is null.
    None,
    /// They are in the policy itself.
    Inline(Value),
    /// They are in other objects, which were found when the policy was loaded.
    Objects {
        found: Vec<Value>,
        /// Only the objects in the namespace of the request are used.
        beside: bool,
        /// Some of the objects are namespaced.
        placed: bool,
        when_missing: Missing,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Missing {
    /// The policy does not apply.
    Allow,
    /// It cannot be evaluated.
    Deny,
}

impl Binding {
    /// Parses the inline binding of an `AddOnPolicy`.
    pub(super) fn inline(written: &Written, faults: &mut Vec<PolicyFault>) -> Self {
        let spec = &written.spec;
        let root = Path::parse("spec");
        if spec.param_kind.is_some() && spec.params.is_none() {
            faults.push(PolicyFault::at(
                root.key("paramKind"),
                "works only with a binding of Kubernetes; set the params themselves in spec.params",
            ));
        }
        Self {
            actions: actions(&spec.validation_actions, &root, faults),
            matcher: matcher(spec.match_resources.as_ref(), &root, faults),
            params: spec.params.clone().map_or(Params::None, Params::Inline),
        }
    }

    /// Parses a binding of Kubernetes. `objects` are those in which params are searched.
    pub(super) fn upstream(
        written: &Written,
        kind: Option<&ParamKind>,
        objects: &[Value],
        faults: &mut Vec<PolicyFault>,
    ) -> Self {
        let root = Path::parse("spec");
        let spec = &written.binding;
        let words: Vec<String> = spec
            .get("validationActions")
            .and_then(|list| serde_json::from_value(list.clone()).ok())
            .unwrap_or_default();
        let resources: Option<MatchConstraints> = spec
            .get("matchResources")
            .and_then(|raw| serde_json::from_value(raw.clone()).ok());
        let actions = match written.kind {
            // A mutation that fails refuses the request; it has no other action.
            Kind::MutatingBinding => Actions::DENY,
            Kind::ValidatingBinding | Kind::AddOnPolicy | Kind::Validating | Kind::Mutating => {
                actions(&words, &root, faults)
            }
        };
        Self {
            actions,
            matcher: matcher(resources.as_ref(), &root, faults),
            params: match (kind, spec.get("paramRef")) {
                (Some(kind), Some(reference)) => referenced(kind, reference, objects, faults),
                (Some(_) | None, None) => Params::None,
                (None, Some(_)) => {
                    faults.push(PolicyFault::at(
                        root.key("paramRef"),
                        "the policy has no paramKind",
                    ));
                    Params::None
                }
            },
        }
    }

    /// Returns the params with which the policy is evaluated for a request, one after another.
    pub(super) fn params(&self, question: &Question<'_>) -> Result<Vec<&Value>, String> {
        match &self.params {
            Params::None => Ok(vec![&NULL]),
            Params::Inline(params) => Ok(vec![params]),
            Params::Objects {
                found,
                beside,
                placed,
                when_missing,
            } => {
                if *beside && *placed && question.target.namespace.is_empty() {
                    return Err(
                        "the params are in the namespace of the object, and the object has no namespace"
                            .to_owned(),
                    );
                }
                let here: Vec<&Value> = found
                    .iter()
                    .filter(|object| {
                        let namespace = object.pointer("/metadata/namespace").and_then(Value::as_str);
                        namespace.is_none_or(|name| !beside || name == question.target.namespace)
                    })
                    .collect();
                if here.is_empty() && *when_missing == Missing::Deny {
                    return Err("no params found, and parameterNotFoundAction is Deny".to_owned());
                }
                Ok(here)
            }
        }
    }
}

fn matcher(raw: Option<&MatchConstraints>, root: &Path, faults: &mut Vec<PolicyFault>) -> MatchResources {
    raw.map(|raw| matching::read(raw, &root.key("matchResources"), false, faults))
        .unwrap_or_default()
}

fn actions(words: &[String], root: &Path, faults: &mut Vec<PolicyFault>) -> Actions {
    let has = |word: &str| words.iter().any(|known| known == word);
    if has("Deny") && has("Warn") {
        faults.push(PolicyFault::at(
            root.key("validationActions"),
            "\"Deny\" and \"Warn\" exclude each other: the message of a refusal is the same as that of the warning",
        ));
    }
    let notice = match (has("Deny"), has("Warn"), has("Audit")) {
        (true, _, _) | (false, false, false) => UserNotice::Refused,
        (false, true, _) => UserNotice::Warned,
        (false, false, true) => UserNotice::Nothing,
    };
    Actions {
        notice,
        audit: has("Audit"),
    }
}

fn labels(raw: &Value, path: &Path, faults: &mut Vec<PolicyFault>) -> Selector {
    match serde_json::from_value::<LabelSelector>(raw.clone()) {
        Ok(raw) => selector(&raw, path, faults),
        Err(error) => {
            faults.push(PolicyFault::at(path.clone(), error.to_string()));
            Selector::default()
        }
    }
}

fn referenced(
    kind: &ParamKind,
    reference: &Value,
    objects: &[Value],
    faults: &mut Vec<PolicyFault>,
) -> Params {
    let path = Path::parse("spec.paramRef");
    let text = |name: &str| reference.get(name).and_then(Value::as_str).unwrap_or_default();
    let selector = reference.get("selector");
    if text("name").is_empty() == selector.is_none() {
        faults.push(PolicyFault::at(
            path.clone(),
            "must have either a name or a selector",
        ));
    }
    let when_missing = match text("parameterNotFoundAction") {
        "Allow" => Missing::Allow,
        "Deny" => Missing::Deny,
        other => {
            let words = format!("must be \"Allow\" or \"Deny\", not {}", quoted(other));
            faults.push(PolicyFault::at(path.key("parameterNotFoundAction"), words));
            Missing::Deny
        }
    };
    let labels = selector.map(|selector| labels(selector, &path.key("selector"), faults));
    let labels = labels.unwrap_or_default();
    let is_kind = |object: &&Value| {
        let text = |field: &str| object.get(field).and_then(Value::as_str).unwrap_or_default();
        text("apiVersion") == kind.api_version && text("kind") == kind.kind
    };
    let is_meant = |object: &&Value| {
        let field = |pointer: &str| {
            object
                .pointer(pointer)
                .and_then(Value::as_str)
                .unwrap_or_default()
        };
        is_kind(object)
            && (text("name").is_empty() || field("/metadata/name") == text("name"))
            && (text("namespace").is_empty() || field("/metadata/namespace") == text("namespace"))
            && labels.matches_object(object)
    };
    Params::Objects {
        found: objects.iter().filter(is_meant).cloned().collect(),
        beside: text("namespace").is_empty(),
        placed: objects
            .iter()
            .filter(is_kind)
            .any(|one| one.pointer("/metadata/namespace").is_some()),
        when_missing,
    }
}
