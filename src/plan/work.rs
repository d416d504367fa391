//! The works that every instance should have.
//!
//! Decides names, labels, annotations and owners of works, and which content they are made from: only content whose hash
//! is the assigned one. Never plans a work for an add-on that another program deploys.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::config::{deploys, is_template};
use super::owners;
use super::render::{Recipe, RenderFault, recipe};
use super::rollout::{Member, Step};
use super::types::WaitOn;
use crate::snapshot::{
    Content, DeploymentConfig, Digest, Instance, Kind, Name, ObjectKey, Reference, View, Work, terms,
};

/// What can be said about the works of one instance.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rendering {
    /// Another program deploys this add-on, or the instance is going away.
    NotOurs,
    /// The works stay as they are until this changes.
    Waiting(WaitOn),
    /// No works can be made, and only a human can change that.
    Refused(String),
    /// These works, and no others.
    Bodies(Vec<Body>),
}

/// One work that should exist.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Body {
    /// Its name.
    pub name: String,
    /// Digest of its spec.
    pub digest: Digest,
    /// Its configuration hashes, "" when the instance has no configuration.
    pub hashes: Arc<str>,
    recipe: Arc<Recipe>,
}

type Recipes = BTreeMap<(Name, Name, Name), Result<Arc<Recipe>, RenderFault>>;

/// Returns the works of every instance, in the order of `members`.
pub(super) fn bodies(view: &View<'_>, members: &[Member<'_>]) -> Vec<Rendering> {
    let mut recipes = Recipes::new();
    let mut hashes: BTreeMap<Vec<(String, Name)>, Arc<str>> = BTreeMap::new();
    let each = members
        .iter()
        .map(|member| rendering(view, member, &mut recipes, &mut hashes));
    each.collect()
}

fn rendering(
    view: &View<'_>,
    member: &Member<'_>,
    recipes: &mut Recipes,
    known_hashes: &mut BTreeMap<Vec<(String, Name)>, Arc<str>>,
) -> Rendering {
    let instance = member.instance;
    if instance.meta.deleting || !deploys(view.addon, &member.effective) {
        return Rendering::NotOurs;
    }
    if let Some(refusal) = refusal(member) {
        return Rendering::Refused(refusal);
    }
    if let Some(wait) = waiting(view, member) {
        return Rendering::Waiting(wait);
    }
    let sources = match sources(view, &member.assigned) {
        Ok(sources) => sources,
        Err(rendering) => return rendering,
    };
    let found = recipes
        .entry((
            sources.template.clone(),
            sources.config.clone(),
            instance.install_namespace.clone(),
        ))
        .or_insert_with(|| sources.recipe(&instance.install_namespace).map(Arc::new));
    match found {
        Err(fault) => Rendering::Refused(fault.to_string()),
        Ok(recipe) if recipe.is_empty => Rendering::Bodies(Vec::new()),
        Ok(recipe) => {
            let pairs: Vec<(String, Name)> = member
                .assigned
                .iter()
                .map(|one| (one.config.to_string(), one.desired.clone()))
                .collect();
            let hashes = known_hashes
                .entry(pairs)
                .or_insert_with_key(|pairs| render_hashes(pairs));
            Rendering::Bodies(vec![Body {
                name: deploy_name(&view.addon.name),
                digest: recipe.digest(&instance.cluster),
                hashes: Arc::clone(hashes),
                recipe: Arc::clone(recipe),
            }])
        }
    }
}

/// Hosted agents of template add-ons are refused: deploying them on the managed cluster would be the wrong cluster.
fn refusal(member: &Member<'_>) -> Option<String> {
    if !member.instance.hosting_cluster.is_empty() {
        return Some(format!(
            "a template add-on cannot be hosted on {:?}",
            &*member.instance.hosting_cluster
        ));
    }
    None
}

fn waiting(view: &View<'_>, member: &Member<'_>) -> Option<WaitOn> {
    if let (Step::Hold(kind), true) = (&member.step, member.assigned.is_empty()) {
        return Some(WaitOn::Rollout(kind.as_str().to_owned()));
    }
    if let Some(of) = &member.effective.unsupported {
        return Some(WaitOn::UnsupportedType(of.clone()));
    }
    if let Some((desired, fault)) = member
        .missing()
        .and_then(|desired| Some((desired, desired.fault?)))
    {
        return Some(WaitOn::Config(desired.config.clone(), fault.as_str()));
    }
    let no_longer = |reference: &&Reference| view.content(&reference.config, &reference.desired).is_none();
    let superseded = member.assigned.iter().find(no_longer);
    superseded.map(|reference| WaitOn::Content(reference.config.clone()))
}

struct Sources<'v> {
    template: Name,
    template_content: &'v Content,
    config: Name,
    config_content: Option<&'v Content>,
}

impl Sources<'_> {
    fn recipe(&self, install_namespace: &str) -> Result<Recipe, RenderFault> {
        let config: Option<&DeploymentConfig> = match self.config_content {
            Some(Content::Deployment(config)) => Some(config),
            Some(Content::Template(_) | Content::Hub) | None => None,
        };
        match self.template_content {
            Content::Template(template) => recipe(template, config, install_namespace),
            Content::Deployment(_) | Content::Hub => Err(RenderFault::NotAnObject(0)),
        }
    }
}

