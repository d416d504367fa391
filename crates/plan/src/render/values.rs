//! The values that a rendering uses, and which of them wins.
//!
//! Decides the variables (preset < the user's own < those that cannot be overridden), the environment of containers and
//! the image mirrors. Never reads an object of the hub: everything comes as an argument.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;

use super::fault::RenderFault;
use super::recipe::CLUSTER;
use crate::substitute::{Variables, unknown_names};
use api::v1alpha1::ImageMirror;
use store::{Cluster, DeploymentConfig, Name, Template, UnsetVariables};

/// Where a registered agent finds its kubeconfig.
const KUBECONFIG: &str = "/managed/hub-kubeconfig/kubeconfig";
/// What every container learns, as far as it has a value.
const ENVIRONMENT: [&str; 3] = ["HUB_KUBECONFIG", "CLUSTER_NAME", "INSTALL_NAMESPACE"];

/// Who says what a value is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueSource {
    /// It is preset.
    BuiltIn,
    /// It is preset, and nothing overrides it.
    Reserved,
    /// The instance.
    Instance,
    /// The cluster.
    Cluster,
    /// The deployment configuration.
    Config,
    /// The deployment configuration, by moving everything to one namespace.
    MovedByConfig,
    /// Nothing: it is empty.
    Unset,
}

/// What is rendered: everything that clusters which share a rendering have in common.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RenderInputs<'a> {
    /// Name of the add-on.
    pub addon: &'a str,
    /// The template.
    pub template: &'a Template,
    /// The deployment configuration, if there is one.
    pub config: Option<&'a DeploymentConfig>,
    /// The install namespace of the instance itself.
    pub install_namespace: &'a str,
    /// The cluster's annotation with image mirrors, "" when it has none.
    pub image_registries: &'a str,
    /// What the cluster says under the keys that the template asks for, in their order.
    pub cluster_values: &'a [Option<Name>],
    /// What a variable becomes that nothing sets.
    pub unset: UnsetVariables,
}

impl<'a> RenderInputs<'a> {
    /// Returns the namespace that everything is moved to, if the configuration asks for that.
    pub(super) fn moved_to(&self) -> Option<&'a str> {
        let namespace = &*self.config?.install_namespace;
        (!namespace.is_empty()).then_some(namespace)
    }

    /// Returns the variables.
    pub(crate) fn variables(&self) -> Variables {
        let values = self.values().into_iter();
        values.map(|(name, (value, _))| (name, value)).collect()
    }

    /// Returns the variables, each with who says so. Later wins: what is preset, what the user sets, what must not be overridden.
    pub(crate) fn values(&self) -> BTreeMap<String, (String, ValueSource)> {
        let mut values = BTreeMap::new();
        let mut set = |name: &str, value: &str, source: ValueSource| {
            values.insert(name.to_owned(), (value.to_owned(), source));
        };
        if self.template.registration.is_some() {
            set("HUB_KUBECONFIG", KUBECONFIG, ValueSource::BuiltIn);
        }
        if self.unset == UnsetVariables::Fail {
            set("INSTALL_NAMESPACE", self.install_namespace, ValueSource::Instance);
        }
        for (name, value) in self.config.iter().flat_map(|config| &config.variables) {
            // No configuration says for a cluster what the cluster has not said itself.
            if !name.contains(':') {
                set(name, value, ValueSource::Config);
            }
        }
        for (key, value) in self.template.cluster_keys.iter().zip(self.cluster_values) {
            if let Some(value) = value {
                set(&key.name(), value, ValueSource::Cluster);
            }
        }
        if let Some(namespace) = self.moved_to() {
            set("INSTALL_NAMESPACE", namespace, ValueSource::MovedByConfig);
        }
        set("CLUSTER_NAME", CLUSTER, ValueSource::Reserved);
        if self.unset == UnsetVariables::Empty {
            let names = unknown_names(&self.template.agent, &|name| values.contains_key(name));
            values.extend(
                names
                    .into_iter()
                    .map(|name| (name, (String::new(), ValueSource::Unset))),
            );
        }
        values
    }

    /// Returns the environment that every container gets.
    pub(super) fn environment(&self) -> Vec<(&'static str, String)> {
        let mut values = self.values();
        let mut is_set = |name: &'static str| match values.remove(name)? {
            (_, ValueSource::Unset) => None,
            (value, _) => Some((name, value)),
        };
        ENVIRONMENT.into_iter().filter_map(&mut is_set).collect()
    }

    /// Returns whose image mirrors count.
    pub(crate) fn mirrors_source(&self) -> ValueSource {
        match self.config.and_then(|config| config.registries.as_deref()) {
            Some(_) => ValueSource::Config,
            None => ValueSource::Cluster,
        }
    }

    /// Returns the image mirrors: those of the configuration replace those of the cluster.
    pub(crate) fn mirrors(&self) -> Result<Cow<'a, [ImageMirror]>, RenderFault> {
        if let Some(own) = self.config.and_then(|config| config.registries.as_deref()) {
            return Ok(Cow::Borrowed(own));
        }
        if self.image_registries.is_empty() {
            return Ok(Cow::Borrowed(&[]));
        }
        serde_json::from_str::<ImageRegistries>(self.image_registries)
            .map(|annotation| Cow::Owned(annotation.registries))
            .map_err(|error| RenderFault::ImageRegistries(error.to_string()))
    }
}

