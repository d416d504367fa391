//! The view of one add-on: everything its plan may read, sorted.
//!
//! Decides nothing, copies nothing, and shows another add-on only where it is asked for by name. A view within a scope walks only
//! over the clusters of the scope; what is asked for by name is shown whatever the scope is.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, btree_map};

use super::kind::{Kind, Owner, Place};
use super::kinds::kept_content::KeptContent as KeptKind;
use super::kinds::{decision, namespace};
use super::parts::config_watch::ConfigWatch;
use super::record::{
    AddOn, Cluster, Config, ConfigRef, Decision, Instance, KeptContent, Lifecycle, Placement, RollUp, Work,
};
use super::settings::{Fence, Managing, RollUps, Settings};
use super::store::Store;
use super::versions::Versions;
use model::{Name, ResolvedSettings, order};

/// The clusters that a view walks over.
pub type Scope = BTreeSet<Name>;

/// Everything that the plan of one add-on may read.
#[derive(Debug, Clone, Copy)]
pub struct View<'s> {
    pub(super) store: &'s Store,
    /// The add-on.
    pub addon: &'s AddOn,
    /// Where it walks; absent: everywhere.
    scope: Option<&'s Scope>,
    /// The AddOnRollout, and the settings that count: every plan asks for them often.
    roll_up: Option<&'s RollUp>,
    rollout: ResolvedSettings<'s>,
}

impl Store {
    /// Returns the view of one add-on, if the add-on exists or anything of its name is left.
    pub fn view(&self, addon: &str) -> Option<View<'_>> {
        let known = self.objects.addons.get(addon);
        let known = known.or_else(|| self.tombstones.addons.get(addon));
        known.map(|addon| View::new(self, addon))
    }
}

impl<'s> View<'s> {
    pub(super) fn new(store: &'s Store, addon: &'s AddOn) -> Self {
        let roll_up = store.roll_up(&addon.name);
        let own = roll_up.and_then(|record| record.settings.as_deref().ok());
        let profile = roll_up.and_then(|record| record.profile.as_deref());
        Self {
            store,
            addon,
            scope: None,
            roll_up,
            rollout: store.resolve(own, profile),
        }
    }

