//! Filing records: each kind into its map and its indexes, and which add-ons that touches.
//!
//! Decides whether a record differs in anything that a plan reads: a new revision alone touches nobody.

use std::sync::Arc;

use super::decode::object as decode;
use super::index::Mentioned;
use super::kind::{Kind, ObjectKey};
use super::mourn::same_besides_features;
use super::names::Name;
use super::record::{
    AddOn, Cluster, Config, ConfigRef, Decision, InstallStrategy, Instance, Lifecycle, Meta, Namespace,
    Placement, Work,
};
use super::settings::EmptyLifecycle;
use super::store::{Place, Store, Touched, search};
use super::versions::offered;
use crate::model::ConfigRollout;

/// Puts `new` into `slot` and returns whether anything but the revision differs.
pub(super) fn replace<T: PartialEq>(slot: &mut Option<T>, mut new: T, meta: fn(&mut T) -> &mut Meta) -> bool {
    let Some(old) = slot else {
        *slot = Some(new);
        return true;
    };
    let version = std::mem::replace(&mut meta(&mut new).version, meta(old).version.clone());
    let differs = *old != new;
    meta(&mut new).version = version;
    *old = new;
    differs
}

impl Store {
    pub(super) fn insert_cluster(&mut self, key: &ObjectKey, record: Cluster, touched: &mut Touched) {
        let mut own = Touched::new();
        let name = self.names.share(&key.name);
        self.departed.remove(&name);
        let mut slot = self.clusters.remove(&name);
        let mut selecting: Vec<Name> = self.selecting(&record).cloned().collect();
        selecting.extend(slot.iter().flat_map(|old| self.selecting(old)).cloned());
        self.file_features(&key.name, slot.as_ref(), Some(&record), &mut own);
        if let Some(old) = slot.as_mut().filter(|old| old.labels != record.labels) {
            own.extend(selecting.iter().cloned());
            if same_besides_features(old, &record) {
                // Telling which add-ons it has concerns those that it tells of, and those that select by it.
                old.labels.clone_from(&record.labels);
            }
        }
        if slot.as_ref().is_none_or(|old| old.facts != record.facts) {
            self.published.cluster_changed(&key.name);
        }
        if let Some(old) = &mut slot {
            // What only admission asks about touches nobody's plan.
            old.facts = Arc::clone(&record.facts);
        }
        if slot.is_none() {
            self.touch_bindings(&key.name, touched);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        self.clusters.extend(slot.map(|record| (name, record)));
        if differs {
            self.touch_cluster(&key.name, &mut own);
            own.extend(selecting);
        }
        self.attribute(&key.name, own, touched);
    }

    /// Only admission asks for namespaces: nobody's plan does.
    pub(super) fn insert_namespace(&mut self, name: &Name, record: Namespace) {
        let known = self.namespaces.get(name);
        if known.is_none_or(|old| old.facts != record.facts) {
            self.published.namespace_changed(name);
        }
        let name = self.names.share(name);
        self.namespaces.insert(name, record);
    }

    pub(super) fn insert_placement(&mut self, key: &ObjectKey, record: Placement, touched: &mut Touched) {
        let place = (key.namespace.clone(), key.name.clone());
        let mut slot = self.placements.remove(&place);
        if slot.is_none() {
            self.published.decisions_changed(&place);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        if differs {
            touched.extend(self.by_placement.of(&place).cloned());
        }
        self.placements.extend(slot.map(|record| (place, record)));
    }

    pub(super) fn insert_decision(&mut self, key: &ObjectKey, record: Decision, touched: &mut Touched) {
        let at = (key.namespace.clone(), key.name.clone());
        let place = (key.namespace.clone(), record.placement.clone());
        if self.decision_places.get(&at).is_some_and(|filed| *filed != place) {
            self.remove(key, touched);
        }
        let filed = self.decisions.entry(place.clone()).or_default();
        let mut slot = filed.remove(&key.name);
        for cluster in slot.iter().flat_map(|old| &old.clusters) {
            self.placements_by_cluster.remove(cluster, &place);
        }
        for cluster in &record.clusters {
            self.placements_by_cluster.add(cluster, &place);
        }
        let differs = replace(&mut slot, record, |record| &mut record.meta);
        filed.extend(slot.map(|record| (key.name.clone(), record)));
        if differs {
            self.published.decisions_changed(&place);
            touched.extend(self.by_placement.of(&place).cloned());
        }
        self.decision_places.insert(at, place);
    }

    pub(super) fn insert_addon(&mut self, mut record: AddOn, touched: &mut Touched) {
        record.managed = match &record.lifecycle {
            Lifecycle::Managed => true,
            Lifecycle::Empty => self.settings.empty_lifecycle == EmptyLifecycle::Managed,
            Lifecycle::Own(_) => false,
        };
        let name = record.name.clone();
        let mut slot = self.addons.remove(&name);
        if let Some(old) = &slot {
            self.index_addon(old, Mentioned::NoMore);
        }
        self.index_addon(&record, Mentioned::Now);
        let before = slot.as_ref().map(unspoken);
        if replace(&mut slot, record, |record| &mut record.meta) {
            self.published.addon_changed(&name);
            touched.insert(name.clone());
            if slot.as_ref().map(unspoken) == before {
                self.changes.of_none(&name);
            }
        }
        self.addons.extend(slot.map(|record| (name, record)));
    }

    pub(super) fn insert_instance(&mut self, record: Instance, touched: &mut Touched) {
        let (addon, cluster) = (record.addon.clone(), record.cluster.clone());
        let mut slot = self
            .instances
            .get_mut(&addon)
            .and_then(|all| all.remove(&cluster))
            .map(|old| *old);
        if let Some(old) = &slot {
            self.index_instance(old, Mentioned::NoMore);
        }
        self.index_instance(&record, Mentioned::Now);
        self.published.instance_changed(slot.as_ref(), Some(&record));
        if replace(&mut slot, record, |record| &mut record.meta) {
            touched.insert(addon.clone());
            self.changes.of_cluster(&addon, &cluster);
        }
        self.instances
            .entry(addon)
            .or_default()
            .extend(slot.map(|record| (cluster, Box::new(record))));
    }

    pub(super) fn insert_config(&mut self, key: &ObjectKey, record: Config, touched: &mut Touched) {
        let config = decode::config_ref(key);
        let mut slot = self.configs.remove(&config);
        if let Some(old) = slot.as_ref().filter(|old| old.hash != record.hash) {
            self.retire(&config, old);
        }
        let offer = offered(slot.as_ref());
        let before = slot.as_ref().map(|old| old.hash.clone());
        self.sights.replaced(&config, before.as_ref(), &record.hash);
        if replace(&mut slot, record, |record| &mut record.meta) {
            self.published.config_changed(&config);
            touched.extend(self.by_config.of(&config).cloned());
        }
        self.configs.extend(slot.map(|record| (config, record)));
        self.refile_template(key, offer.as_ref(), touched);
    }

    pub(super) fn insert_work(&mut self, filed: (Name, Name), record: Work, touched: &mut Touched) {
        let place = (record.namespace.clone(), record.name.clone());
        if self
            .work_places
            .get(&place)
            .is_some_and(|before| *before != filed)
        {
            self.remove(
                &ObjectKey::new(Kind::Work, place.0.clone(), place.1.clone()),
                touched,
            );
        }
        let works = self
            .works
            .entry(filed.0.clone())
            .or_default()
            .entry(filed.1.clone())
            .or_default();
        let found = search(works, &place);
        let mut slot = found.ok().map(|at| works.remove(at));
        if replace(&mut slot, record, |record| &mut record.meta) {
            touched.insert(filed.0.clone());
            self.changes.of_cluster(&filed.0, &filed.1);
        }
        if let Some(record) = slot {
            works.reserve_exact(1);
            works.insert(found.unwrap_or_else(|at| at), record);
        }
        self.work_places.insert(place, filed);
    }

    /// Removes an object from its map and its indexes.
    pub(super) fn remove(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let place = (key.namespace.clone(), key.name.clone());
        match key.kind {
            Kind::Cluster => {
                if let Some(old) = self.clusters.remove(&key.name) {
                    self.depart(&key.name);
                    self.touch_bindings(&key.name, touched);
                    self.published.cluster_changed(&key.name);
                    let mut own = Touched::new();
                    self.file_features(&key.name, Some(&old), None, &mut own);
                    self.touch_cluster(&key.name, &mut own);
                    own.extend(self.selecting(&old).cloned());
                    self.attribute(&key.name, own, touched);
                }
            }
            Kind::Placement => {
                self.placements.remove(&place);
                self.published.decisions_changed(&place);
                touched.extend(self.by_placement.of(&place).cloned());
            }
            Kind::Decision => self.remove_decision(&place, touched),
            Kind::AddOn => {
                if let Some(old) = self.addons.remove(&key.name) {
                    self.published.addon_changed(&key.name);
                    self.index_addon(&old, Mentioned::NoMore);
                    touched.insert(key.name.clone());
                }
            }
            Kind::Instance => self.remove_instance(key, touched),
            Kind::DeploymentConfig | Kind::Template | Kind::HubConfig => {
                let config = decode::config_ref(key);
                let old = self.configs.remove(&config);
                if let Some(old) = &old {
                    self.retire(&config, old);
                }
                self.refile_template(key, offered(old.as_ref()).as_ref(), touched);
                self.sights.gone(&config);
                self.published.config_changed(&config);
                touched.extend(self.by_config.of(&config).cloned());
            }
            Kind::Work => self.remove_work(&place, touched),
            Kind::ServiceAccount | Kind::Role | Kind::RoleBinding => self.remove_grant(key, touched),
            Kind::SigningRequest => self.remove_request(&key.name, touched),
            Kind::HubClusterRole | Kind::HubRole => self.remove_hub_role(key, touched),
            Kind::Namespace => {
                self.namespaces.remove(&key.name);
                self.published.namespace_changed(&key.name);
            }
        }
    }

    fn remove_decision(&mut self, at: &Place, touched: &mut Touched) {
        let Some(place) = self.decision_places.remove(at) else {
            return;
        };
        self.published.decisions_changed(&place);
        touched.extend(self.by_placement.of(&place).cloned());
        let Some(filed) = self.decisions.get_mut(&place) else {
            return;
        };
        for cluster in filed.remove(&at.1).iter().flat_map(|old| &old.clusters) {
            self.placements_by_cluster.remove(cluster, &place);
        }
        if filed.is_empty() {
            self.decisions.remove(&place);
        }
    }

    fn remove_instance(&mut self, key: &ObjectKey, touched: &mut Touched) {
        let Some(all) = self.instances.get_mut(&key.name) else {
            return;
        };
        let Some(old) = all.remove(&key.namespace) else {
            return;
        };
        if all.is_empty() {
            self.instances.remove(&key.name);
            self.forget_unused();
        }
        self.published.instance_changed(Some(&old), None);
        self.index_instance(&old, Mentioned::NoMore);
        touched.insert(key.name.clone());
        self.changes.of_cluster(&key.name, &key.namespace);
    }

    fn remove_work(&mut self, place: &Place, touched: &mut Touched) {
        let Some((addon, cluster)) = self.work_places.remove(place) else {
            return;
        };
        touched.insert(addon.clone());
        self.changes.of_cluster(&addon, &cluster);
        let Some(clusters) = self.works.get_mut(&addon) else {
            return;
        };
        let Some(works) = clusters.get_mut(&cluster) else {
            return;
        };
        if let Ok(at) = search(works, place) {
            works.remove(at);
        }
        if works.is_empty() {
            clusters.remove(&cluster);
        }
        if clusters.is_empty() {
            self.works.remove(&addon);
        }
    }

    /// Returns the add-ons whose label selector matches a cluster.
    fn selecting<'s>(&'s self, cluster: &Cluster) -> impl Iterator<Item = &'s Name> {
        let selects = |addon: &&AddOn| match &addon.strategy {
            InstallStrategy::Labels(Some(selector)) => cluster.is_matched_by(selector),
            InstallStrategy::Labels(None)
            | InstallStrategy::Manual
            | InstallStrategy::Placements
            | InstallStrategy::BadLabels(_)
            | InstallStrategy::Other(_) => false,
        };
        self.addons.values().filter(selects).map(|addon| &addon.name)
    }

