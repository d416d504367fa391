//! Which clusters an edit affects.
//!
//! Uses the specs of add-ons and the current clusters, in the levels of the planner: default, placement, cluster, each for a whole
//! type of configuration, and the template of a version. Clusters of a placement without a complete PlacementDecision count as not
//! affected. `wave` returns how many clusters are updated at once, and `standstill` which clusters cannot be updated.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::rules::standstill::Still;
use crate::step_budget::StepBudget;
use api::names::RESERVED_NO_DEFAULT;
use model::{AddonVersion, ConfigReference, ConfigType, RawReference};
use store::{
    AddonFacts, AddonPlacement, ConfigPresence, ConfigRef, Facts, Kind, Name, PeerFacts, PeerInstance,
    PlacementFacts, config_key,
};

/// Index of the placement that configures a cluster; `None` for clusters without a placement.
pub(super) type Home = Option<usize>;
type ByType<'a> = BTreeMap<&'a ConfigType, Vec<&'a ConfigReference>>;

/// The part of an add-on that a cluster has a configuration from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Source {
    /// `configs` of a placement.
    Placement(usize),
    /// The version in the template of a placement.
    Version(usize),
    /// The cluster is configured by another placement than before.
    Placements,
    /// `spec.configuration`.
    Configuration,
    /// `spec.supportedConfigs`.
    Supported,
    /// `spec.configs` of the ManagedClusterAddOn.
    Own,
}

/// A cluster that an edit updates.
pub(super) struct Mover<'a> {
    pub(super) cluster: &'a Name,
    pub(super) home: Home,
    pub(super) source: Source,
}

/// An add-on with its current clusters.
pub(super) struct Reach<'a> {
    pub(super) says: &'a AddonFacts,
    pub(super) peers: &'a PeerFacts,
    pub(super) facts: &'a Facts,
    pub(super) effort: &'a StepBudget<'a>,
    pub(super) name: &'a str,
    defaults: ByType<'a>,
    /// Computed on first use, because most objects do not concern most add-ons.
    homes: OnceCell<BTreeMap<&'a Name, usize>>,
    pub(super) versions: BTreeMap<AddonVersion, &'a str>,
    preset: Option<AddonVersion>,
}

impl<'a> Reach<'a> {
    /// Returns an add-on with its spec, before or after an edit; `None` while no cluster has it.
    pub(super) fn of(
        facts: &'a Facts,
        name: &'a str,
        says: &'a AddonFacts,
        effort: &'a StepBudget<'a>,
    ) -> Option<Self> {
        let peers = facts.peers(name)?;
        let mut versions = BTreeMap::new();
        let known = facts.versions(name);
        for (text, template) in known
            .into_iter()
            .flat_map(|all| all.supported.iter().zip(&all.templates))
        {
            if let (true, Ok(version)) = (effort.spend(1), AddonVersion::parse(text)) {
                versions.insert(version, &**template);
            }
        }
        let preset = known.and_then(|all| AddonVersion::parse(all.default.as_deref()?).ok());
        Some(Self {
            defaults: by_type(&says.defaults, effort),
            homes: OnceCell::new(),
            says,
            peers,
            facts,
            effort,
            name,
            versions,
            preset,
        })
    }

    fn home(&self, cluster: &Name) -> Home {
        let homes = self
            .homes
            .get_or_init(|| homes(self.facts, self.says, self.effort));
        homes.get(cluster).copied()
    }

