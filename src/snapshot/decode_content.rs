//! Decoding the contents of `AddOnDeploymentConfig` and `AddOnTemplate`.
//!
//! Decides nothing about their meaning. What only travels into manifests is copied as it stands.

use serde_json::Value;

use super::content::{DeploymentConfig, NodePlacement, Template};
use super::decode::shared;
use super::names::Names;
use crate::api::v1alpha1 as wire;

/// Returns what a deployment configuration says; `object` is the one that `spec` was parsed from.
pub(super) fn deployment_config(
    object: &Value,
    spec: wire::AddOnDeploymentConfigSpec,
    names: &mut Names,
) -> DeploymentConfig {
    let list = |pointer: &str| object.pointer(pointer).and_then(Value::as_array);
    let selector = object.pointer("/spec/nodePlacement/nodeSelector");
    let raw = list("/spec/resourceRequirements").into_iter().flatten();
    let resources = spec.resource_requirements.iter().zip(raw).map(|(one, raw)| {
        let resources = raw.get("resources").cloned().unwrap_or_default();
        (names.share(&one.container_id), resources)
    });
    DeploymentConfig {
        resources: resources.collect(),
        variables: spec
            .customized_variables
            .iter()
            .map(|one| (names.share(&one.name), names.share(&one.value)))
            .collect(),
        install_namespace: shared(spec.agent_install_namespace.as_ref(), names),
        nodes: NodePlacement {
            selector: selector.and_then(Value::as_object).cloned(),
            tolerations: list("/spec/nodePlacement/tolerations")
                .cloned()
                .unwrap_or_default(),
        },
        registries: spec.registries,
        proxy: spec.proxy_config.unwrap_or_default(),
    }
}

/// Returns what a template says; `object` is the one that `spec` was parsed from.
pub(super) fn template(object: &Value, spec: wire::AddOnTemplateSpec) -> Template {
    Template {
        agent: object.pointer("/spec/agentSpec").cloned().unwrap_or_default(),
        registration: spec.registration,
    }
}