    /// What an event about a cluster touches, it touches because of this cluster.
    fn attribute(&mut self, cluster: &Name, mut own: Touched, touched: &mut Touched) {
        for addon in &own {
            self.changes.of_cluster(addon, cluster);
        }
        touched.append(&mut own);
    }

    fn touch_cluster(&self, cluster: &Name, touched: &mut Touched) {
        touched.extend(self.by_cluster.of(cluster).cloned());
        for place in self.placements_by_cluster.of(cluster) {
            touched.extend(self.by_placement.of(place).cloned());
        }
    }

    fn index_addon(&mut self, addon: &AddOn, mentioned: Mentioned) {
        if let Ok(ConfigRollout::RollingUpdateWithPlacement(update)) = &addon.configuration_rollout {
            let place = (update.namespace.as_str().into(), update.name.as_str().into());
            mentioned.note(&mut self.by_placement, &place, &addon.name);
        }
        for used in &addon.placements {
            let place = (used.namespace.clone(), used.name.clone());
            mentioned.note(&mut self.by_placement, &place, &addon.name);
            for config in &used.configs {
                mentioned.note(&mut self.by_config, config, &addon.name);
            }
        }
        let defaults = addon
            .supported
            .iter()
            .filter_map(|supported| supported.config.as_ref());
        let common = defaults.chain(&addon.configuration);
        for config in common.clone() {
            mentioned.note(&mut self.by_config, config, &addon.name);
        }
        let placed = addon.placements.iter().flat_map(|used| &used.configs);
        self.sights.mention_all(common.chain(placed), mentioned);
    }