    /// Returns the clusters that have the add-on; each one costs a step.
    pub(super) fn clusters(&self) -> impl Iterator<Item = (&'a Name, Home, &'a PeerInstance)> + '_ {
        let paid = self.peers.instances.iter().take_while(|_| self.effort.spend(1));
        paid.map(|(cluster, peer)| (cluster, self.home(cluster), &**peer))
    }

    pub(super) fn placement(&self, home: Home) -> Option<&'a AddonPlacement> {
        self.says.placements.get(home?)
    }

    /// Returns the configurations of a type that clusters inherit, and their source.
    fn inherited(&self, home: Home, of: &ConfigType) -> (Source, Vec<&'a ConfigReference>) {
        let placed = self
            .placement(home)
            .into_iter()
            .flat_map(|placement| &placement.configs);
        let placed: Vec<&ConfigReference> = placed
            .take_while(|_| self.effort.spend(1))
            .filter(|reference| reference.config() == of)
            .collect();
        if let (Some(index), false) = (home, placed.is_empty()) {
            let below = self.defaults.get(of).cloned().unwrap_or_default();
            let placed = if self.keeps_below(of, placed.iter().map(|one| one.name())) {
                [placed, below].concat()
            } else {
                placed
            };
            return (Source::Placement(index), objects(placed));
        }
        let source = if self.says.configured.contains(of) {
            Source::Configuration
        } else {
            Source::Supported
        };
        let defaults = self.defaults.get(of).cloned().unwrap_or_default();
        (source, objects(defaults))
    }

    /// Returns the configurations in the ManagedClusterAddOn, without those of protected types.
    pub(super) fn own<'p>(&self, peer: &'p PeerInstance) -> impl Iterator<Item = &'p ConfigRef> {
        let protects = |one: &&ConfigRef| self.says.protects(&one.of.group, &one.of.resource);
        let own = peer.configs.iter().take_while(|_| self.effort.spend(1));
        own.filter(move |one| !protects(one))
    }

    fn overrides(&self, peer: &PeerInstance, of: &ConfigType) -> bool {
        self.own(peer).any(|one| is_of(one, of))
    }

    /// Returns whether the AddOnDeploymentConfigs of all levels are merged.
    pub(super) fn merges(&self) -> bool {
        self.says.merges
    }

    /// Returns whether the configurations of lower levels still apply beside those of a level with these names.
    fn keeps_below<'n>(&self, of: &ConfigType, mut names: impl Iterator<Item = &'n str>) -> bool {
        self.says.merges
            && is_kind(of, Kind::DeploymentConfig)
            && names.all(|name| name != RESERVED_NO_DEFAULT)
    }

    /// Returns whether a cluster ignores the configurations of a type that it would inherit.
    fn hides(&self, peer: &PeerInstance, of: &ConfigType) -> bool {
        let own = || self.own(peer).filter(|one| is_of(one, of)).map(|one| &*one.name);
        self.overrides(peer, of) && !self.keeps_below(of, own())
    }

    /// Returns the configurations of a type that a cluster uses, and their source.
    pub(super) fn effective(
        &self,
        home: Home,
        peer: &PeerInstance,
        of: &ConfigType,
    ) -> (Source, Vec<ConfigReference>) {
        if self.overrides(peer, of) {
            let own = self.own(peer).filter(|one| is_of(one, of)).filter_map(read);
            let own = own.filter(|one| one.name() != RESERVED_NO_DEFAULT);
            let mut all: Vec<ConfigReference> = own.collect();
            if !self.hides(peer, of) {
                let (_, inherited) = self.inherited(home, of);
                all.extend(inherited.into_iter().cloned());
            }
            return (Source::Own, all);
        }
        let (source, inherited) = self.inherited(home, of);
        (source, inherited.into_iter().cloned().collect())
    }

    /// Returns the source of a configuration for a cluster, if the cluster uses it.
    pub(super) fn uses(&self, home: Home, peer: &PeerInstance, config: &ConfigReference) -> Option<Source> {
        let (source, all) = self.effective(home, peer, config.config());
        if all.contains(config) {
            return Some(source);
        }
        let by_version = is_kind(config.config(), Kind::Template) && all.is_empty();
        let chosen = by_version.then(|| self.chosen(home, peer)).flatten();
        (chosen? == config.name()).then(|| home.map_or(Source::Supported, Source::Version))
    }

    /// Returns the clusters that use a configuration.
    pub(super) fn users(&self, config: &ConfigReference) -> Vec<Mover<'a>> {
        if !self.mentions(config) {
            return Vec::new();
        }
        // Clusters without their own configurations inherit the same ones.
        let mut alike = BTreeMap::new();
        let each = self.clusters().filter_map(|(cluster, home, peer)| {
            let source = match alike_by(home, peer) {
                Some(key) => *alike.entry(key).or_insert_with(|| self.uses(home, peer, config)),
                None => self.uses(home, peer, config),
            };
            source.map(|source| Mover {
                cluster,
                home,
                source,
            })
        });
        each.collect()
    }

    /// Returns whether any cluster can use a configuration.
    fn mentions(&self, config: &ConfigReference) -> bool {
        let of = config.config();
        let key = config_key(
            of.group(),
            of.resource(),
            config.namespace().unwrap_or_default(),
            config.name(),
        );
        let is_offered =
            || is_kind(of, Kind::Template) && self.versions.values().any(|name| *name == config.name());
        let placed = || {
            self.says
                .placements
                .iter()
                .flat_map(|placement| &placement.configs)
        };
        self.peers.own_configs.contains(&key)
            || is_offered()
            || self.says.defaults.contains(config)
            || placed()
                .take_while(|_| self.effort.spend(1))
                .any(|one| one == config)
    }

    /// Returns the name of the template that a cluster uses.
    pub(super) fn template(&self, home: Home, peer: &PeerInstance) -> Option<String> {
        let (_, named) = self.effective(home, peer, &type_of(Kind::Template));
        let named = named.first().map(|one| one.name().to_owned());
        named.or_else(|| self.chosen(home, peer).map(str::to_owned))
    }

    /// Returns the template of the version of a cluster without a template reference.
    pub(super) fn chosen(&self, home: Home, peer: &PeerInstance) -> Option<&'a str> {
        // A label on a template does not make Tidegate deploy an add-on that another program deploys.
        if peer.version.is_empty() && !self.lists_templates() {
            return None;
        }
        let version = match self.asked(home, peer) {
            Some(text) => AddonVersion::parse(&text).ok()?,
            None => self.preset.clone()?,
        };
        self.versions
            .get(&version)
            .copied()
            .filter(|name| !name.is_empty())
    }

    /// Returns whether a cluster gets the default version.
    pub(super) fn follows_the_default(&self, home: Home, peer: &PeerInstance) -> bool {
        let is_ours = !peer.version.is_empty() || self.lists_templates();
        let (_, named) = self.effective(home, peer, &type_of(Kind::Template));
        is_ours && named.is_empty() && self.asked(home, peer).is_none()
    }

    pub(super) fn lists_templates(&self) -> bool {
        self.says.supported.contains(&type_of(Kind::Template))
    }

    /// Returns the version that a cluster requires: its own or that of its placement, or else that of an AddOnHubConfig.
    pub(super) fn asked(&self, home: Home, peer: &PeerInstance) -> Option<String> {
        let given = self
            .placement(home)
            .map(|placement| placement.template.desired_version.clone());
        let own = Some(peer.desired_version.to_string()).filter(|text| !text.is_empty());
        let asked = match given {
            Some(given) if peer.is_given || self.says.protects_version() => given,
            None if self.says.protects_version() => None,
            Some(_) | None => own,
        };
        asked.or_else(|| {
            let (_, all) = self.effective(home, peer, &type_of(Kind::HubConfig));
            all.iter().find_map(|one| match self.facts.config(one) {
                ConfigPresence::Exists(found) => found.version.map(|version| version.to_string()),
                ConfigPresence::Absent(_) | ConfigPresence::Unknown => None,
            })
        })
    }

    /// Returns the clusters that an edit from `self` to `new` updates.
    pub(super) fn moved_by(&self, new: &Self) -> Vec<Mover<'a>> {
        let mut known: BTreeMap<(Home, Home), Vec<(&ConfigType, Source)>> = BTreeMap::new();
        let mut movers = Vec::new();
        let mut still = Still::new(new);
        for (cluster, home, peer) in new.clusters() {
            let was = self.home(cluster);
            let changed = known
                .entry((was, home))
                .or_insert_with(|| self.changed(was, new, home));
            let mut changed = changed.iter().take_while(|_| self.effort.spend(1));
            let source = changed
                .find(|(of, _)| !new.hides(peer, of))
                .map(|(_, source)| *source)
                .or_else(|| self.changed_version(was, new, home, peer));
            let source = source.filter(|_| !still.stands(home, peer));
            movers.extend(source.map(|source| Mover {
                cluster,
                home,
                source,
            }));
        }
        movers
    }

    /// Returns the types of which clusters inherit other configurations than before, and the source of the change.
    fn changed(&self, was: Home, new: &Self, home: Home) -> Vec<(&'a ConfigType, Source)> {
        let placed = |standing: &Self, home: Home| {
            let placement = standing.placement(home).into_iter();
            let configs = placement.flat_map(|placement| &placement.configs);
            by_type(configs, self.effort)
        };
        let (old_placed, new_placed) = (placed(self, was), placed(new, home));
        let mut types: Vec<&ConfigType> = old_placed.keys().chain(new_placed.keys()).copied().collect();
        types.extend(self.defaults.keys().chain(new.defaults.keys()));
        types.sort_unstable();
        types.dedup();
        let paid = types.into_iter().take_while(|_| self.effort.spend(1));
        let place = |standing: &Self, home: Home| {
            let found = standing.placement(home);
            found.map(|found| (found.namespace.clone(), found.name.clone()))
        };
        let other_placement = place(self, was) != place(new, home);
        let differing = paid.filter_map(|of| {
            let (_, before) = self.inherited(was, of);
            let (_, after) = new.inherited(home, of);
            let arrives = new.arrives(of, &after);
            // Configurations of a type that was not supported were never deployed.
            let is_same = before == after && (before.is_empty() || self.arrives(of, &before) == arrives);
            if is_same || !(arrives || after.is_empty() && self.arrives(of, &before)) {
                return None;
            }
            let is_placed = old_placed.contains_key(of) || new_placed.contains_key(of);
            let is_configured = self.says.configured.contains(of) || new.says.configured.contains(of);
            Some((
                of,
                match (is_placed, home) {
                    (true, _) if other_placement => Source::Placements,
                    (true, Some(index)) => Source::Placement(index),
                    (true | false, _) if is_configured => Source::Configuration,
                    (true | false, _) => Source::Supported,
                },
            ))
        });
        differing.collect()
    }

    /// A cluster follows the version in the template of a placement only if no user has set another version.
    fn changed_version(&self, was: Home, new: &Self, home: Home, peer: &PeerInstance) -> Option<Source> {
        let version = |standing: &Self, home: Home| {
            let found = standing.placement(home)?;
            found.template.desired_version.clone()
        };
        if version(self, was) == version(new, home)
            || self.chosen_template(was, peer) == new.chosen_template(home, peer)
        {
            return None;
        }
        Some(home.map_or(Source::Placements, Source::Version))
    }

    fn chosen_template(&self, home: Home, peer: &PeerInstance) -> Option<&'a str> {
        let (_, named) = self.effective(home, peer, &type_of(Kind::Template));
        named.is_empty().then(|| self.chosen(home, peer)).flatten()
    }
}