/// Returns what a cluster says under the keys that a template asks for, in their order.
pub(crate) fn cluster_values(template: Option<&Template>, cluster: Option<&Cluster>) -> Vec<Option<Name>> {
    let keys = template.iter().flat_map(|template| &template.cluster_keys);
    keys.map(|key| cluster?.value(key).cloned()).collect()
}

/// What is in the annotation of a cluster.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ImageRegistries {
    registries: Vec<ImageMirror>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(variables: &[(&str, &str)], namespace: &str) -> DeploymentConfig {
        let each = variables
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()));
        DeploymentConfig {
            variables: each.collect(),
            install_namespace: namespace.into(),
            ..DeploymentConfig::default()
        }
    }

    fn subject<'a>(template: &'a Template, config: &'a DeploymentConfig) -> RenderInputs<'a> {
        RenderInputs {
            addon: "hello",
            template,
            config: Some(config),
            install_namespace: "own",
            image_registries: "",
            cluster_values: &[],
            unset: UnsetVariables::Fail,
        }
    }

    #[test]
    fn variables_without_a_value_are_empty_as_in_ocm_and_set_no_environment() {
        let template = Template {
            agent: serde_json::json!({"a": "{{LOG_LEVEL}} {{INSTALL_NAMESPACE}} {{CLUSTER_LABEL:x}} {{ $other }}"}),
            ..Template::default()
        };
        for (namespace, expected, environment) in [("", "", 1), ("moved", "moved", 2)] {
            let config = config(&[], namespace);
            let subject = RenderInputs {
                unset: UnsetVariables::Empty,
                ..subject(&template, &config)
            };
            let variables = subject.variables();
            assert_eq!(variables["LOG_LEVEL"], "");
            assert_eq!(variables["INSTALL_NAMESPACE"], expected);
            assert_eq!(variables.len(), 3, "{variables:?}");
            assert_eq!(subject.environment().len(), environment);
        }
    }

    #[test]
    fn what_must_not_be_overridden_wins_over_the_user_and_the_user_over_what_is_preset() {
        let template = Template {
            registration: Some(Vec::new()),
            ..Template::default()
        };
        let rows = [
            (vec![], "", [KUBECONFIG, CLUSTER, "own"]),
            (vec![], "moved", [KUBECONFIG, CLUSTER, "moved"]),
            (vec![("HUB_KUBECONFIG", "/x")], "", ["/x", CLUSTER, "own"]),
            (vec![("CLUSTER_NAME", "mine")], "", [KUBECONFIG, CLUSTER, "own"]),
            (vec![("INSTALL_NAMESPACE", "x")], "", [KUBECONFIG, CLUSTER, "x"]),
            (
                vec![("INSTALL_NAMESPACE", "x")],
                "moved",
                [KUBECONFIG, CLUSTER, "moved"],
            ),
            (vec![("A", "1"), ("A", "2")], "", [KUBECONFIG, CLUSTER, "own"]),
        ];
        for (variables, namespace, expected) in rows {
            let config = config(&variables, namespace);
            let values = subject(&template, &config).environment();
            let values: Vec<&str> = values.iter().map(|(_, value)| value.as_str()).collect();
            assert_eq!(values, expected, "{variables:?} {namespace:?}");
        }
    }

    #[test]
    fn an_agent_that_does_not_register_has_no_kubeconfig() {
        let (template, config) = (Template::default(), config(&[("A", "1"), ("A", "2")], ""));
        let subject = subject(&template, &config);
        assert!(!subject.variables().contains_key("HUB_KUBECONFIG"));
        assert_eq!(subject.variables()["A"], "2", "the later entry wins");
        assert_eq!(subject.environment().len(), 2);
    }

    #[test]
    fn mirrors_of_the_configuration_replace_those_of_the_cluster() {
        let (template, mut config) = (Template::default(), config(&[], ""));
        let annotation = r#"{"registries": [{"mirror": "m", "source": "s"}]}"#;
        let with = |config: &DeploymentConfig, annotation: &str| {
            let subject = RenderInputs {
                image_registries: annotation,
                ..subject(&template, config)
            };
            subject
                .mirrors()
                .map(|mirrors| mirrors.len())
                .map_err(|fault| fault.to_string())
        };
        assert_eq!(with(&config, ""), Ok(0));
        assert_eq!(with(&config, annotation), Ok(1));
        assert!(
            with(&config, "[")
                .unwrap_err()
                .starts_with("annotation open-cluster-management.io/image-registries of the cluster: EOF")
        );
        config.registries = Some(Vec::new());
        assert_eq!(with(&config, annotation), Ok(0), "an empty list is a word, too");
        assert_eq!(
            with(&config, "["),
            Ok(0),
            "a value that does not count is not read"
        );
    }
}
