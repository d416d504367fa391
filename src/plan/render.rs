//! From a template and a deployment configuration to the spec of works: one recipe for all clusters that share them.
//!
//! Decides what the spec says. The name of the cluster stays open in the recipe, so that ten thousand clusters cost one
//! rendering and ten thousand digests. Never touches an object that only runs before deletion: hooks are not deployed.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::substitute::{SubstitutionFault, Variables, substitute};
use crate::snapshot::{DeploymentConfig, Digest, Digesting, Template, canonical, fill_defaults, terms};

/// Stands for the cluster's name until the recipe meets its cluster. Cluster names are DNS labels: no JSON escaping.
const CLUSTER: &str = "\u{e000}cluster\u{e000}";
/// Largest spec of one work in bytes: 80 % of what the hub accepts.
const LARGEST: usize = 409_600;
const KUBECONFIG: &str = "/managed/hub-kubeconfig/kubeconfig";

/// Why no spec can be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum RenderFault {
    /// A variable in the manifest with this index.
    Substitution(usize, SubstitutionFault),
    /// The manifest with this index is not a Kubernetes object.
    NotAnObject(usize),
    /// A role binding without subjects cannot be moved to the install namespace.
    NoSubjects(usize),
    /// The manifests do not fit into one work.
    TooLarge(usize),
    /// There is nothing to render.
    NoTemplate,
}

impl std::fmt::Display for RenderFault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Substitution(index, fault) => write!(f, "manifest {index}: {fault}"),
            Self::NotAnObject(index) => write!(f, "manifest {index}: got empty kind/version"),
            Self::NoSubjects(index) => write!(f, "manifest {index}: failed to find field subjects"),
            Self::TooLarge(size) => write!(f, "the manifests take {size} bytes; one work holds {LARGEST}"),
            Self::NoTemplate => write!(f, "no AddOnTemplate is among the effective configurations"),
        }
    }
}

/// The spec of a work with the name of the cluster left open.
#[derive(Debug)]
pub(super) struct Recipe {
    /// The canonical text, cut where the name of the cluster stands.
    parts: Vec<String>,
    /// The digest of the first part, which all clusters share.
    begun: Digesting,
    /// Whether the cluster's name occurs in keys, so that their order depends on it.
    in_keys: bool,
    /// Whether there is anything to deploy.
    pub is_empty: bool,
}

impl Recipe {
    /// Returns the canonical text of the spec for a cluster.
    fn text(&self, cluster: &str) -> String {
        let text = self.parts.join(cluster);
        if !self.in_keys {
            return text;
        }
        serde_json::from_str(&text)
            .map(|value| canonical(&value))
            .unwrap_or(text)
    }

    /// Returns the spec for a cluster.
    pub(super) fn spec(&self, cluster: &str) -> Value {
        serde_json::from_str(&self.text(cluster)).unwrap_or_default()
    }

    /// Returns the digest of the spec for a cluster.
    pub(super) fn digest(&self, cluster: &str) -> Digest {
        if self.in_keys {
            return Digest::of_text(&self.text(cluster));
        }
        let mut digest = self.begun.clone();
        for part in self.parts.iter().skip(1) {
            digest.add(cluster);
            digest.add(part);
        }
        digest.finish()
    }
}

/// Returns the recipe of a template with its configuration; `install_namespace` is the instance's own.
pub(super) fn recipe(
    template: &Template,
    config: Option<&DeploymentConfig>,
    install_namespace: &str,
) -> Result<Recipe, RenderFault> {
    let variables = variables(template, config, install_namespace);
    let moved_to = config
        .map(|config| &*config.install_namespace)
        .filter(|namespace| !namespace.is_empty());
    let manifests = template
        .agent
        .pointer("/workload/manifests")
        .and_then(Value::as_array);
    let mut rendered = Vec::new();
    for (index, manifest) in manifests.into_iter().flatten().enumerate() {
        if is_hook(manifest) {
            continue;
        }
        let mut manifest =
            substitute(manifest, &variables).map_err(|fault| RenderFault::Substitution(index, fault))?;
        check_object(&manifest, index)?;
        if let Some(namespace) = moved_to {
            move_to(&mut manifest, namespace, index)?;
        }
        rendered.push(manifest);
    }
    let mut agent = template.agent.as_object().cloned().unwrap_or_default();
    let configs = manifest_configs(&rendered, agent.get("manifestConfigs"), &variables)?;
    let is_empty = rendered.is_empty();
    agent.insert("workload".to_owned(), json!({"manifests": rendered}));
    agent.insert("manifestConfigs".to_owned(), Value::Array(configs));
    let mut agent = Value::Object(agent);
    fill_defaults(&mut agent);
    let canonical = canonical(&agent);
    if canonical.len() > LARGEST {
        return Err(RenderFault::TooLarge(canonical.len()));
    }
    let parts: Vec<String> = canonical.split(CLUSTER).map(ToOwned::to_owned).collect();
    let mut begun = Digesting::default();
    begun.add(parts.first().map_or("", String::as_str));
    Ok(Recipe {
        in_keys: occurs_in_keys(&agent),
        parts,
        begun,
        is_empty,
    })
}