/// Returns the facts about a placement that exists and has a complete PlacementDecision.
pub(super) fn known<'f>(facts: &'f Facts, (namespace, name): (&str, &str)) -> Option<&'f PlacementFacts> {
    let found = facts.placement(namespace, name)?;
    (found.exists && found.decided).then_some(found)
}

/// Returns the reference to an object.
pub(super) fn reference_to(kind: Kind, namespace: &str, name: &str) -> Option<ConfigReference> {
    let address = kind.address();
    ConfigReference::read(RawReference {
        group: Some(address.group),
        resource: Some(address.resource),
        namespace: address.namespaced.then_some(namespace),
        name: Some(name),
    })
}

/// Returns the type of a kind.
pub(super) fn type_of(kind: Kind) -> ConfigType {
    let address = kind.address();
    ConfigType::parse(address.group, address.resource).expect("kinds of the store have plural names")
}

pub(super) fn is_kind(of: &ConfigType, kind: Kind) -> bool {
    Kind::of_config(of.group(), of.resource()) == Some(kind)
}

/// Returns the placement of each cluster: the last one that selects it.
fn homes<'a>(facts: &'a Facts, says: &AddonFacts, effort: &StepBudget<'_>) -> BTreeMap<&'a Name, usize> {
    let mut homes = BTreeMap::new();
    let mut seen = std::collections::BTreeSet::new();
    for (index, placement) in says.placements.iter().enumerate().rev() {
        let place = (placement.namespace.as_str(), placement.name.as_str());
        if !effort.spend(1) || !seen.insert(place) {
            continue;
        }
        let clusters = known(facts, place)
            .into_iter()
            .flat_map(|found| found.clusters.iter());
        for cluster in clusters.take_while(|_| effort.spend(1)) {
            homes.entry(cluster).or_insert(index);
        }
    }
    homes
}

