//! Webhook configurations, read once and kept ready for calls.
//!
//! Decides the order of the hooks and what an absent field means.

use std::{collections::BTreeMap, time::Duration};

use cel_engine::admission_policy::{FailurePolicy, MatchPolicy, Rule};
use kubernetes::labels::Selector;
use serde::Deserialize;
use serde_json::Value;

use super::{
    conditions::Condition,
    configuration::{ReinvocationPolicy, SideEffects, Spec},
    endpoint::{Endpoint, Services},
};

/// All webhooks of the hub, in the order in which they are called: by configuration name, then by position.
#[derive(Debug, Default)]
pub struct Hooks {
    pub(super) mutating: Vec<Hook>,
    pub(super) validating: Vec<Hook>,
}

impl Hooks {
    /// Reads stored configuration objects. A hook that cannot be read is left out with a log line: the API
    /// refuses such objects, so this only guards against a store filled by other means.
    pub fn from_objects(mutating: &[Value], validating: &[Value], services: &Services) -> Self {
        Self {
            mutating: read_all(mutating, services),
            validating: read_all(validating, services),
        }
    }

    /// Tells whether there is no hook at all.
    pub fn is_empty(&self) -> bool {
        self.mutating.is_empty() && self.validating.is_empty()
    }
}

fn read_all(configurations: &[Value], services: &Services) -> Vec<Hook> {
    let by_name: BTreeMap<&str, &Value> = configurations
        .iter()
        .map(|object| {
            (
                object
                    .pointer("/metadata/name")
                    .and_then(Value::as_str)
                    .unwrap_or_default(),
                object,
            )
        })
        .collect();
    let mut hooks = Vec::new();
    for (configuration, object) in by_name {
        for written in object
            .get("webhooks")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            match Spec::deserialize(written) {
                Ok(spec) => hooks.push(Hook::new(spec, services)),
                Err(cause) => tracing::warn!(configuration, %cause, "webhook left out, it cannot be read"),
            }
        }
    }
    hooks
}

/// One webhook.
#[derive(Debug)]
pub(super) struct Hook {
    pub(super) name: String,
    pub(super) rules: Vec<Rule>,
    pub(super) match_policy: MatchPolicy,
    pub(super) failure_policy: FailurePolicy,
    pub(super) reinvocation: ReinvocationPolicy,
    pub(super) side_effects: Option<SideEffects>,
    pub(super) timeout: Duration,
    pub(super) review_versions: Vec<String>,
    pub(super) namespace_selector: Selector,
    pub(super) object_selector: Selector,
    pub(super) conditions: Vec<Condition>,
    pub(super) endpoint: Endpoint,
}

impl Hook {
    fn new(spec: Spec, services: &Services) -> Self {
        let seconds = spec.timeout_seconds.unwrap_or(10).clamp(1, 30);
        Self {
            endpoint: Endpoint::new(&spec.client_config, services),
            name: spec.name,
            rules: spec.rules,
            match_policy: spec.match_policy.unwrap_or(MatchPolicy::Equivalent),
            failure_policy: spec.failure_policy.unwrap_or(FailurePolicy::Fail),
            reinvocation: spec.reinvocation_policy.unwrap_or(ReinvocationPolicy::Never),
            side_effects: spec.side_effects,
            timeout: Duration::from_secs(seconds),
            review_versions: spec.admission_review_versions,
            namespace_selector: spec.namespace_selector.unwrap_or_default(),
            object_selector: spec.object_selector.unwrap_or_default(),
            conditions: spec
                .match_conditions
                .iter()
                .map(|it| Condition::new(&it.expression))
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{FailurePolicy, Hooks, MatchPolicy, ReinvocationPolicy};
    use crate::admission::endpoint::Services;
    use cel_engine::admission_policy::RuleScope;

    fn configuration(name: &str, hooks: &[&str]) -> Value {
        let webhooks: Vec<Value> = hooks
            .iter()
            .map(|hook| json!({ "name": hook, "clientConfig": { "url": "https://127.0.0.1:1/x" } }))
            .collect();
        json!({ "metadata": { "name": name }, "webhooks": webhooks })
    }

    #[test]
    fn orders_hooks_by_configuration_name_and_then_by_position() {
        let hooks = Hooks::from_objects(
            &[configuration("b", &["b2", "b1"]), configuration("a", &["a1"])],
            &[],
            &Services::default(),
        );
        let names: Vec<&str> = hooks.mutating.iter().map(|hook| hook.name.as_str()).collect();
        assert_eq!(names, ["a1", "b2", "b1"]);
    }

    #[test]
    fn reads_absent_fields_as_kubernetes_defaults_them() {
        let mut object = configuration("a", &["a1"]);
        object["webhooks"][0]["rules"] = json!([{ "operations": ["*"] }]);
        let hooks = Hooks::from_objects(&[], &[object], &Services::default());
        let hook = hooks.validating.first().expect("one hook");
        assert_eq!(hook.match_policy, MatchPolicy::Equivalent);
        assert_eq!(hook.failure_policy, FailurePolicy::Fail);
        assert_eq!(hook.reinvocation, ReinvocationPolicy::Never);
        assert_eq!(hook.timeout.as_secs(), 10);
        assert_eq!(hook.rules.first().map(|rule| rule.scope), Some(RuleScope::All));
    }

    #[test]
    fn leaves_out_what_cannot_be_read() {
        let mut object = configuration("a", &["a1", "a2"]);
        object["webhooks"][0]["timeoutSeconds"] = json!("ten");
        let hooks = Hooks::from_objects(&[object], &[], &Services::default());
        assert_eq!(hooks.mutating.len(), 1);
    }
}