/// Later wins: what we preset, what the user sets, what must not be overridden.
pub(super) fn variables(template: &Template, config: Option<&DeploymentConfig>, install_namespace: &str) -> Variables {
    let mut variables = Variables::new();
    if template.registers {
        variables.insert("HUB_KUBECONFIG".to_owned(), KUBECONFIG.to_owned());
    }
    variables.insert("INSTALL_NAMESPACE".to_owned(), install_namespace.to_owned());
    if let Some(config) = config {
        variables.extend(
            config
                .variables
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_string())),
        );
        if !config.install_namespace.is_empty() {
            variables.insert(
                "INSTALL_NAMESPACE".to_owned(),
                config.install_namespace.to_string(),
            );
        }
    }
    variables.insert("CLUSTER_NAME".to_owned(), CLUSTER.to_owned());
    variables
}

fn text<'a>(manifest: &'a Value, pointer: &str) -> &'a str {
    manifest
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

pub(super) fn check_object(manifest: &Value, index: usize) -> Result<(), RenderFault> {
    if text(manifest, "/kind").is_empty() || text(manifest, "/apiVersion").is_empty() {
        return Err(RenderFault::NotAnObject(index));
    }
    Ok(())
}

/// Jobs and pods that run before deletion must not run at the installation.
pub(super) fn is_hook(manifest: &Value) -> bool {
    let marked = |pointer: &str| {
        manifest
            .pointer(pointer)
            .is_some_and(|keys| keys.get(terms::PRE_DELETE).is_some())
    };
    matches!(text(manifest, "/kind"), "Job" | "Pod")
        && (marked("/metadata/annotations") || marked("/metadata/labels"))
}

/// Moves a manifest to the install namespace: its own namespace, its subjects, or itself when it is the namespace.
pub(super) fn move_to(manifest: &mut Value, namespace: &str, index: usize) -> Result<(), RenderFault> {
    if let Some(own) = manifest.pointer_mut("/metadata/namespace") {
        *own = Value::from(namespace);
    }
    match text(manifest, "/kind") {
        "Namespace" => {
            if let Some(metadata) = manifest.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.insert("name".to_owned(), Value::from(namespace));
            }
        }
        "RoleBinding" | "ClusterRoleBinding" => {
            let subjects = manifest.get_mut("subjects").and_then(Value::as_array_mut);
            let subjects = subjects.ok_or(RenderFault::NoSubjects(index))?;
            for subject in subjects.iter_mut().filter_map(Value::as_object_mut) {
                subject.insert("namespace".to_owned(), Value::from(namespace));
            }
        }
        _ => {}
    }
    Ok(())
}

/// Asks for the well-known status of every workload, beside what the template asks for itself.
fn manifest_configs(
    manifests: &[Value],
    own: Option<&Value>,
    variables: &Variables,
) -> Result<Vec<Value>, RenderFault> {
    let own = own.and_then(Value::as_array).cloned().unwrap_or_default();
    let mut configs = Vec::new();
    for (index, config) in own.iter().enumerate() {
        configs.push(substitute(config, variables).map_err(|fault| RenderFault::Substitution(index, fault))?);
    }
    let mut seen = BTreeSet::new();
    for manifest in manifests {
        let Some(identifier) = probed(manifest) else {
            continue;
        };
        if !seen.insert(canonical(&identifier)) {
            continue;
        }
        let existing = configs.iter_mut().find(|config| is_about(config, &identifier));
        match existing.and_then(Value::as_object_mut) {
            Some(config) => ask_well_known(config),
            None => configs.push(json!({
                "resourceIdentifier": identifier,
                "feedbackRules": [{"type": "WellKnownStatus"}],
            })),
        }
    }
    Ok(configs)
}

fn ask_well_known(config: &mut Map<String, Value>) {
    let rules = config.entry("feedbackRules").or_insert_with(|| json!([]));
    let Some(rules) = rules.as_array_mut() else { return };
    if !rules.iter().any(|rule| text(rule, "/type") == "WellKnownStatus") {
        rules.insert(0, json!({"type": "WellKnownStatus"}));
    }
}

fn is_about(config: &Value, identifier: &Value) -> bool {
    ["/group", "/resource", "/namespace", "/name"]
        .iter()
        .all(|field| text(config, &format!("/resourceIdentifier{field}")) == text(identifier, field))
}