fn by_type<'a>(all: impl IntoIterator<Item = &'a ConfigReference>, effort: &StepBudget<'_>) -> ByType<'a> {
    let mut types = ByType::new();
    for reference in all.into_iter().take_while(|_| effort.spend(1)) {
        types.entry(reference.config()).or_default().push(reference);
    }
    types
}

/// Removes the reserved name, which turns off inherited configurations and names no object.
fn objects(all: Vec<&ConfigReference>) -> Vec<&ConfigReference> {
    all.into_iter()
        .filter(|one| one.name() != RESERVED_NO_DEFAULT)
        .collect()
}

/// Returns the key of clusters that have the same configurations; `None` if a cluster has its own configurations.
pub(super) fn alike_by(home: Home, peer: &PeerInstance) -> Option<(Home, &Name, bool, bool)> {
    let is_silent = peer.configs.is_empty();
    is_silent.then(|| {
        (
            home,
            &peer.desired_version,
            peer.is_given,
            peer.version.is_empty(),
        )
    })
}

fn is_of(one: &ConfigRef, of: &ConfigType) -> bool {
    *one.of.group == *of.group() && *one.of.resource == *of.resource()
}

fn read(one: &ConfigRef) -> Option<ConfigReference> {
    ConfigReference::read(RawReference {
        group: Some(&one.of.group),
        resource: Some(&one.of.resource),
        namespace: Some(&one.namespace),
        name: Some(&one.name),
    })
}

/// Returns the add-ons that clusters have, because only these can use an object.
pub(super) fn concerned<'a>(
    facts: &'a Facts,
    effort: &'a StepBudget<'a>,
) -> impl Iterator<Item = (&'a Name, Reach<'a>)> {
    let paid = facts.addons.iter().take_while(|_| effort.spend(1));
    paid.filter_map(move |(name, says)| Some((name, Reach::of(facts, name, says, effort)?)))
}
