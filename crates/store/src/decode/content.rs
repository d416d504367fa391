//! Decoding the contents of `AddOnDeploymentConfig` and `AddOnTemplate`.
//!
//! Decides nothing about their meaning. Parts that are only copied into manifests are not decoded.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::content::{DeploymentConfig, NodePlacement, Template};
use crate::decode::read::shared;
use crate::names::Names;
use crate::registration;
use api::v1alpha1 as wire;
use model::{ClusterKey, ReservedSigners, cluster_variables};

/// Returns what a deployment configuration says; `object` is the one that `spec` was parsed from.
pub(crate) fn deployment_config(
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
            tolerations: list("/spec/nodePlacement/tolerations").cloned(),
        },
        registries: spec.registries,
        proxy: spec.proxy_config.unwrap_or_default(),
    }
}

/// Returns what a template says; `object` is the one that `spec` was parsed from.
pub(crate) fn template(
    object: &Value,
    spec: wire::AddOnTemplateSpec,
    reserved: &ReservedSigners,
    names: &mut Names,
) -> Template {
    let asked = spec.registration.as_deref().unwrap_or_default();
    let agent = object.pointer("/spec/agentSpec").cloned().unwrap_or_default();
    let mut keys = BTreeSet::new();
    collect_cluster_keys(&agent, &mut keys);
    Template {
        registrations: registration::asked(asked, &spec.addon_name, reserved, names),
        cluster_keys: keys.into_iter().collect(),
        agent,
        addon: names.share(&spec.addon_name),
        registration: spec.registration,
    }
}

/// More than rendering will fill in does no harm: it only costs a rendering for each value.
fn collect_cluster_keys(value: &Value, keys: &mut BTreeSet<ClusterKey>) {
    let read = |text: &str, keys: &mut BTreeSet<ClusterKey>| {
        keys.extend(cluster_variables(text).map(model::ClusterVariable::key));
    };
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
        Value::String(text) => read(text, keys),
        Value::Array(items) => items.iter().for_each(|item| collect_cluster_keys(item, keys)),
        Value::Object(fields) => {
            for (name, field) in fields {
                read(name, keys);
                collect_cluster_keys(field, keys);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Content, Event, Kind, Settings, Store};
    use serde_json::json;

    fn content(kind: Kind, spec: &Value) -> Content {
        let object = json!({"metadata": {"name": "x", "uid": "u", "resourceVersion": "1"}, "spec": spec});
        let mut store = Store::new(Settings::default());
        store.apply(Event::Applied { kind, object });
        let found = store.objects.configs.values().next().expect("it is decoded");
        (*found.content).clone()
    }

    #[test]
    fn what_only_travels_stays_as_its_author_wrote_it() {
        let toleration = json!({"key": "k", "unknown": 1});
        let resources = json!({"limits": {"cpu": 1}, "requests": {"cpu": "0.1"}});
        let spec = json!({"nodePlacement": {"nodeSelector": {}, "tolerations": [toleration]},
            "resourceRequirements": [{"containerID": "*:*:*", "resources": resources}], "registries": []});
        let Content::Deployment(config) = content(Kind::DeploymentConfig, &spec) else {
            panic!("another kind");
        };
        assert_eq!(config.nodes.selector, Some(serde_json::Map::new()));
        assert_eq!(config.nodes.tolerations, Some(vec![toleration]));
        assert_eq!(config.resources, [("*:*:*".into(), resources)]);
        assert_eq!(config.registries, Some(Vec::new()), "empty is not absent");
        assert_eq!(
            content(Kind::DeploymentConfig, &json!({})),
            Content::Deployment(DeploymentConfig {
                install_namespace: "".into(),
                ..DeploymentConfig::default()
            })
        );
    }

    #[test]
    fn an_empty_registration_is_not_an_absent_one() {
        let registration = |spec: Value| match content(Kind::Template, &spec) {
            Content::Template(template) => template.registration,
            other @ (Content::Deployment(_) | Content::Hub) => panic!("{other:?}"),
        };
        assert_eq!(registration(json!({})), None);
        assert_eq!(registration(json!({"registration": []})), Some(Vec::new()));
    }
}
