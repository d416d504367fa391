//! The work of pre-delete hooks: what runs on a cluster before its add-on goes.
//!
//! Decides from which content it is made: what the instance is assigned, has confirmed last or has in its works, as long as that
//! is known, else what the hub has under that name.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::config::is_template;
use super::hook::has_hooks;
use super::owners;
use super::render::{Recipe, RenderFault, RenderInputs, cluster_values, merged, rendered};
use super::render_cache::foreign;
use super::work::runs;
use store::{
    Config, ConfigRef, ConfigType, Content, DeploymentConfig, Instance, Kind, Layering, Name, Reference,
    Template, View, terms,
};

/// What can be said about the hooks of an instance.
#[derive(Debug)]
pub(super) enum Hooks {
    /// There are none.
    None,
    /// The instance holds no template.
    Unassigned,
    /// The template or its configuration has left the hub, and this program has not seen what it said.
    Lost(ConfigRef),
    /// They cannot be made.
    Refused(String),
    /// The spec of their work.
    Spec(Value),
}

/// Template and configurations by their places in memory, the install namespace, the image mirrors, and what the cluster says.
type RecipeKey = (usize, Vec<usize>, Name, Name, Vec<Option<Name>>);

/// The recipes that were made already: an add-on that is deleted goes from thousands of clusters at once.
#[derive(Debug, Default)]
pub(super) struct Recipes {
    known: BTreeMap<RecipeKey, Result<Recipe, RenderFault>>,
}

/// Returns the hooks of an instance.
pub(super) fn of(view: &View<'_>, recipes: &mut Recipes, instance: &Instance) -> Hooks {
    let mut template: Option<&Template> = None;
    let mut configs: Vec<&DeploymentConfig> = Vec::new();
    for reference in instance.references.iter() {
        let is_needed = if is_template(&reference.config.of) {
            template.is_none()
        } else {
            is_deployment_config(reference) && (configs.is_empty() || instance.layering() == Layering::Merge)
        };
        if !is_needed {
            continue;
        }
        match content(view, instance, reference) {
            Some(Content::Template(found)) => template = Some(found),
            Some(Content::Deployment(found)) => configs.push(found),
            Some(Content::Hub) | None => return Hooks::Lost(reference.config.clone()),
        }
    }
    let Some(template) = template else {
        return Hooks::Unassigned;
    };
    // What is assigned may name no configuration, while the works were made with one.
    if configs.is_empty() {
        configs.extend(made_with(view, instance, template));
    }
    if !has_hooks(template) {
        return Hooks::None;
    }
    if !view
        .settings()
        .template_sharing
        .permits(template, &instance.addon)
    {
        return Hooks::Refused(foreign(template, &instance.addon));
    }
    recipes.spec(view, template, &configs, instance)
}

fn is_deployment_config(reference: &Reference) -> bool {
    is_of(&reference.config.of, Kind::DeploymentConfig)
}

fn is_of(of: &ConfigType, kind: Kind) -> bool {
    Kind::of_config(&of.group, &of.resource) == Some(kind)
}

/// The configuration that the works were made with, if they were made of this template.
fn made_with<'v>(view: &View<'v>, instance: &Instance, template: &Template) -> Option<&'v DeploymentConfig> {
    let runs = |kind: Kind| {
        let (config, hash) = runs(view, instance, |config| is_of(&config.of, kind))?;
        view.last_content(&config, &hash)
    };
    let is_same = |found: &Config| match &*found.content {
        Content::Template(of) => std::ptr::eq(of, template),
        Content::Deployment(_) | Content::Hub => false,
    };
    runs(Kind::Template).filter(|found| is_same(found))?;
    match &*runs(Kind::DeploymentConfig)?.content {
        Content::Deployment(config) => Some(config),
        Content::Template(_) | Content::Hub => None,
    }
}

/// The assignment is taken back when its object leaves the hub; then what the agent confirmed last tells what it runs, or else
/// its works. An add-on that goes must not wait indefinitely because its template has been edited: better the new hooks than none.
fn content<'v>(view: &View<'v>, instance: &Instance, reference: &Reference) -> Option<&'v Content> {
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
    let is_it = |config: &ConfigRef| match instance.layering() {
        // The place of one of several is not another's.
        Layering::Merge => *config == reference.config,
        Layering::Replace => config.of == reference.config.of,
    };
    let carried = || {
        let (config, hash) = runs(view, instance, is_it)?;
        view.last_content(&config, &hash)
    };
    let found = assigned()
        .or_else(confirmed)
        .or_else(carried)
        .or_else(|| view.config(&reference.config))?;
    Some(&found.content)
}

impl Recipes {
    fn spec(
        &mut self,
        view: &View<'_>,
        template: &Template,
        configs: &[&DeploymentConfig],
        instance: &Instance,
    ) -> Hooks {
        let cluster = view.cluster(&instance.cluster);
        let registries = cluster.map_or_else(|| Name::from(""), |cluster| cluster.image_registries.clone());
        let values = cluster_values(Some(template), cluster);
        let config = merged(configs);
        let subject = RenderInputs {
            addon: &instance.addon,
            template,
            config: config.as_deref(),
            install_namespace: &instance.install_namespace,
            image_registries: &registries,
            cluster_values: &values,
            unset: view.settings().unset_variables,
        };
        // Equal contents are one object in the store, whichever configurations have them.
        let key = (
            std::ptr::from_ref(template).addr(),
            configs
                .iter()
                .map(|config| std::ptr::from_ref(*config).addr())
                .collect(),
            instance.install_namespace.clone(),
            registries.clone(),
            values.clone(),
        );
        let made = self
            .known
            .entry(key)
            .or_insert_with(|| rendered(&subject).map(|rendered| rendered.hooks()));
        match made {
            Ok(recipe) => Hooks::Spec(recipe.spec(&instance.cluster)),
            Err(fault) => Hooks::Refused(fault.to_string()),
        }
    }
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