    fn index_instance(&mut self, instance: &Instance, mentioned: Mentioned) {
        mentioned.note(&mut self.by_cluster, &instance.cluster, &instance.addon);
        for config in &instance.configs {
            mentioned.note(&mut self.by_config, config, &instance.addon);
        }
        self.sights.mention_all(instance.configs.iter(), mentioned);
    }

    /// Returns the works of one add-on on one cluster.
    pub(super) fn works_of(&self, addon: &str, cluster: &str) -> &[Work] {
        let works = self.works.get(addon).and_then(|all| all.get(cluster));
        works.map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns a configuration object.
    pub(super) fn config(&self, config: &ConfigRef) -> Option<&Config> {
        self.configs.get(config)
    }
}

/// Returns an add-on without what its status tells people; the plan of a cluster reads no more than this.
fn unspoken(addon: &AddOn) -> AddOn {
    let mut addon = addon.clone();
    addon.meta.version = Name::from("");
    addon.conditions.clear();
    addon.supported_versions.clear();
    addon.default_version = Name::from("");
    for progression in addon.progressions.iter_mut().flatten() {
        progression.conditions.clear();
        for reference in &mut progression.references {
            (reference.applied, reference.known_good) = (None, None);
        }
    }
    addon
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::{Event, Settings};
    use serde_json::json;

    fn addon(store: &mut Store, name: &str, env: &str) {
        let strategy =
            json!({"type": "ClusterLabelSelector", "labelSelector": {"matchLabels": {"env": env}}});
        let object = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"installStrategy": strategy}});
        let kind = Kind::AddOn;
        store.apply(Event::Applied { kind, object });
    }

    fn cluster(store: &mut Store, version: u8, env: &str) -> Vec<String> {
        let metadata = json!({"name": "c1", "uid": "c1", "resourceVersion": version.to_string(), "labels": {"env": env}});
        let object = json!({"metadata": metadata, "spec": {}});
        let kind = Kind::Cluster;
        let touched = store.apply(Event::Applied { kind, object });
        touched.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn labels_of_a_cluster_touch_the_add_ons_that_select_it_now_or_did_before() {
        let mut store = Store::new(Settings::default());
        addon(&mut store, "of-prod", "prod");
        addon(&mut store, "of-stage", "stage");
        assert_eq!(cluster(&mut store, 1, "dev"), [""; 0]);
        assert_eq!(cluster(&mut store, 2, "prod"), ["of-prod"]);
        assert_eq!(cluster(&mut store, 3, "prod"), [""; 0], "a new revision alone");
        assert_eq!(cluster(&mut store, 4, "stage"), ["of-prod", "of-stage"]);
        let object = json!({"metadata": {"name": "c1"}});
        let kind = Kind::Cluster;
        let touched = store.apply(Event::Deleted { kind, object });
        assert_eq!(
            touched.iter().map(|name| &**name).collect::<Vec<_>>(),
            ["of-stage"]
        );
    }
}
