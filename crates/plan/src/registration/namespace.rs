//! `status.namespace`: where the agent runs on its cluster, so that its registration and its lease are found there.
//!
//! Decides it as rendering does: the deployment configuration wins, then the first deployment, then the first daemon set,
//! with variables replaced. A namespace that cannot be filled in is the instance's own install namespace.

use serde_json::Value;

use crate::render::{CLUSTER, RenderInputs};
use crate::size_budget::SizeBudget;
use crate::substitute::substitute;
use store::{DeploymentConfig, Template, UnsetVariables};

/// Returns the namespace with the name of the cluster left open.
pub(super) fn agent_namespace(
    template: &Template,
    config: Option<&DeploymentConfig>,
    install_namespace: &str,
    unset: UnsetVariables,
) -> String {
    if let Some(config) = config.filter(|config| !config.install_namespace.is_empty()) {
        return config.install_namespace.to_string();
    }
    let written = ["Deployment", "DaemonSet"]
        .into_iter()
        .find_map(|kind| workload_namespace(template, kind));
    let subject = RenderInputs {
        addon: "",
        template,
        config,
        install_namespace,
        image_registries: "",
        // What a cluster says about itself decides nothing on the hub.
        cluster_values: &[],
        unset,
    };
    let variables = subject.variables();
    let filled = written.and_then(|written| substitute(written, &variables, &SizeBudget::default()).ok());
    match filled {
        Some(Value::String(namespace)) if !namespace.is_empty() => namespace,
        Some(_) | None => install_namespace.to_owned(),
    }
}

/// Returns the namespace for one cluster.
pub(super) fn on_cluster(open: &str, cluster: &str) -> String {
    open.replace(CLUSTER, cluster)
}

/// Returns whether the namespace is the same on every cluster.
pub(super) fn is_closed(open: &str) -> bool {
    !open.contains(CLUSTER)
}

fn workload_namespace<'t>(template: &'t Template, kind: &str) -> Option<&'t Value> {
    let manifests = template.agent.pointer("/workload/manifests")?.as_array()?;
    let is_apps = |manifest: &Value| {
        let version = manifest["apiVersion"].as_str().unwrap_or_default();
        version.starts_with("apps/")
    };
    let mut found = manifests
        .iter()
        .filter(|manifest| manifest["kind"] == kind && is_apps(manifest));
    found.next()?.pointer("/metadata/namespace")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn template(manifests: &Value) -> Template {
        Template {
            addon: "hello".into(),
            agent: json!({"workload": {"manifests": manifests}}),
            registration: Some(Vec::new()),
            ..Template::default()
        }
    }

    fn workload(kind: &str, namespace: &str) -> Value {
        json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "x", "namespace": namespace}})
    }

    #[test]
    fn the_configuration_wins_then_deployments_then_daemon_sets() {
        let both = template(&json!([
            workload("DaemonSet", "d"),
            workload("Deployment", "{{INSTALL_NAMESPACE}}")
        ]));
        let daemon = template(&json!([workload("DaemonSet", "d-{{CLUSTER_NAME}}")]));
        let broken = template(&json!([workload("Deployment", "{{UNKNOWN}}")]));
        let config = |namespace: &str| DeploymentConfig {
            install_namespace: namespace.into(),
            ..DeploymentConfig::default()
        };
        let rows = [
            (&both, None, "own"),
            (&both, Some(config("")), "own"),
            (&both, Some(config("moved")), "moved"),
            (&daemon, None, "d-c1"),
            (&broken, None, "own"),
            (&template(&json!([])), None, "own"),
        ];
        for (template, config, expected) in rows {
            let open = agent_namespace(template, config.as_ref(), "own", UnsetVariables::Fail);
            assert_eq!(on_cluster(&open, "c1"), expected);
        }
        // As in OCM: an empty namespace is that of the instance.
        for template in [&both, &broken] {
            assert_eq!(
                agent_namespace(template, None, "own", UnsetVariables::Empty),
                "own"
            );
        }
    }
}
