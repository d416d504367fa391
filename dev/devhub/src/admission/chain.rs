//! The order of calls: mutating hooks one after the other, validating hooks side by side.
//!
//! Decides what a failed call, a refusal and a patch mean for the request.

use std::{collections::BTreeSet, sync::Arc};

use arc_swap::ArcSwap;
use cel_engine::admission_policy::FailurePolicy;
use futures::future::join_all;
use serde_json::Value;

use super::{
    answer::{self, HookResponse, Phase, Question},
    attributes::Attributes,
    configuration::{ReinvocationPolicy, SideEffects},
    decode,
    hook::{Hook, Hooks},
    matching::{self, Invocation, VersionedObjects},
    patching,
    policy::Policies,
    review,
    warnings::Warnings,
};
use crate::ApiError;

/// What happens to an object after each patch before the next hook sees it: defaulting, for custom resources.
pub type Settle<'a> = &'a (dyn Fn(&mut Value) + Sync);

/// The webhooks of the hub. Calls in flight keep the hooks with which they began.
#[derive(Debug, Default)]
pub struct Chain {
    hooks: ArcSwap<Hooks>,
    policies: ArcSwap<Policies>,
}

impl Chain {
    /// Returns a chain without hooks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces all hooks, after a configuration changed.
    pub fn install(&self, hooks: Hooks) {
        self.hooks.store(Arc::new(hooks));
    }

    /// Replaces all policies, after one of them or a binding changed.
    pub fn install_policies(&self, policies: Policies) {
        self.policies.store(Arc::new(policies));
    }

    /// Tells whether there is neither a webhook nor a policy.
    pub fn is_empty(&self) -> bool {
        self.hooks.load().is_empty() && self.policies.load().is_empty()
    }

    /// Runs the mutating hooks and returns the object as they leave it, with a second round for hooks that ask
    /// for one. `object` is `None` for a removal. Warnings are added even if the request is refused.
    pub async fn mutate(
        &self,
        request: &Attributes,
        object: Option<Value>,
        settle: Settle<'_>,
        warnings: &mut Warnings,
    ) -> Result<Option<Value>, ApiError> {
        let hooks = self.hooks.load_full();
        let mut round = Round {
            request,
            settle,
            object,
            seen: BTreeSet::new(),
            again: BTreeSet::new(),
            changed: false,
        };
        round.run(&hooks.mutating, None, warnings).await?;
        if round.changed {
            let again = std::mem::take(&mut round.again);
            round.run(&hooks.mutating, Some(again), warnings).await?;
        }
        Ok(round.object)
    }

    /// Asks the policies and then, if they agree, the validating hooks, all together. Of several refusals the first one
    /// is returned.
    pub async fn validate(
        &self,
        request: &Attributes,
        object: Option<&Value>,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let policies = self.policies.load_full();
        policies.enforce(request, object, warnings).await?;
        let hooks = self.hooks.load_full();
        let mut wanted = Vec::new();
        for hook in &hooks.validating {
            if let Some((invocation, seen)) = matching::invocation(hook, request, object).await? {
                wanted.push((hook, invocation, seen));
            }
        }
        let calls = wanted
            .iter()
            .map(|(hook, invocation, seen)| call(hook, (invocation, seen), request, Phase::Validating));
        let mut result = Ok(());
        for ((hook, _, _), outcome) in wanted.iter().zip(join_all(calls).await) {
            let verdict = match outcome {
                Ok(answer) => {
                    warnings.extend(answer.warnings);
                    answer.verdict
                }
                Err(failure) => failure.under(hook),
            };
            result = result.and(verdict);
        }
        result
    }
}

/// State of the mutating rounds of one request.
struct Round<'a> {
    request: &'a Attributes,
    settle: Settle<'a>,
    object: Option<Value>,
    /// Hooks with `IfNeeded` that were called since the last change.
    seen: BTreeSet<usize>,
    /// Hooks to be called again because a later one changed what they had seen.
    again: BTreeSet<usize>,
    changed: bool,
}