    /// Returns the same view, which walks only over the clusters of a scope.
    #[must_use]
    pub fn within<'t>(self, scope: &'t Scope) -> View<'t>
    where
        's: 't,
    {
        View {
            scope: Some(scope),
            ..self
        }
    }

    /// Returns the view of another add-on that is there, as far as this one goes.
    #[must_use]
    pub fn sibling(&self, addon: &str) -> Option<Self> {
        let addon = self.store.objects.addons.get(addon)?;
        Some(Self {
            scope: self.scope,
            ..Self::new(self.store, addon)
        })
    }

    /// Returns whose plan it is for.
    pub fn owner(&self) -> Owner {
        Owner::addon(&self.addon.name)
    }

    /// Returns whether the view walks over a cluster.
    pub fn is_within(&self, cluster: &Name) -> bool {
        self.scope.is_none_or(|scope| scope.contains(cluster))
    }

    /// Walks over a map by cluster, as far as the scope goes.
    pub(super) fn walk<V>(
        &self,
        map: Option<&'s BTreeMap<Name, V>>,
    ) -> impl Iterator<Item = (&'s Name, &'s V)> + use<'s, V> {
        let everywhere = map.filter(|_| self.scope.is_none());
        let here = map.zip(self.scope);
        let here = here.into_iter().flat_map(|(map, scope)| {
            let found = move |cluster: &'s Name| map.get(cluster).map(|value| (cluster, value));
            scope.iter().filter_map(found)
        });
        everywhere.into_iter().flatten().chain(here)
    }

    /// Returns whether another manager has the add-on: nothing of it is this program's business, not even to say so.
    pub fn is_anothers(&self) -> bool {
        if self.settings().managing == Managing::All {
            return self.settings().fence == Fence::Closed && self.addon.lifecycle == Lifecycle::Managed;
        }
        // The settings of a deleted add-on are not known; this program removes what it has installed.
        let is_deleted = self.addon.meta.uid.is_empty() && self.addon.meta.deleting;
        let is_known_here = is_deleted
            && self
                .all_instances()
                .any(|instance| !instance.installed_by.is_empty());
        let is_unmarked = matches!(self.addon.lifecycle, Lifecycle::Managed | Lifecycle::Empty);
        is_unmarked && !is_known_here
    }

    /// Returns the operator's choices.
    pub fn settings(&self) -> &'s Settings {
        &self.store.settings
    }

    /// Returns whether the roll-up is kept in an object of our own: it is asked for, and the hub serves the kind.
    pub fn keeps_roll_ups(&self) -> bool {
        self.settings().roll_ups == RollUps::InOwnKind && self.store.objects.shown.contains(&Kind::Rollout)
    }

    /// Returns the roll-up of the add-on in an object of our own.
    pub fn roll_up(&self) -> Option<&'s RollUp> {
        self.roll_up
    }

    /// Returns the settings of the add-on's rollouts. While they cannot be read nothing is set, and [`Self::rollout_fault`] says why.
    pub fn rollout(&self) -> ResolvedSettings<'s> {
        self.rollout
    }

    /// Returns the add-on's instances in order of clusters.
    pub fn instances(&self) -> impl Iterator<Item = &'s Instance> + use<'s> {
        let all = self.store.objects.instances.get(&self.addon.name);
        self.walk(all).map(|(_, instance)| &**instance)
    }

    /// Returns all of the add-on's instances in order of clusters, whatever the scope is.
    pub fn all_instances(&self) -> impl Iterator<Item = &'s Instance> + use<'s> {
        let all = self.store.objects.instances.get(&self.addon.name);
        all.into_iter()
            .flat_map(BTreeMap::values)
            .map(|instance| &**instance)
    }

    /// Returns the add-on's instance on a cluster.
    pub fn instance(&self, cluster: &str) -> Option<&'s Instance> {
        let all = self.store.objects.instances.get(&self.addon.name)?;
        all.get(cluster).map(|instance| &**instance)
    }

    /// Returns a cluster.
    pub fn cluster(&self, name: &str) -> Option<&'s Cluster> {
        self.store.objects.clusters.get(name)
    }

    /// Returns the clusters in order of their names.
    pub fn clusters(&self) -> impl Iterator<Item = (&'s Name, &'s Cluster)> + use<'s> {
        self.walk(Some(&self.store.objects.clusters))
    }

    /// Returns a placement.
    pub fn placement(&self, namespace: &Name, name: &Name) -> Option<&'s Placement> {
        let place = (namespace.clone(), name.clone());
        self.store.kept.get::<decision::Placement>(&place)
    }

    /// Returns the decisions of a placement in order of their names.
    pub fn decisions(&self, namespace: &Name, name: &Name) -> impl Iterator<Item = &'s Decision> + use<'s> {
        let filed = self
            .store
            .objects
            .decisions
            .get(&(namespace.clone(), name.clone()));
        filed.into_iter().flat_map(BTreeMap::values)
    }

    /// Returns the clusters that the decisions of a placement name, sorted.
    pub fn decided(&self, namespace: &Name, name: &Name) -> Vec<&'s Name> {
        let place = (namespace.clone(), name.clone());
        let by_cluster = &self.store.indexes.placements_by_cluster;
        if let Some(scope) = self.scope {
            let names = |cluster: &&Name| by_cluster.mentions(cluster, &place);
            return scope.iter().filter(names).collect();
        }
        let decisions = self.decisions(namespace, name);
        let mut all: Vec<&Name> = decisions.flat_map(|decision| &decision.clusters).collect();
        all.sort();
        all.dedup();
        all
    }

    pub(super) fn sights(&self) -> &'s ConfigWatch {
        &self.store.sights
    }

    /// Returns a configuration object.
    pub fn config(&self, config: &ConfigRef) -> Option<&'s Config> {
        self.store.objects.configs.get(config)
    }

    /// Returns the object of a reference only if its present content is the one with `hash`, or the copy of that content that is
    /// kept: a cluster is never given content that its rollout has not assigned to it.
    pub fn content(&self, config: &ConfigRef, hash: &Name) -> Option<&'s Config> {
        let present = self.config(config).filter(|found| found.hash == *hash);
        present.or_else(|| self.kept_content(config, hash).map(|(.., content)| content))
    }

    /// Returns the copy that is kept of the content that an object had when its hash was `hash`, with its number and its place.
    pub fn kept_content(
        &self,
        config: &ConfigRef,
        hash: &Name,
    ) -> Option<(&'s Place, &'s KeptContent, &'s Config)> {
        let wanted = (config.clone(), hash.clone());
        let mut places = self.store.indexes.kept.of(&wanted);
        places.find_map(|place| {
            let (place, kept) = self.store.kept.entry::<KeptKind>(place)?;
            let (_, content) = kept.content.as_ref().ok()?;
            Some((place, kept, content))
        })
    }

    /// Returns what is kept in a place, whatever it says.
    pub fn kept(&self, place: &Place) -> Option<&'s KeptContent> {
        self.store.kept.get::<KeptKind>(place)
    }

    /// Returns everything that is kept of the add-on, sorted by place.
    pub fn all_kept(&self) -> impl Iterator<Item = (&'s Place, &'s KeptContent)> + use<'s> {
        let name = &self.addon.name;
        let all = self.store.kept.all::<KeptKind>();
        all.filter(move |(_, kept)| kept.addon == *name)
    }

    /// Returns whether the hub shows the objects in which content is kept.
    pub fn keeps_content(&self) -> bool {
        self.store.objects.shown.contains(&Kind::KeptContent)
    }

    /// Returns whether a namespace is not there, or is being deleted, as far as the hub shows namespaces.
    pub fn lacks_namespace(&self, name: &Name) -> bool {
        self.store.objects.shown.contains(&Kind::Namespace)
            && self.namespace(name).is_none_or(|known| known.meta.deleting)
    }

    /// Returns whether a namespace is being deleted: nothing can be created in it any more.
    pub fn is_namespace_deleted(&self, name: &Name) -> bool {
        self.namespace(name).is_some_and(|known| known.meta.deleting)
    }

    fn namespace(&self, name: &Name) -> Option<&'s namespace::NamespaceRecord> {
        let place = (Name::default(), name.clone());
        self.store.kept.get::<namespace::Namespace>(&place)
    }

    /// Returns the content that the object of a reference had when its hash was `hash`, even if it has been edited or
    /// deleted since: as long as an instance holds it and this program has seen it.
    pub fn last_content(&self, config: &ConfigRef, hash: &Name) -> Option<&'s Config> {
        let retired = || self.store.tombstones.content.get(&(config.clone(), hash.clone()));
        self.store
            .objects
            .configs
            .get(config)
            .filter(|found| found.hash == *hash)
            .or_else(retired)
    }

    /// Returns the clusters that tell by a label that they have the add-on, with what they tell, sorted.
    pub fn features(&self) -> impl Iterator<Item = (&'s Name, &'s Name)> + use<'s> {
        self.walk(self.store.indexes.features.get(&self.addon.name))
    }

    /// Returns all works of the add-on with their clusters, sorted by cluster, namespace and name.
    pub fn all_works(&self) -> impl Iterator<Item = (&'s Name, &'s Work)> + use<'s> {
        let clusters = self.walk(self.store.objects.works.get(&self.addon.name));
        clusters.flat_map(|(cluster, works)| works.iter().map(move |work| (cluster, work)))
    }

    /// Returns the versions of the add-on, from the templates that are made for it.
    pub fn versions(&self) -> Versions {
        self.store.versions(&self.addon.name)
    }

    /// Returns the add-on's works for a cluster, sorted by namespace and name.
    pub fn works(&self, cluster: &str) -> impl Iterator<Item = &'s Work> + use<'s> {
        self.store.objects.works_of(&self.addon.name, cluster).iter()
    }

    /// Returns the add-on's instances in order of clusters, each with what stands around it.
    pub fn sites(&self) -> Vec<Site<'s>> {
        let all: Vec<&'s Instance> = self.instances().collect();
        let mut clusters = Finder::new(Some(&self.store.objects.clusters), all.len());
        let mut works = Finder::new(self.store.objects.works.get(&self.addon.name), all.len());
        let site = |instance: &'s Instance| Site {
            instance,
            cluster: clusters.find(&instance.cluster),
            works: works
                .find(&instance.cluster)
                .map(|all| &**all)
                .unwrap_or_default(),
        };
        all.into_iter().map(site).collect()
    }

    /// Returns those clusters of a sorted list that exist, or do not, each with what is known of it.
    pub fn looked_up<'n>(&self, names: &[&'n Name]) -> Vec<(&'n Name, Option<&'s Cluster>)> {
        let mut clusters = Finder::new(Some(&self.store.objects.clusters), names.len());
        names.iter().map(|name| (*name, clusters.find(name))).collect()
    }
}

