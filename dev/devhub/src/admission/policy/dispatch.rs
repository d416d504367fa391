//! All policies on one write.
//!
//! The verdict is a denial, a warning, or a line in the log. The first denial is returned.

use cel_engine::admission_policy::{FailurePolicy, MatchAttributes, Matched};
use serde_json::{Value, json};

use super::evaluate::{EvaluationContext, Note, Verdict, evaluate};
use super::install::{Binding, Policies, Policy};
use super::params;
use super::spec::Action;
use crate::ApiError;
use crate::admission::attributes::Attributes;
use crate::admission::matching::{self, Invocation};
use crate::admission::warnings::Warnings;

/// Members of a namespace's metadata that expressions see.
const NAMESPACE: [&str; 12] = [
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "generation",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "labels",
    "annotations",
    "finalizers",
];

/// A refusal.
struct Denied<'a> {
    policy: &'a Policy,
    binding: Option<&'a Binding>,
    message: String,
    reason: Option<String>,
}

impl Policies {
    /// Asks every policy that means this write.
    pub(in crate::admission) async fn enforce(
        &self,
        request: &Attributes,
        object: Option<&Value>,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        if self.is_empty() || request.is_exempt() {
            return Ok(());
        }
        let mut denied = Vec::new();
        let subject = matching::subject(request, object);
        for policy in &self.list {
            if let Matched::Yes(version) = policy.constraints.matches(&subject) {
                let asked = MatchedPolicy {
                    policy,
                    request,
                    subject,
                    invocation: matching::in_which(version, request),
                };
                asked.enforce(object, &mut denied, warnings).await;
            }
        }
        match denied.into_iter().next() {
            None => Ok(()),
            Some(first) => Err(first.refusal(request)),
        }
    }
}

/// A policy that means a write.
struct MatchedPolicy<'a> {
    policy: &'a Policy,
    request: &'a Attributes,
    subject: MatchAttributes<'a>,
    invocation: Invocation,
}

impl<'a> MatchedPolicy<'a> {
    async fn enforce(&self, object: Option<&Value>, denied: &mut Vec<Denied<'a>>, warnings: &mut Warnings) {
        let seen = matching::seen(self.request, &self.invocation, object).await;
        let seen = match seen {
            Ok(seen) => seen,
            Err(error) => {
                let cause = format!("failed to convert object version: {}", error.message);
                return denied.extend(self.misconfigured(None, &cause));
            }
        };
        if let Some(cause) = params::unknown(self.policy.param_kind.as_ref(), self.request) {
            return denied.extend(self.misconfigured(None, &cause));
        }
        let (kind, version) = (&self.invocation.kind, &self.invocation.version);
        let shown = Value::Object(self.request.to_request(kind, version));
        let namespace = self.namespace();
        for binding in &self.policy.bindings {
            let resources = binding.spec.match_resources.as_ref();
            if resources.is_some_and(|resources| resources.matches(&self.subject) == Matched::No) {
                continue;
            }
            let reference = binding.spec.param_ref.as_ref();
            let found = params::collect(self.policy.param_kind.as_ref(), reference, self.request).await;
            let found = match found {
                Ok(found) => found,
                Err(cause) => {
                    denied.extend(self.misconfigured(Some(binding), &cause));
                    continue;
                }
            };
            for params in &found {
                let context = EvaluationContext {
                    request: self.request,
                    seen: &seen,
                    shown: &shown,
                    namespace: &namespace,
                    params: params.as_ref(),
                };
                self.act(binding, evaluate(self.policy, context), denied, warnings);
            }
        }
    }

    /// Returns the namespace of the request as expressions see it; null for a namespace itself and outside of any.
    fn namespace(&self) -> Value {
        let name = &self.request.namespace;
        if name.is_empty() || self.request.is_namespace() {
            return Value::Null;
        }
        let context = self.request.context.as_ref();
        let found = context.and_then(|context| context.namespace(name));
        let mut namespace = found.unwrap_or_default();
        if let Some(metadata) = namespace.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.retain(|name, _| NAMESPACE.contains(&name.as_str()));
        }
        namespace
    }

    fn misconfigured(&self, binding: Option<&'a Binding>, cause: &str) -> Option<Denied<'a>> {
        let what = if binding.is_some() { "binding" } else { "policy" };
        match self.policy.on_failure {
            FailurePolicy::Ignore => None,
            FailurePolicy::Fail => Some(Denied {
                policy: self.policy,
                binding,
                message: format!("failed to configure {what}: {cause}"),
                reason: None,
            }),
        }
    }

    fn act(
        &self,
        binding: &'a Binding,
        verdict: Verdict,
        denied: &mut Vec<Denied<'a>>,
        warnings: &mut Warnings,
    ) {
        let policy = self.policy;
        for denial in verdict.denials {
            for action in &binding.spec.validation_actions {
                let (name, bound, message) = (&policy.name, &binding.name, &denial.message);
                match action {
                    Action::Deny => denied.push(Denied {
                        policy,
                        binding: Some(binding),
                        message: message.clone(),
                        reason: denial.reason.clone(),
                    }),
                    Action::Warn => warnings.add(format!(
                        "Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{bound}': {message}"
                    )),
                    Action::Audit => {
                        let index = denial.index;
                        tracing::info!(policy = %name, binding = %bound, index, %message, "audit: validation failure");
                    }
                }
            }
        }
        for note in verdict.notes {
            match note {
                Note::Published { key, value } => {
                    tracing::info!(policy = %policy.name, %key, %value, "audit: annotation");
                }
                Note::Failed(message) => denied.push(Denied {
                    policy,
                    binding: Some(binding),
                    message,
                    reason: None,
                }),
            }
        }
    }
}

impl Denied<'_> {
    fn refusal(self, request: &Attributes) -> ApiError {
        let (name, message) = (&self.policy.name, &self.message);
        let bound = self
            .binding
            .map(|binding| format!(" with binding '{}'", binding.name));
        let bound = bound.unwrap_or_default();
        let text = format!("ValidatingAdmissionPolicy '{name}'{bound} denied request: {message}");
        let mut error = matching::forbidden(request, &text);
        let reason = self.reason.as_deref().unwrap_or("Invalid");
        error.code = match reason {
            "Unauthorized" => 401,
            "Forbidden" => 403,
            "RequestEntityTooLarge" => 413,
            _ => 422,
        };
        reason.clone_into(&mut error.reason);
        let details = error.details.get_or_insert_default();
        details.insert("causes".to_owned(), json!([{ "message": text }]));
        error
    }
}
