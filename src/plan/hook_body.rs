//! The work of pre-delete hooks: what runs on a cluster before its add-on goes.
//!
//! Decides from which content it is made: the assigned one if anybody still knows it, else what the hub has under that name.
//! Asks for enough feedback to tell a hook that has failed from one that still runs.

use serde_json::{Map, Value, json};

use super::config::is_template;
use super::hook::hooks;
use super::owners;
use super::render::{RenderFault, check_object, move_to, variables};
use super::substitute::substitute;
use crate::snapshot::{
    ConfigRef, Content, DeploymentConfig, Instance, Kind, Name, Reference, Template, View, terms,
};

/// What can be said about the hooks of an instance.
#[derive(Debug)]
pub(super) enum Hooks {
    /// There are none.
    None,
    /// The instance holds no template.
    Unassigned,
    /// The template or its configuration has left the hub, and nobody here has seen what it said.
    Lost(ConfigRef),
    /// They cannot be made.
    Refused(RenderFault),
    /// The spec of their work.
    Spec(Value),
}

/// Returns the hooks of an instance.
pub(super) fn of(view: &View<'_>, instance: &Instance) -> Hooks {
    let mut template: Option<&Template> = None;
    let mut config: Option<&DeploymentConfig> = None;
    for reference in &instance.references {
        let is_needed = if is_template(&reference.config.of) {
            template.is_none()
        } else {
            config.is_none() && is_deployment_config(reference)
        };
        if !is_needed {
            continue;
        }
        match content(view, reference) {
            Some(Content::Template(found)) => template = Some(found),
            Some(Content::Deployment(found)) => config = Some(found),
            Some(Content::Hub) | None => return Hooks::Lost(reference.config.clone()),
        }
    }
    let Some(template) = template else {
        return Hooks::Unassigned;
    };
    if hooks(template).next().is_none() {
        return Hooks::None;
    }
    match spec(template, config, instance) {
        Ok(spec) => Hooks::Spec(spec),
        Err(fault) => Hooks::Refused(fault),
    }
}

fn is_deployment_config(reference: &Reference) -> bool {
    let of = &reference.config.of;
    Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig)
}

/// The assignment is taken back when its object leaves the hub; then what the agent confirmed last tells what it runs. An
/// add-on that goes must not wait for ever because somebody has edited its template: better the new hooks than none.
fn content<'v>(view: &View<'v>, reference: &Reference) -> Option<&'v Content> {
    let assigned = || view.last_content(&reference.config, &reference.desired);
    let confirmed = || {
        let applied = reference.applied.as_ref()?;
        let config = ConfigRef {
            of: reference.config.of.clone(),
            namespace: applied.namespace.clone(),
            name: applied.name.clone(),
        };
        view.last_content(&config, &applied.hash)
    };
    let found = assigned()
        .or_else(confirmed)
        .or_else(|| view.config(&reference.config))?;
    Some(&found.content)
}

fn spec(
    template: &Template,
    config: Option<&DeploymentConfig>,
    instance: &Instance,
) -> Result<Value, RenderFault> {
    let mut variables = variables(template, config, &instance.install_namespace);
    variables.insert("CLUSTER_NAME".to_owned(), instance.cluster.to_string());
    let moved_to = config
        .map(|config| &*config.install_namespace)
        .filter(|namespace| !namespace.is_empty());
    let mut manifests = Vec::new();
    for (index, manifest) in hooks(template) {
        let mut manifest =
            substitute(manifest, &variables).map_err(|fault| RenderFault::Substitution(index, fault))?;
        check_object(&manifest, index)?;
        if let Some(namespace) = moved_to {
            move_to(&mut manifest, namespace, index)?;
        }
        manifests.push(manifest);
    }
    let mut spec = Map::new();
    spec.insert(
        "manifestConfigs".to_owned(),
        manifests.iter().map(feedback).collect(),
    );
    spec.insert("workload".to_owned(), json!({"manifests": manifests}));
    if let Some(executor) = template.agent.get("executor") {
        spec.insert("executor".to_owned(), executor.clone());
    }
    Ok(Value::Object(spec))
}

/// The well-known status of a job says nothing about its failure.
fn feedback(manifest: &Value) -> Value {
    let text = |pointer: &str| {
        manifest
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    let mut rules = vec![json!({"type": "WellKnownStatus"})];
    let (group, resource) = if text("/kind") == "Job" {
        let failed = r#".status.conditions[?(@.type=="Failed")]"#;
        rules.push(json!({"type": "JSONPaths", "jsonPaths": [
            {"name": "JobFailed", "path": format!("{failed}.status")},
            {"name": "JobFailedMessage", "path": format!("{failed}.message")},
        ]}));
        ("batch", "jobs")
    } else {
        ("", "pods")
    };
    json!({
        "resourceIdentifier": {
            "group": group,
            "resource": resource,
            "namespace": text("/metadata/namespace"),
            "name": text("/metadata/name"),
        },
        "feedbackRules": rules,
    })
}

/// Returns the whole work. It is owned by its instance, unless that is deleted in the foreground: the garbage collector would
/// remove the hooks before they have run.
pub(super) fn work(instance: &Instance, spec: &Value) -> Value {
    let mut metadata = json!({
        "name": terms::hook_work(&instance.addon),
        "namespace": &*instance.cluster,
        "labels": {(terms::ADDON_NAME): &*instance.addon},
        "annotations": {(terms::HOOK_OF): &*instance.meta.uid},
    });
    let foreground = |one: &Name| &**one == "foregroundDeletion";
    if let Some(fields) = metadata.as_object_mut()
        && !instance.farewell.finalizers.iter().any(foreground)
    {
        let owner = owners::of_instance(instance, true);
        fields.insert("ownerReferences".to_owned(), json!([owner]));
    }
    json!({
        "apiVersion": Kind::Work.api_version(),
        "kind": Kind::Work.address().kind,
        "metadata": metadata,
        "spec": spec,
    })
}
