//! The works that every instance should have.
//!
//! Decides names, labels, annotations and owners of works, and which content they are made from: only content whose hash
//! is the assigned one. Never plans a work for an add-on that another program deploys.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::owners;
use super::render::{Recipe, RenderFault, recipe};
use super::rollout::{Member, Step};
use super::types::WaitOn;
use crate::snapshot::{
    ConfigRef, Content, DeploymentConfig, Digest, Instance, Kind, Name, ObjectKey, Reference, View, Work,
    terms,
};

/// What can be said about the works of one instance.
#[derive(Debug)]
pub(super) enum Rendering<'v> {
    /// Another program deploys this add-on, or the instance is going away.
    NotOurs,
    /// The works stay as they are until this changes.
    Waiting(WaitOn),
    /// No works can be made, and only a human can change that.
    Refused(String),
    /// These works, and no others.
    Bodies(Vec<Body<'v>>),
}

/// One work that should exist.
#[derive(Debug)]
pub(super) struct Body<'v> {
    /// Its name.
    pub name: Name,
    /// Digest of its spec.
    pub digest: Digest,
    /// The work of that name that is stored.
    pub work: Option<&'v Work>,
    /// Its configuration hashes, "" when the instance has no configuration.
    hashes: Arc<str>,
    recipe: Arc<Recipe>,
}

/// Makes the works of one instance after the other. What instances share is made once: those with the same assignment
/// and install namespace have the same kit.
#[derive(Debug)]
pub(super) struct Renderer<'v, 'm> {
    view: &'m View<'v>,
    name: Name,
    kits: BTreeMap<KitKey, Arc<Kit>>,
    /// Neighbours mostly share a kit; comparing is cheaper than looking up.
    last: Option<(&'m Member<'v>, Arc<Kit>)>,
}

/// The assigned configurations with their hashes, and the install namespace.
type KitKey = (Vec<(ConfigRef, Name)>, Name);

/// What instances with the same assignment share.
#[derive(Debug)]
enum Kit {
    Waiting(WaitOn),
    Refused(String),
    Ready { recipe: Arc<Recipe>, hashes: Arc<str> },
}

impl<'v, 'm> Renderer<'v, 'm> {
    pub(super) fn new(view: &'m View<'v>) -> Self {
        Self {
            view,
            name: deploy_name(&view.addon.name).into(),
            kits: BTreeMap::new(),
            last: None,
        }
    }

    /// Returns the works of an instance.
    pub(super) fn rendering(&mut self, member: &'m Member<'v>) -> Rendering<'v> {
        let instance = member.instance;
        if instance.meta.deleting || !member.effective.deployed {
            return Rendering::NotOurs;
        }
        if let Some(refusal) = refusal(member) {
            return Rendering::Refused(refusal);
        }
        if let Some(wait) = waiting(self.view, member) {
            return Rendering::Waiting(wait);
        }
        match &*self.kit(member) {
            Kit::Waiting(on) => Rendering::Waiting(on.clone()),
            Kit::Refused(error) => Rendering::Refused(error.clone()),
            Kit::Ready { recipe, .. } if recipe.is_empty => Rendering::Bodies(Vec::new()),
            Kit::Ready { recipe, hashes } => {
                let mut works = self.view.works(&instance.cluster);
                Rendering::Bodies(vec![Body {
                    name: Arc::clone(&self.name),
                    digest: recipe.digest(&instance.cluster),
                    work: works.find(|work| work.name == self.name && work.namespace == instance.cluster),
                    hashes: Arc::clone(hashes),
                    recipe: Arc::clone(recipe),
                }])
            }
        }
    }

    fn kit(&mut self, member: &'m Member<'v>) -> Arc<Kit> {
        if let Some((last, kit)) = &self.last
            && share_a_kit(last, member)
        {
            return Arc::clone(kit);
        }
        let assigned = member.assigned.iter();
        let pairs: Vec<_> = assigned
            .map(|one| (one.config.clone(), one.desired.clone()))
            .collect();
        let key = (pairs, member.instance.install_namespace.clone());
        let view = self.view;
        let found = self
            .kits
            .entry(key)
            .or_insert_with_key(|(_, namespace)| Arc::new(kit(view, &member.assigned, namespace)));
        let kit = Arc::clone(found);
        self.last = Some((member, Arc::clone(&kit)));
        kit
    }
}

