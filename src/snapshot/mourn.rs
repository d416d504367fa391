//! What the store keeps of what is gone, for as long as something is left of it: add-ons without their object, content that
//! instances still hold, and the labels by which clusters tell which add-ons they have.
//!
//! Decides when nothing is left. Never keeps more than what somebody on the hub still refers to.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::names::Name;
use super::record::{
    AddOn, Cluster, Config, ConfigRef, Content, InstallStrategy, Instance, Meta, RolloutKind,
};
use super::store::{Store, Touched};

/// The labels of clusters: by add-on, then by cluster.
pub(super) type Features = BTreeMap<Name, BTreeMap<Name, Name>>;
/// Content that has left the hub, by reference and hash.
pub(super) type Retired = BTreeMap<(ConfigRef, Name), Config>;

impl Store {
    /// Keeps an add-on whose object is gone while instances, works or labels of its name remain: somebody has to see to
    /// their end.
    pub(super) fn mourn(&mut self, touched: &Touched) {
        for name in touched {
            let remains = self.instances.get(name).is_some_and(|all| !all.is_empty())
                || self.works.contains_key(name)
                || self.features.contains_key(name);
            if self.addons.contains_key(name) || !remains {
                self.gone.remove(name);
            } else if !self.gone.contains_key(name) {
                self.gone.insert(name.clone(), gone(name));
            }
        }
    }

    /// Files the labels of a cluster anew; a label concerns only the add-on that it names.
    pub(super) fn file_features(
        &mut self,
        cluster: &Name,
        old: Option<&Cluster>,
        new: Option<&Cluster>,
        touched: &mut Touched,
    ) {
        let empty = BTreeMap::new();
        let before = old.map_or(&empty, |cluster| &cluster.features);
        let after = new.map_or(&empty, |cluster| &cluster.features);
        for addon in before.keys().filter(|addon| !after.contains_key(*addon)) {
            touched.insert(addon.clone());
            let Some(clusters) = self.features.get_mut(addon) else {
                continue;
            };
            clusters.remove(cluster);
            if clusters.is_empty() {
                self.features.remove(addon);
            }
        }
        for (addon, value) in after {
            if before.get(addon) != Some(value) {
                touched.insert(addon.clone());
                let clusters = self.features.entry(addon.clone()).or_default();
                clusters.insert(cluster.clone(), value.clone());
            }
        }
    }

    /// Keeps content that is edited or deleted while an instance still holds it: its hooks can only be made from it.
    pub(super) fn retire(&mut self, config: &ConfigRef, old: &Config) {
        match *old.content {
            Content::Template(_) | Content::Deployment(_) => {}
            Content::Hub => return,
        }
        self.retired
            .insert((config.clone(), old.hash.clone()), old.clone());
        self.forget_unused();
    }

    /// Drops the content that no instance holds any more.
    pub(super) fn forget_unused(&mut self) {
        if self.retired.is_empty() {
            return;
        }
        let instances = &self.instances;
        self.retired.retain(|(config, hash), _| {
            let holds = |instance: &Instance| {
                let mut references = instance.references.iter();
                references.any(|one| {
                    (one.config == *config && one.desired == *hash) || one.applied_as(config, hash)
                })
            };
            instances.values().flat_map(BTreeMap::values).any(holds)
        });
    }
}

/// An add-on of which only the name is known.
fn gone(name: &Name) -> AddOn {
    let nobody = Name::from("");
    AddOn {
        meta: Meta {
            uid: nobody.clone(),
            version: nobody,
            generation: 0,
            deleting: true,
        },
        name: name.clone(),
        managed: true,
        supported: Vec::new(),
        configuration: Vec::new(),
        configuration_rollout: RolloutKind::All,
        strategy: InstallStrategy::Manual,
        placements: Vec::new(),
        defaults: Vec::new(),
        progressions: None,
        facts: Arc::default(),
    }
}
