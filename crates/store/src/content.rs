//! What configuration objects say, as far as rendering needs it.
//!
//! Decides which parts are kept. Parts that are only copied into manifests stay JSON: nothing is added to what an author wrote.

use serde_json::{Map, Value};

use super::registration::Registration;
use api::v1alpha1::{ImageMirror, ProxyConfig, RegistrationSpec};
use model::{ClusterKey, Name};

/// The parts of an `AddOnDeploymentConfig` that rendering uses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DeploymentConfig {
    /// `customizedVariables`, in order.
    pub variables: Vec<(Name, Name)>,
    /// `agentInstallNamespace`; "" means "leave the template's namespaces alone".
    pub install_namespace: Name,
    /// `nodePlacement`
    pub nodes: NodePlacement,
    /// `registries`; absent leaves the word to the cluster's annotation, empty does not.
    pub registries: Option<Vec<ImageMirror>>,
    /// `proxyConfig`
    pub proxy: ProxyConfig,
    /// `resourceRequirements`: pattern of containers and their resources, in order.
    pub resources: Vec<(Name, Value)>,
}

/// On which nodes the agent runs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NodePlacement {
    /// Labels that a node must carry; absent leaves the template's.
    pub selector: Option<Map<String, Value>>,
    /// Taints that the agent tolerates; absent leaves the template's.
    pub tolerations: Option<Vec<Value>>,
}

/// The parts of an `AddOnTemplate` that rendering and registration use.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Template {
    /// `spec.addonName`: the add-on that it is for. Others may use it as [`TemplateSharing`](crate::TemplateSharing) permits.
    pub addon: Name,
    /// `spec.agentSpec`: the body of the work before substitution.
    pub agent: Value,
    /// What of a cluster its texts ask for, sorted.
    pub cluster_keys: Box<[ClusterKey]>,
    /// `spec.registration`; absent and empty differ: an empty list still asks for the path of a kubeconfig.
    pub registration: Option<Vec<RegistrationSpec>>,
    /// The same as registration asks for it, in order.
    pub registrations: Vec<Registration>,
}

impl Template {
    /// Returns whether it requests anything on the hub beyond the agent's own name: hub permissions, or a certificate of a custom signer.
    pub fn requests_access(&self) -> bool {
        let mut each = self.registration.iter().flatten();
        each.any(RegistrationSpec::requests_access)
    }
}
