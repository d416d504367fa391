//! What one cluster is rendered with, and where each value comes from: for whoever shows a rendering.
//!
//! Decides nothing: configurations come out of the layers of the plan, variables out of the rendering, each with what it says of itself.

use crate::config::{self, Desired};
use crate::install;
use crate::render::{CLUSTER, RenderInputs, ValueSource, cluster_values};
use crate::render_cache::contents;
use crate::settled::Others;
use snapshot::{ConfigRef, Kind, Name, Reference, View};

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
    let (template, config) = contents(view, assigned);
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
        config,
        install_namespace: &instance.install_namespace,
        image_registries: registries.map_or("", |text| &**text),
    };
    let of_config = deployment_config(assigned, effective.refs.as_slice());
    let told = |source: ValueSource| match source {
        ValueSource::BuiltIn => "built-in".to_owned(),
        ValueSource::Reserved => "built-in, which nothing overrides".to_owned(),
        ValueSource::Instance => "spec.installNamespace of the ManagedClusterAddOn".to_owned(),
        ValueSource::Cluster => "the ManagedCluster: a label, a claim or an annotation".to_owned(),
        ValueSource::Config => of_config.clone(),
        ValueSource::MovedByConfig => format!("spec.agentInstallNamespace of {of_config}"),
    };
    let values = inputs.values();
    origins.variables = values
        .into_iter()
        .map(|(name, (value, source))| ValueOrigin {
            name,
            value: value.replace(CLUSTER, cluster),
            from: told(source),
        })
        .collect();
    origins.mirrors = mirrors(&inputs, told);
    Some(origins)
}

fn config_origin(desired: &Desired, assigned: &[Reference]) -> ConfigOrigin {
    let is_given = |one: &Reference| one.config == desired.config && one.desired == desired.hash;
    let before = assigned.iter().find(|one| one.config.of == desired.config.of);
    ConfigOrigin {
        config: desired.config.clone(),
        hash: desired.hash.clone(),
        from: desired.source.to_string(),
        fault: desired.why(),
        until_then: before.filter(|_| !assigned.iter().any(is_given)).cloned(),
    }
}

/// Returns the words for the configuration that variables come from: its name, and the layer that names it.
fn deployment_config(assigned: &[Reference], effective: &[Desired]) -> String {
    let is_one = |config: &ConfigRef| {
        Kind::of_config(&config.of.group, &config.of.resource) == Some(Kind::DeploymentConfig)
    };
    let Some(given) = assigned.iter().find(|one| is_one(&one.config)) else {
        return String::new();
    };
    let ConfigRef { namespace, name, .. } = &given.config;
    let layer = effective.iter().find(|one| one.config == given.config);
    let layer = layer.map_or_else(
        || "given before, and not any more".to_owned(),
        |one| one.source.to_string(),
    );
    format!("AddOnDeploymentConfig {namespace}/{name} ({layer})")
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
