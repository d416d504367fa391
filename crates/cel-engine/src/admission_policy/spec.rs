//! What policies and webhooks say of the requests that they mean, in the words of `admissionregistration.k8s.io`.
//!
//! Decides what an absent field means; never which request is meant.

use kubernetes::labels::Selector;
use serde::Deserialize;

/// Which requests are meant.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MatchResources {
    /// Whether a rule for one version means the others; `Equivalent` if absent.
    pub match_policy: Option<MatchPolicy>,
    /// Labels of the namespace; objects without one always match.
    pub namespace_selector: Selector,
    /// Labels of the object before or after the change.
    pub object_selector: Selector,
    /// What is meant, by any of them; everything if there is none.
    pub resource_rules: Vec<Rule>,
    /// What is not.
    pub exclude_resource_rules: Vec<Rule>,
}

/// Operations on resources.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rule {
    /// `CREATE`, `UPDATE`, `DELETE`, `CONNECT`, or a star.
    pub operations: Vec<String>,
    /// API groups, or a star.
    pub api_groups: Vec<String>,
    /// API versions, or a star.
    pub api_versions: Vec<String>,
    /// Plurals, with their subresources, or a star.
    pub resources: Vec<String>,
    /// Names of objects; every name if there is none. Rules of webhooks have none.
    pub resource_names: Vec<String>,
    /// Which objects are meant.
    pub scope: RuleScope,
}

impl Default for Rule {
    fn default() -> Self {
        Self {
            operations: Vec::new(),
            api_groups: Vec::new(),
            api_versions: Vec::new(),
            resources: Vec::new(),
            resource_names: Vec::new(),
            scope: RuleScope::All,
        }
    }
}

/// Which objects a rule means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum RuleScope {
    /// All.
    #[serde(rename = "*")]
    All,
    /// Those in a namespace.
    Namespaced,
    /// Those outside of any, namespaces among them.
    Cluster,
}

/// Whether a rule for one version of a resource also means the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum MatchPolicy {
    /// It does not.
    Exact,
    /// It does.
    Equivalent,
}

/// What it means that a policy or a webhook has no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum FailurePolicy {
    /// The request passes.
    Ignore,
    /// The request is refused.
    Fail,
}