/// Returns the identifier of a workload whose replicas tell whether the add-on is available.
fn probed(manifest: &Value) -> Option<Value> {
    let group = text(manifest, "/apiVersion")
        .split_once('/')
        .map_or("", |(group, _)| group);
    let resource = match (group, text(manifest, "/kind")) {
        ("apps", "Deployment") if manifest.pointer("/spec/replicas") == Some(&json!(0)) => return None,
        ("apps", "Deployment") => "deployments",
        ("apps", "DaemonSet") => "daemonsets",
        _ => return None,
    };
    Some(json!({
        "group": "apps",
        "resource": resource,
        "namespace": text(manifest, "/metadata/namespace"),
        "name": text(manifest, "/metadata/name"),
    }))
}

fn occurs_in_keys(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
        Value::Array(items) => items.iter().any(occurs_in_keys),
        Value::Object(fields) => fields
            .iter()
            .any(|(key, value)| key.contains(CLUSTER) || occurs_in_keys(value)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(manifests: &Value) -> Template {
        Template {
            agent: json!({"workload": {"manifests": manifests}}),
            registers: true,
        }
    }

    fn config(namespace: &str) -> DeploymentConfig {
        let variables = vec![
            ("IMAGE".into(), "q\"uote".into()),
            ("CLUSTER_NAME".into(), "mine".into()),
        ];
        DeploymentConfig {
            variables,
            install_namespace: namespace.into(),
            not_applied: Vec::new(),
        }
    }

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "agent", "namespace": "{{INSTALL_NAMESPACE}}"},
            "spec": {"replicas": 1, "image": "{{IMAGE}}", "args": ["{{CLUSTER_NAME}}", "{{HUB_KUBECONFIG}}"]}})
    }

    #[test]
    fn fills_in_the_variables_and_asks_for_the_well_known_status() {
        let recipe = recipe(&template(&json!([deployment()])), Some(&config("")), "own-ns").unwrap();
        let spec = recipe.spec("c1");
        assert_eq!(
            spec["workload"]["manifests"][0]["metadata"]["namespace"],
            "own-ns"
        );
        assert_eq!(spec["workload"]["manifests"][0]["spec"]["image"], "q\"uote");
        assert_eq!(
            spec["workload"]["manifests"][0]["spec"]["args"],
            json!(["c1", KUBECONFIG])
        );
        assert_eq!(
            spec["manifestConfigs"],
            json!([{"feedbackRules": [{"type": "WellKnownStatus"}], "feedbackScrapeType": "Poll",
                "resourceIdentifier": {"group": "apps", "name": "agent", "namespace": "own-ns", "resource": "deployments"}}])
        );
    }

    #[test]
    fn the_digest_is_the_one_of_the_stored_spec() {
        let keyed = json!([{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"},
            "data": {"{{CLUSTER_NAME}}": "1", "m": "2"}}, deployment()]);
        let recipe = recipe(&template(&keyed), Some(&config("")), "ns").unwrap();
        for cluster in ["a", "z"] {
            assert_eq!(
                recipe.digest(cluster),
                Digest::of_spec(&recipe.spec(cluster)),
                "{cluster}"
            );
        }
    }

    #[test]
    fn the_install_namespace_of_the_configuration_moves_everything() {
        let manifests = json!([deployment(),
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "x"}},
            {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": {"name": "b"},
             "subjects": [{"kind": "ServiceAccount", "name": "s", "namespace": "x"}]}]);
        let spec = recipe(&template(&manifests), Some(&config("moved")), "ns")
            .unwrap()
            .spec("c1");
        let manifest = |index: usize| &spec["workload"]["manifests"][index];
        assert_eq!(manifest(0)["metadata"]["namespace"], "moved");
        assert_eq!(manifest(1)["metadata"]["name"], "moved");
        assert_eq!(manifest(2)["metadata"].get("namespace"), None);
        assert_eq!(manifest(2)["subjects"][0]["namespace"], "moved");
    }

    #[test]
    fn a_pre_delete_job_is_not_deployed() {
        let hook = json!({"apiVersion": "batch/v1", "kind": "Job",
            "metadata": {"name": "clean", "annotations": {(terms::PRE_DELETE): ""}}});
        assert!(recipe(&template(&json!([hook])), None, "ns").unwrap().is_empty);
    }

    #[test]
    fn faults_name_the_manifest() {
        let fault = |manifests: Value| recipe(&template(&manifests), None, "ns").unwrap_err().to_string();
        assert_eq!(
            fault(json!([deployment()])),
            "manifest 0: unknown variable \"IMAGE\""
        );
        assert_eq!(
            fault(json!([{"kind": "X"}])),
            "manifest 0: got empty kind/version"
        );
        let big = json!([{"apiVersion": "v1", "kind": "ConfigMap", "data": {"x": "y".repeat(LARGEST)}}]);
        assert!(fault(big).contains("one work holds 409600"));
    }
}
