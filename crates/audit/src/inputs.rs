//! What the judgement of one object may rest on, beside the object itself.
//!
//! Decides too much rather than too little: an object that is judged once too often costs a moment, one that is forgotten
//! keeps a wrong report. `tests/pure/audit_footprint.rs` holds it to the rules: facts outside of them change no verdict.

use std::collections::BTreeSet;

use serde_json::Value;

use admission::{Facts, references};
use model::ConfigReference;
use store::{AddonFacts, ConfigPresence, Kind, Name, Names, ObjectKey, config_key};

/// A part of the facts that may count as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All add-ons and their versions.
    AddOns,
    /// The names of all RolloutChecks.
    Checks,
    /// All clusters.
    Clusters,
    /// All configurations.
    Configs,
    /// All placements.
    Placements,
    /// All roles that are labelled for agents.
    Roles,
    /// All settings of rollouts: of add-ons, and of profiles.
    Settings,
}

/// What the judgement of one object may rest on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The add-on: what it says, its versions, where it is installed.
    pub addon: Option<Name>,
    /// The cluster.
    pub cluster: Option<Name>,
    /// Configurations, as the facts file them.
    pub configs: Box<[Name]>,
    /// Placements: namespace and name.
    pub placements: Box<[(Name, Name)]>,
    /// What counts as a whole: where something is absent, a suggestion may come from anywhere.
    pub whole: BTreeSet<Part>,
}

impl Inputs {
    /// Returns what the judgement of an object may rest on.
    pub fn of(key: &ObjectKey, object: &Value, facts: &Facts) -> Self {
        let own = references(object);
        let mut configs: Vec<&ConfigReference> = own.iter().map(|(_, reference)| reference).collect();
        let mut found = Self {
            addon: addon_of(key, object),
            ..Self::default()
        };
        if key.kind == Kind::Instance {
            let addon = facts.addon(&key.name);
            found.cluster = Some(key.namespace.clone());
            found.rests_on(Part::AddOns, addon.is_none());
            found.rests_on(Part::Clusters, !facts.clusters.contains(&key.namespace));
            configs.extend(addon.into_iter().flat_map(inherited));
            let places = addon.into_iter().flat_map(|addon| &addon.placements);
            let places = places.map(|place| (Name::from(&*place.namespace), Name::from(&*place.name)));
            found.placements = places.collect::<BTreeSet<_>>().into_iter().collect();
        } else if key.kind == Kind::AddOn {
            // On whom those depend that it depends on.
            found.rests_on(Part::Settings, mentions(object, "dependencies"));
            let strategy = object.pointer("/spec/installStrategy");
            let selects = strategy.is_some_and(|strategy| strategy.get("labelSelector").is_some());
            found.rests_on(Part::Clusters, selects);
            found.placements = named(strategy, "placements");
            let absent = |(namespace, name): &(Name, Name)| facts.placement(namespace, name).is_none();
            let any = found.placements.iter().any(absent);
            // Whether another add-on deploys the same object on the same clusters.
            let deploys = facts.versions(&key.name).is_some() || mentions(object, "addontemplates");
            found.rests_on(Part::AddOns, deploys || mentions(object, "dependencies"));
            found.rests_on(Part::Configs, deploys);
            found.rests_on(
                Part::Placements,
                any || deploys || mentions(object, "rollingUpdateWithPlacement"),
            );
        } else if key.kind == Kind::Template {
            found.rests_on(Part::Configs, true);
            found.rests_on(Part::AddOns, true);
            found.rests_on(Part::Placements, true);
            let asks = mentions(object, "hubPermissions");
            found.rests_on(Part::Roles, asks);
            // Whether a namespace is that of a cluster.
            found.rests_on(Part::Clusters, asks && mentions(object, "singleNamespace"));
        } else if key.kind == Kind::HubConfig {
            found.rests_on(Part::AddOns, true);
        } else if key.kind == Kind::Upgrade {
            // Which clusters it selects, their labels and their versions.
            found.rests_on(Part::Clusters, true);
            found.placements = named(object.get("spec"), "placement");
            let absent = |(namespace, name): &(Name, Name)| facts.placement(namespace, name).is_none();
            let any = found.placements.iter().any(absent);
            found.rests_on(Part::Placements, any);
            found.rests_on(Part::Settings, mentions(object, "profile"));
            found.rests_on(Part::Checks, mentions(object, "checks"));
        } else if key.kind == Kind::Freeze {
            // Whether its add-ons exist.
            found.rests_on(Part::AddOns, true);
        } else if key.kind == Kind::Rollout {
            // Whether its add-on has the placements, and on whom those depend that it depends on.
            found.rests_on(Part::AddOns, true);
            found.rests_on(Part::Placements, mentions(object, "approvalBefore"));
            found.rests_on(Part::Settings, true);
            found.rests_on(Part::Checks, mentions(object, "checks"));
        } else if key.kind == Kind::Profile {
            // Whether another one is the default.
            found.rests_on(Part::Settings, true);
            found.rests_on(Part::Checks, mentions(object, "checks"));
        } else if key.kind != Kind::DeploymentConfig && key.kind != Kind::Check {
            // Objects of the other kinds are not judged.
            return Self::default();
        }
        let lost =
            |reference: &&ConfigReference| !matches!(facts.config(reference), ConfigPresence::Exists(_));
        found.rests_on(Part::Configs, configs.iter().any(lost));
        let keys: BTreeSet<Name> = configs.into_iter().map(filed).collect();
        found.configs = keys.into_iter().collect();
        found
    }

