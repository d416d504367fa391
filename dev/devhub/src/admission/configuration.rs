//! What a webhook configuration says of its hooks, in the words of `admissionregistration.k8s.io`.
//!
//! Decides how the fields are read.

use cel_engine::admission_policy::{FailurePolicy, MatchPolicy, Rule};
use kubernetes::labels::Selector;
use serde::Deserialize;

/// One webhook of a configuration.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Spec {
    pub(super) name: String,
    pub(super) client_config: ClientConfig,
    #[serde(default)]
    pub(super) rules: Vec<Rule>,
    pub(super) match_policy: Option<MatchPolicy>,
    pub(super) failure_policy: Option<FailurePolicy>,
    pub(super) reinvocation_policy: Option<ReinvocationPolicy>,
    pub(super) side_effects: Option<SideEffects>,
    pub(super) timeout_seconds: Option<u64>,
    #[serde(default)]
    pub(super) admission_review_versions: Vec<String>,
    pub(super) namespace_selector: Option<Selector>,
    pub(super) object_selector: Option<Selector>,
    #[serde(default)]
    pub(super) match_conditions: Vec<MatchCondition>,
}

/// An expression that must hold for a request before the hook sees it.
#[derive(Debug, Deserialize)]
pub(super) struct MatchCondition {
    pub(super) expression: String,
}

/// Whether a mutating hook is asked again after a later one changed the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum ReinvocationPolicy {
    Never,
    IfNeeded,
}

/// What else a call of the hook does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub(super) enum SideEffects {
    Unknown,
    None,
    Some,
    NoneOnDryRun,
}

/// Where a hook listens and whom to trust there.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ClientConfig {
    pub(super) url: Option<String>,
    pub(super) service: Option<ServiceReference>,
    /// Base64 of PEM certificates.
    pub(super) ca_bundle: Option<String>,
}

/// A Service of the cluster.
#[derive(Debug, Deserialize)]
pub(crate) struct ServiceReference {
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) path: Option<String>,
    pub(super) port: Option<u16>,
}