impl Round<'_> {
    /// Calls the hooks in order; in a second round only those in `only` and those that become due on the way.
    async fn run(
        &mut self,
        hooks: &[Hook],
        only: Option<BTreeSet<usize>>,
        warnings: &mut Warnings,
    ) -> Result<(), ApiError> {
        let second = only.is_some();
        self.again = only.unwrap_or_default();
        for (index, hook) in hooks.iter().enumerate() {
            let invocation = matching::invocation(hook, self.request, self.object.as_ref()).await?;
            let Some((invocation, seen)) = invocation else {
                continue;
            };
            if second && !self.again.contains(&index) {
                continue;
            }
            let outcome = self.mutate(hook, (&invocation, seen), warnings).await;
            if matches!(outcome, Ok(true)) {
                self.changed = true;
                self.again.append(&mut self.seen);
            }
            if hook.reinvocation == ReinvocationPolicy::IfNeeded {
                self.seen.insert(index);
            }
            if let Err(failure) = outcome {
                failure.under(hook)?;
            }
        }
        Ok(())
    }

    /// Calls one hook and tells whether it changed the object.
    async fn mutate(
        &mut self,
        hook: &Hook,
        (invocation, seen): (&Invocation, VersionedObjects),
        warnings: &mut Warnings,
    ) -> Result<bool, Failure> {
        let answer = call(hook, (invocation, &seen), self.request, Phase::Mutating).await?;
        warnings.extend(answer.warnings);
        answer.verdict.map_err(Failure::Final)?;
        let patch = patching::read(&answer.patch).map_err(|cause| {
            Failure::Call(format!("received undecodable patch in webhook response: {cause}"))
        })?;
        let Some(patch) = patch else { return Ok(false) };
        if self.object.is_none() {
            let name = &hook.name;
            let text = format!(
                "admission webhook {name:?} attempted to modify the object, which is not supported for this operation"
            );
            return Err(Failure::Final(ApiError::internal(text)));
        }
        if answer.patch_type != "JSONPatch" {
            return Err(Failure::Call(format!(
                "unsupported patch type {:?}",
                answer.patch_type
            )));
        }
        let patched = patching::apply(&patch, &seen.object)
            .map_err(|cause| Failure::Final(ApiError::internal(cause)))?;
        let changed = patched != seen.object;
        let mut patched = self.restored(patched, invocation).await.map_err(Failure::Final)?;
        (self.settle)(&mut patched);
        self.object = Some(patched);
        Ok(changed)
    }

    /// Brings an object that a hook saw in another version back to the version of the request.
    async fn restored(&self, patched: Value, invocation: &Invocation) -> Result<Value, ApiError> {
        let kind = &self.request.kind;
        if invocation.kind == *kind {
            return Ok(patched);
        }
        self.request.converted(&patched, &kind.api_version()).await
    }
}

/// Why a hook gave no usable answer.
#[derive(Debug)]
enum Failure {
    /// It could not be asked, or its answer breaks the protocol: the failure policy decides.
    Call(String),
    /// It refused, or did what no policy forgives.
    Final(ApiError),
}

impl Failure {
    /// Returns what this means for a request under the failure policy of `hook`.
    fn under(self, hook: &Hook) -> Result<(), ApiError> {
        match (self, hook.failure_policy) {
            (Self::Final(error), _) => Err(error),
            (Self::Call(cause), FailurePolicy::Fail) => Err(ApiError::internal(format!(
                "failed calling webhook {:?}: {cause}",
                hook.name
            ))),
            (Self::Call(cause), FailurePolicy::Ignore) => {
                tracing::warn!(webhook = %hook.name, %cause, "webhook failed, going on without it");
                Ok(())
            }
        }
    }
}

async fn call(
    hook: &Hook,
    (invocation, seen): (&Invocation, &VersionedObjects),
    request: &Attributes,
    phase: Phase,
) -> Result<HookResponse, Failure> {
    if request.dry_run && !harmless(hook.side_effects) {
        let text = format!("admission webhook {:?} does not support dry run", hook.name);
        return Err(Failure::Final(ApiError::bad_request(text)));
    }
    let review = review::build(hook, invocation, request, seen).map_err(Failure::Call)?;
    let answered = ask(hook, &review).await.map_err(Failure::Call)?;
    let question = Question {
        hook: &hook.name,
        uid: &review.uid,
        protocol: review.protocol,
        phase,
    };
    answer::check(question, answered)
        .map_err(|cause| Failure::Call(format!("received invalid webhook response: {cause}")))
}

fn harmless(side_effects: Option<SideEffects>) -> bool {
    match side_effects {
        Some(SideEffects::None | SideEffects::NoneOnDryRun) => true,
        Some(SideEffects::Unknown | SideEffects::Some) | None => false,
    }
}

async fn ask(hook: &Hook, review: &review::Review) -> Result<decode::Answered, String> {
    let place = hook.endpoint.place()?;
    let body = serde_json::to_vec(&review.body)
        .map_err(|cause| format!("could not create admission objects: {cause}"))?;
    let failed = |cause: String| format!("failed to call webhook: {cause}");
    let answer = place.post(body, hook.timeout).await.map_err(failed)?;
    decode::answered(&answer, review.protocol).map_err(failed)
}