/// An instance with what stands around it.
#[derive(Debug, Clone, Copy)]
pub struct Site<'s> {
    /// The instance.
    pub instance: &'s Instance,
    /// Its cluster, if it exists.
    pub cluster: Option<&'s Cluster>,
    /// The works for its cluster, sorted by namespace and name.
    pub works: &'s [Work],
}

/// So many times as many entries as names make looking each one up cheaper than going through.
const SPARSE: usize = 8;

/// Finds names that come in order, by going through the map along with them where that is cheaper.
struct Finder<'s, V> {
    map: Option<&'s BTreeMap<Name, V>>,
    ahead: Option<std::iter::Peekable<btree_map::Iter<'s, Name, V>>>,
}

impl<'s, V> Finder<'s, V> {
    fn new(map: Option<&'s BTreeMap<Name, V>>, names: usize) -> Self {
        let is_dense = |map: &&BTreeMap<Name, V>| map.len() <= names.saturating_mul(SPARSE);
        Self {
            map,
            ahead: map.filter(is_dense).map(|map| map.iter().peekable()),
        }
    }

    fn find(&mut self, name: &Name) -> Option<&'s V> {
        let Some(ahead) = &mut self.ahead else {
            return self.map?.get(name);
        };
        loop {
            let (key, value) = ahead.peek()?;
            match order(key, name) {
                Ordering::Less => ahead.next(),
                Ordering::Equal => return Some(value),
                Ordering::Greater => return None,
            };
        }
    }
}
