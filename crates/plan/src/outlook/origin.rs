//! What one cluster is rendered with, and where each value comes from: for every face that shows a rendering.
//!
//! Decides nothing: configurations come out of the layers of the plan, variables out of the rendering, each
//! with what it says of itself.

use crate::config::{self, Desired};
use crate::install;
use crate::render::{CLUSTER, RenderInputs, ValueSource, cluster_values};
use crate::render_cache::contents;
use crate::settled::Others;
use store::{ConfigRef, Content, DeploymentConfig, Instance, Kind, Name, Reference, View};

/// Where a value comes from that the ManagedClusterAddOn gives.
pub const FROM_INSTANCE: &str = "spec.installNamespace of the ManagedClusterAddOn";

/// What one cluster is rendered with.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Origins {
    /// Whether works are made from a template here; another program does it otherwise.
    pub deployed: bool,
    /// The configurations, sorted by type.
    pub configs: Vec<ConfigOrigin>,
    /// The variables, sorted by name.
    pub variables: Vec<ValueOrigin>,
    /// The image mirrors, where there are any or where they cannot be read.
    pub mirrors: Option<ValueOrigin>,
}

/// A configuration, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigOrigin {
    /// The object.
    pub config: ConfigRef,
    /// Its hash, "" when it is not known.
    pub hash: Name,
    /// Which layer names it.
    pub from: String,
    /// What is wrong with it.
    pub fault: Option<String>,
    /// What the cluster runs with until the rollout brings this one.
    pub until_then: Option<Reference>,
}

/// A value, and where it comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueOrigin {
    /// Its name.
    pub name: String,
    /// What it says.
    pub value: String,
    /// Who says so.
    pub from: String,
}

/// Returns what a cluster is rendered with; nothing when it does not have the add-on.
pub fn origins(view: &View<'_>, cluster: &str) -> Option<Origins> {
    let wanted = install::wanted(view, &Others::default());
    let configs = config::effective(view, &wanted);
    let mut stands = wanted.stands.iter().zip(&configs.instances);
    let (stand, effective) = stands.find(|(stand, _)| *stand.site.instance.cluster == *cluster)?;
    let instance = stand.site.instance;
    let assigned = &instance.references;
    let (template, config) = contents(view, assigned, instance.layering());
    let mut origins = Origins {
        deployed: effective.deployed,
        configs: effective
            .refs
            .iter()
            .map(|one| config_origin(one, assigned))
            .collect(),
        ..Origins::default()
    };
    let Some(template) = template.filter(|_| effective.deployed) else {
        return Some(origins);
    };
    let registries = view.cluster(cluster).map(|found| &found.image_registries);
    let said = cluster_values(Some(template), view.cluster(cluster));
    let inputs = RenderInputs {
        cluster_values: &said,
        addon: &view.addon.name,
        template,
        config: config.as_deref(),
        install_namespace: &instance.install_namespace,
        image_registries: registries.map_or("", |text| &**text),
        unset: view.settings().unset_variables,
    };
    let layers = DeploymentConfigs {
        given: &given(view, instance),
        effective: &effective.refs,
        moved_to: config.as_deref().map(|config| &config.install_namespace),
    };
    let values = inputs.values();
    origins.variables = values
        .into_iter()
        .map(|(name, (value, source))| ValueOrigin {
            value: value.replace(CLUSTER, cluster),
            from: layers.source(source, |one| {
                one.variables.iter().any(|(known, _)| **known == *name)
            }),
            name,
        })
        .collect();
    origins.mirrors = mirrors(&inputs, |source| {
        layers.source(source, |one| one.registries.is_some())
    });
    Some(origins)
}

fn config_origin(desired: &Desired, assigned: &[Reference]) -> ConfigOrigin {
    let is_given = |one: &Reference| one.config == desired.config && one.desired == desired.hash;
    let before = assigned.iter().find(|one| one.config.of == desired.config.of);
    ConfigOrigin {
        config: desired.config.clone(),
        hash: desired.hash.clone(),
        from: desired.source.to_string(),
        fault: desired.fault_text(),
        until_then: before.filter(|_| !assigned.iter().any(is_given)).cloned(),
    }
}

/// The deployment configurations that works are made with, the uppermost first, each with what it says.
type Given<'v> = Vec<(&'v ConfigRef, &'v DeploymentConfig)>;

fn given<'v>(view: &View<'v>, instance: &'v Instance) -> Given<'v> {
    let is_one = |reference: &&Reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig)
    };
    let those = instance
        .layering()
        .counting(instance.references.iter().filter(is_one));
    let read = |reference: &'v Reference| match &*view.content(&reference.config, &reference.desired)?.content
    {
        Content::Deployment(found) => Some((&reference.config, found)),
        Content::Template(_) | Content::Hub => None,
    };
    those.filter_map(read).collect()
}

/// What works are made with, and what the layers name.
struct DeploymentConfigs<'a> {
    given: &'a [(&'a ConfigRef, &'a DeploymentConfig)],
    effective: &'a [Desired],
    /// The namespace that they move everything to.
    moved_to: Option<&'a Name>,
}

impl DeploymentConfigs<'_> {
    /// Returns the words for where a value comes from; `says` tells whether a configuration gives it.
    fn source(&self, source: ValueSource, says: impl Fn(&DeploymentConfig) -> bool) -> String {
        match source {
            ValueSource::BuiltIn => "built-in".to_owned(),
            ValueSource::Reserved => "built-in, cannot be overridden".to_owned(),
            ValueSource::Unset => "nothing: an empty text (--unset-variables)".to_owned(),
            ValueSource::Instance => FROM_INSTANCE.to_owned(),
            ValueSource::Cluster => "the ManagedCluster: a label, a claim or an annotation".to_owned(),
            ValueSource::Config => self.told(says),
            ValueSource::MovedByConfig => {
                let from = self.told(|one| Some(&one.install_namespace) == self.moved_to);
                format!("spec.agentInstallNamespace of {from}")
            }
        }
    }

    /// Returns the words for the uppermost configuration that says something: its name, and the layer that names it.
    fn told(&self, says: impl Fn(&DeploymentConfig) -> bool) -> String {
        let Some((config, _)) = self.given.iter().find(|(_, found)| says(found)) else {
            return String::new();
        };
        let layer = self.effective.iter().find(|one| one.config == **config);
        let layer = layer.map_or_else(
            || "set before, and no longer set".to_owned(),
            |one| one.source.to_string(),
        );
        let ConfigRef { namespace, name, .. } = config;
        format!("AddOnDeploymentConfig {namespace}/{name} ({layer})")
    }
}

fn mirrors(inputs: &RenderInputs<'_>, told: impl Fn(ValueSource) -> String) -> Option<ValueOrigin> {
    let value = match inputs.mirrors() {
        Ok(mirrors) if mirrors.is_empty() => return None,
        Ok(mirrors) => {
            let each = mirrors.iter();
            let each = each.map(|one| format!("{} -> {}", one.source, one.mirror));
            each.collect::<Vec<_>>().join(", ")
        }
        Err(fault) => fault.to_string(),
    };
    Some(ValueOrigin {
        name: "image mirrors".to_owned(),
        value,
        from: told(inputs.mirrors_source()),
    })
}