/// The first reference of each type counts.
fn sources<'v>(view: &View<'v>, assigned: &[Reference]) -> Result<Sources<'v>, Rendering> {
    let Some(template) = assigned
        .iter()
        .find(|reference| is_template(&reference.config.of))
    else {
        let fault = "no AddOnTemplate is among the effective configurations";
        return Err(Rendering::Refused(fault.to_owned()));
    };
    let superseded = || Rendering::Waiting(WaitOn::Content(template.config.clone()));
    let found = view
        .content(&template.config, &template.desired)
        .ok_or_else(superseded)?;
    let is_config = |reference: &&Reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource) == Some(Kind::DeploymentConfig)
    };
    let config = assigned.iter().find(is_config);
    let content = config.and_then(|reference| view.content(&reference.config, &reference.desired));
    Ok(Sources {
        template: template.desired.clone(),
        template_content: &found.content,
        config: config.map_or_else(|| Name::from(""), |reference| reference.desired.clone()),
        config_content: content.map(|found| &*found.content),
    })
}

/// Returns the name of the first work of an add-on.
pub(super) fn deploy_name(addon: &str) -> String {
    format!("addon-{addon}-deploy-0")
}

/// Returns whether a work is one that this program may delete when it is no longer wanted.
pub(super) fn is_deploy_work(addon: &str, name: &str) -> bool {
    let number = name
        .strip_prefix("addon-")
        .and_then(|rest| rest.strip_prefix(addon));
    let number = number
        .and_then(|rest| rest.strip_prefix("-deploy-"))
        .unwrap_or_default();
    !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns whether a work only runs before the deletion.
pub(super) fn is_hook_work(addon: &str, name: &str) -> bool {
    name.strip_prefix("addon-")
        .and_then(|rest| rest.strip_prefix(addon))
        .is_some_and(|rest| rest.starts_with("-pre-delete"))
}

fn render_hashes(pairs: &[(String, Name)]) -> Arc<str> {
    if pairs.is_empty() {
        return Arc::from("");
    }
    let sorted: BTreeMap<&str, &str> = pairs.iter().map(|(key, hash)| (key.as_str(), &**hash)).collect();
    Arc::from(json!(sorted).to_string())
}

impl Body {
    /// Returns whether the stored work already is what this body asks for, the status aside.
    pub(super) fn equals(&self, instance: &Instance, work: &Work) -> bool {
        self.digest == work.digest
            && *self.hashes == *work.hashes
            && *self.hashes == *work.mirror
            && owners::owned_by(instance, &work.owners).is_none()
    }

    /// Returns the whole work.
    pub(super) fn create(&self, instance: &Instance) -> Value {
        let mut metadata = json!({
            "name": self.name,
            "namespace": &*instance.cluster,
            "labels": {(terms::ADDON_NAME): &*instance.addon},
            "ownerReferences": [owners::of_instance(instance, true)],
        });
        if let Some(fields) = metadata.as_object_mut().filter(|_| !self.hashes.is_empty()) {
            fields.insert("annotations".to_owned(), self.annotations());
        }
        json!({
            "apiVersion": Kind::Work.api_version(),
            "kind": Kind::Work.address().kind,
            "metadata": metadata,
            "spec": self.recipe.spec(&instance.cluster),
        })
    }

    /// Returns the merge patch that makes a stored work equal; foreign labels, annotations and owners survive.
    pub(super) fn patch(&self, instance: &Instance, work: &Work) -> Value {
        let mut metadata = Map::new();
        metadata.insert("annotations".to_owned(), self.annotations());
        if let Some(owners) = owners::owned_by(instance, &work.owners) {
            metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        }
        let mut patch = Map::new();
        patch.insert("metadata".to_owned(), Value::Object(metadata));
        if self.digest != work.digest {
            patch.insert("spec".to_owned(), self.spec_patch(&instance.cluster));
        }
        Value::Object(patch)
    }

    /// A merge patch only removes what it names.
    fn spec_patch(&self, cluster: &str) -> Value {
        let mut spec = self.recipe.spec(cluster);
        name_absent(&mut spec, &["manifestConfigs", "deleteOption", "executor"]);
        if let Some(option) = spec.get_mut("deleteOption") {
            name_absent(option, &["selectivelyOrphans", "ttlSecondsAfterFinished"]);
        }
        spec
    }

    fn annotations(&self) -> Value {
        let value = if self.hashes.is_empty() {
            Value::Null
        } else {
            Value::from(&*self.hashes)
        };
        json!({(terms::CONFIG_HASHES): value, (terms::CONFIG_HASHES_MIRROR): value})
    }

    /// Returns the key of the work.
    pub(super) fn key(&self, instance: &Instance) -> ObjectKey {
        ObjectKey::new(Kind::Work, instance.cluster.clone(), self.name.as_str())
    }
}

fn name_absent(object: &mut Value, fields: &[&str]) {
    let Some(object) = object.as_object_mut() else {
        return;
    };
    for field in fields {
        object.entry(*field).or_insert(Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbered_deploy_works_of_the_add_on_are_ours() {
        let cases = [
            ("addon-a-deploy-0", true),
            ("addon-a-deploy-12", true),
            ("addon-a-deploy-", false),
            ("addon-a-deploy-hosting-c1-0", false),
            ("addon-ab-deploy-0", false),
            ("addon-a-pre-delete", false),
        ];
        for (name, expected) in cases {
            assert_eq!(is_deploy_work("a", name), expected, "{name}");
        }
        assert!(is_hook_work("a", "addon-a-pre-delete"));
        assert!(!is_hook_work("a", "addon-a-deploy-0"));
    }
}