fn share_a_kit(one: &Member<'_>, other: &Member<'_>) -> bool {
    let pair = |reference: &Reference, same: &Reference| {
        reference.config == same.config && reference.desired == same.desired
    };
    one.instance.install_namespace == other.instance.install_namespace
        && one.assigned.len() == other.assigned.len()
        && one
            .assigned
            .iter()
            .zip(&*other.assigned)
            .all(|(reference, same)| pair(reference, same))
}

fn kit(view: &View<'_>, assigned: &[Reference], install_namespace: &str) -> Kit {
    if let Some(superseded) = superseded(view, assigned) {
        return Kit::Waiting(WaitOn::Content(superseded.config.clone()));
    }
    match rendered(view, assigned, install_namespace) {
        Ok(recipe) => Kit::Ready {
            recipe: Arc::new(recipe),
            hashes: render_hashes(assigned),
        },
        Err(fault) => Kit::Refused(fault.to_string()),
    }
}

/// Returns the first reference whose assigned content has been edited away. What a kind that is not watched says, nobody
/// here can tell.
pub(super) fn superseded<'a>(view: &View<'_>, assigned: &'a [Reference]) -> Option<&'a Reference> {
    let no_longer = |reference: &&Reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource).is_some()
            && view.content(&reference.config, &reference.desired).is_none()
    };
    assigned.iter().find(no_longer)
}

/// The first reference of each type counts.
fn rendered(view: &View<'_>, assigned: &[Reference], install_namespace: &str) -> Result<Recipe, RenderFault> {
    let content = |kind: Kind| {
        let is_of_kind = |reference: &&Reference| {
            let of = &reference.config.of;
            Kind::of_config(&of.group, &of.resource) == Some(kind)
        };
        let reference = assigned.iter().find(is_of_kind)?;
        view.content(&reference.config, &reference.desired)
            .map(|found| &*found.content)
    };
    let config: Option<&DeploymentConfig> = match content(Kind::DeploymentConfig) {
        Some(Content::Deployment(config)) => Some(config),
        Some(Content::Template(_) | Content::Hub) | None => None,
    };
    match content(Kind::Template) {
        Some(Content::Template(template)) => recipe(template, config, install_namespace),
        Some(Content::Deployment(_) | Content::Hub) | None => Err(RenderFault::NoTemplate),
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
    match view.cluster(&member.instance.cluster) {
        None => return Some(WaitOn::Cluster),
        Some(cluster) if cluster.meta.deleting => return Some(WaitOn::ClusterDeletion),
        Some(_) => {}
    }
    if let (Step::Hold(kind), true) = (&member.step, member.assigned.is_empty()) {
        return Some(WaitOn::Rollout(kind.as_str().to_owned()));
    }
    if let Some(of) = &member.effective.unsupported {
        return Some(WaitOn::UnsupportedType(of.clone()));
    }
    // A hash that only cannot be verified any more holds nothing up: what is rendered is still what it was.
    let desired = member.missing().filter(|desired| desired.hash.is_empty())?;
    Some(WaitOn::Config(desired.config.clone(), desired.why()?))
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

fn render_hashes(assigned: &[Reference]) -> Arc<str> {
    if assigned.is_empty() {
        return Arc::from("");
    }
    let sorted: BTreeMap<String, &str> = assigned
        .iter()
        .map(|one| (one.config.to_string(), &*one.desired))
        .collect();
    Arc::from(json!(sorted).to_string())
}

impl Body<'_> {
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
            "name": &*self.name,
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
        ObjectKey::new(Kind::Work, instance.cluster.clone(), Arc::clone(&self.name))
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
