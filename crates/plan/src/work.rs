//! The works that every instance should have.
//!
//! Decides names, labels, annotations and owners of works. Their content comes from a recipe (`render/recipe.rs`). Of a stored
//! work only our own keys are touched: labels, annotations and owners of others survive.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::owners;
use super::render::Recipe;
use super::types::{Payload, WaitOn};
use api::hash::{ConfigKey, parse_config_spec_hash};
use store::{
    ConfigRef, ConfigType, Digest, HashPlace, Instance, Kind, Name, ObjectKey, Reference, View, Work, terms,
};

/// What can be said about the works of one instance.
#[derive(Debug)]
pub(super) enum Rendering<'v> {
    /// Another program deploys this add-on, or the instance is going away.
    NotOurs,
    /// The works stay as they are until this changes.
    Waiting(WaitOn),
    /// No works can be made, and only a user can change that.
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
    /// Whether it gets a manifest that the stored work does not hold: what is moved arrives before it leaves.
    pub gains: bool,
    /// Its configuration hashes, "" when the instance has no configuration.
    pub hashes: Arc<str>,
    /// The version of the add-on that it carries, "" when its template has none.
    pub version: Name,
    /// What its spec is made from.
    pub recipe: Arc<Recipe>,
}

/// Returns the first reference whose assigned content has been edited away. One of a kind that is not watched is passed over: its
/// content is not known here.
pub(super) fn superseded<'a>(view: &View<'_>, assigned: &'a [Reference]) -> Option<&'a Reference> {
    let no_longer = |reference: &&Reference| {
        let of = &reference.config.of;
        Kind::of_config(&of.group, &of.resource).is_some()
            && view.content(&reference.config, &reference.desired).is_none()
    };
    assigned.iter().find(no_longer)
}

/// Returns what the names of an add-on's works begin with; their number follows.
pub(super) fn deploy_prefix(addon: &str) -> String {
    format!("addon-{addon}-deploy-")
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

impl Body<'_> {
    /// Returns whether the stored work already means what this body asks for, the status aside. What only its form or the
    /// absence of our mirror tells apart is left alone: a write would move its generation, and all clusters with it.
    pub(super) fn equals(&self, instance: &Instance, work: &Work) -> bool {
        self.digest == work.digest
            && work.labelled
            && *self.hashes == *work.hashes
            && (work.hashes_in == HashPlace::Usual) != self.hashes.is_empty()
            && (work.mirror.is_empty() || *self.hashes == *work.mirror)
            && self.version == work.version
            && owners::owned_by(instance, &work.owners).is_none()
    }

    /// Returns the whole work.
    pub(super) fn create(&self, instance: &Instance) -> Payload {
        let mut labels = labels(instance);
        if !self.version.is_empty() {
            labels.insert(terms::ADDON_VERSION.to_owned(), Value::from(&*self.version));
        }
        let mut metadata = json!({
            "name": &*self.name,
            "namespace": &*instance.cluster,
            "labels": labels,
            "ownerReferences": [owners::of_instance(instance, true)],
        });
        if let Some(fields) = metadata.as_object_mut().filter(|_| !self.hashes.is_empty()) {
            fields.insert("annotations".to_owned(), self.annotations());
        }
        let head = json!({
            "apiVersion": Kind::Work.api_version(),
            "kind": Kind::Work.address().kind,
            "metadata": metadata,
        });
        Payload::with_member(&head, "spec", &self.recipe.text(&instance.cluster))
    }

    /// Returns the merge patch that makes a stored work equal; foreign labels, annotations and owners survive.
    pub(super) fn patch(&self, instance: &Instance, work: &Work) -> Payload {
        let mut metadata = Map::new();
        metadata.insert("annotations".to_owned(), self.annotations());
        let mut changed = Map::new();
        if !work.labelled {
            changed.extend(labels(instance));
        }
        if self.version != work.version {
            let version = Some(&*self.version).filter(|version| !version.is_empty());
            changed.insert(terms::ADDON_VERSION.to_owned(), json!(version));
        }
        if !changed.is_empty() {
            metadata.insert("labels".to_owned(), Value::Object(changed));
        }
        if let Some(owners) = owners::owned_by(instance, &work.owners) {
            metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        }
        let head = Value::Object(Map::from_iter([("metadata".to_owned(), Value::Object(metadata))]));
        if self.digest == work.digest {
            return head.into();
        }
        Payload::with_member(&head, "spec", &self.recipe.patch(&instance.cluster))
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

fn labels(instance: &Instance) -> Map<String, Value> {
    Map::from_iter([(terms::ADDON_NAME.to_owned(), Value::from(&*instance.addon))])
}

/// The works that deploy an add-on: on its cluster, or where it is hosted.
pub(super) fn deployed_works<'v>(view: &View<'v>, instance: &Instance) -> impl Iterator<Item = &'v Work> {
    view.works(&instance.cluster)
        .filter(move |work| is_deployed(instance, work))
}

/// Returns whether a work deploys the add-on: it is named like one, or the instance owns it. Others carry the label as
/// well: hooks, and what users label by themselves. What is left where the add-on is no longer hosted deploys nothing.
pub(super) fn is_deployed(instance: &Instance, work: &Work) -> bool {
    let is_elsewhere = work.hosted && work.namespace != instance.hosting_cluster;
    if is_elsewhere || is_hook_work(&instance.addon, &work.name) {
        return false;
    }
    let named = work
        .name
        .strip_prefix("addon-")
        .and_then(|rest| rest.strip_prefix(&*instance.addon));
    named.is_some_and(|rest| rest.starts_with("-deploy"))
        || work.owners.iter().any(|owner| owner.uid == instance.meta.uid)
}

/// Returns which configuration of a type the works on the hub are made of, whichever program made them, and its hash: what runs
/// while what is assigned has not arrived, and nothing else remembers what was there before.
pub(super) fn runs(
    view: &View<'_>,
    instance: &Instance,
    is_it: impl Fn(&ConfigRef) -> bool,
) -> Option<(ConfigRef, Name)> {
    let carried = |work: &Work| {
        let all = parse_config_spec_hash(&work.hashes).ok()?;
        all.into_iter().map(read_key).find(|(config, _)| is_it(config))
    };
    deployed_works(view, instance).find_map(carried)
}

fn read_key((key, hash): (ConfigKey, String)) -> (ConfigRef, Name) {
    let of = ConfigType {
        group: Name::from(key.group),
        resource: Name::from(key.resource),
    };
    let config = ConfigRef {
        of,
        namespace: Name::from(key.namespace),
        name: Name::from(key.name),
    };
    (config, Name::from(hash))
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