    /// Returns the inputs with the names that others hold too: thousands of instances rest on the same things.
    pub(super) fn shared(self, names: &mut Names) -> Self {
        let places = self.placements.iter();
        Self {
            addon: self.addon.map(|name| names.share(&name)),
            cluster: self.cluster.map(|name| names.share(&name)),
            configs: self.configs.iter().map(|name| names.share(name)).collect(),
            placements: places
                .map(|(namespace, name)| (names.share(namespace), names.share(name)))
                .collect(),
            whole: self.whole,
        }
    }

    fn rests_on(&mut self, part: Part, does: bool) {
        self.whole.extend(does.then_some(part));
    }
}

fn addon_of(key: &ObjectKey, object: &Value) -> Option<Name> {
    if matches!(key.kind, Kind::AddOn | Kind::Instance) {
        return Some(key.name.clone());
    }
    let named = object.pointer("/spec/addonName").and_then(Value::as_str);
    named.map(Name::from)
}

/// Returns the configurations that an instance may get from its add-on.
fn inherited(addon: &AddonFacts) -> impl Iterator<Item = &ConfigReference> {
    let placed = addon.placements.iter();
    let placed = placed.flat_map(|place| place.configs.iter().chain(&place.template.configs));
    addon.defaults.iter().chain(placed)
}

fn filed(reference: &ConfigReference) -> Name {
    let of = reference.config();
    let namespace = reference.namespace().unwrap_or_default();
    Name::from(config_key(of.group(), of.resource(), namespace, reference.name()))
}

/// Tells whether a word stands anywhere in the spec. There are few add-ons, and a strategy may stand in several places.
fn mentions(object: &Value, word: &str) -> bool {
    object
        .get("spec")
        .is_some_and(|spec| spec.to_string().contains(word))
}

fn named(parent: Option<&Value>, field: &str) -> Box<[(Name, Name)]> {
    let places = parent.and_then(|parent| parent.get(field)?.as_array());
    let place = |place: &Value| {
        let text = |name: &str| place.get(name).and_then(Value::as_str).unwrap_or_default();
        (Name::from(text("namespace")), Name::from(text("name")))
    };
    let places: BTreeSet<(Name, Name)> = places.into_iter().flatten().map(place).collect();
    places.into_iter().collect()
}
