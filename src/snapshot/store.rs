//! The store: what the tide knows of the hub. One writer applies events; readers take views.
//!
//! Decides which add-ons an event touches. Never awaits, never decides what should change, and lets no malformed object
//! stop the others: it keeps the last good record and remembers the fault.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::changes::Changes;
use super::expect::{Expectations, Expected, Sight, is_met};
use super::index::Mentions;
use super::kind::Owner;
use super::kind::{Kind, ObjectKey};
use super::kinds::Outcome;
use super::mourn::{Features, Retired};
use super::names::{Name, Names};
use super::publish::Published;
use super::record::{
    AddOn, Cluster, Config, ConfigRef, ConfigType, Decision, Instance, Meta, Namespace, Placement, Work,
};
use super::registration::filing::Filed;
use super::registration::grants::Grant;
use super::registration::requests::Request;
use super::registration::roles::HubRole;
use super::removal::budget::Removals;
use super::removal::unread::Unread;
use super::settings::Settings;
use super::sight::{Answer, Sights, TypeFault};
use super::troubles::{Refusals, Troubles};
use super::view::View;

/// Namespace and name.
pub type Place = (Name, Name);
/// The works of one cluster, sorted by namespace and name. Nearly always there is one, for which a map would keep room for many.
pub(super) type Works = Vec<Work>;

/// Something that happened on the hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// An object was created or changed.
    Applied {
        /// Its kind.
        kind: Kind,
        /// The object.
        object: Value,
    },
    /// An object is gone.
    Deleted {
        /// Its kind.
        kind: Kind,
        /// The last state of the object.
        object: Value,
    },
    /// A complete list of a kind: what is not in it is gone.
    Listed {
        /// The kind.
        kind: Kind,
        /// All its objects.
        objects: Vec<Value>,
    },
    /// The hub does not show a kind, as if it had no object of it. What is known of it is forgotten.
    Withheld {
        /// The kind.
        kind: Kind,
    },
    /// What the hub said about a configuration of any kind.
    Answered {
        /// Which one.
        config: ConfigRef,
        /// What it said.
        answer: Answer,
    },
    /// Objects of a configuration type cannot be looked at, or can be again.
    TypeFaulty {
        /// The type.
        of: ConfigType,
        /// Why; absent when all is well.
        fault: Option<TypeFault>,
    },
}

/// Those whose plans an event touches.
pub type Touched = BTreeSet<Owner>;

/// What the tide knows of the hub.
#[derive(Debug, Default)]
pub struct Store {
    pub(super) settings: Settings,
    pub(super) names: Names,
    pub(super) addons: BTreeMap<Name, AddOn>,
    /// In boxes: a map keeps room for more records than it holds.
    pub(super) instances: BTreeMap<Name, BTreeMap<Name, Box<Instance>>>,
    pub(super) works: BTreeMap<Name, BTreeMap<Name, Works>>,
    /// Where each work is filed: add-on and cluster.
    pub(super) work_places: BTreeMap<Place, (Name, Name)>,
    pub(super) clusters: BTreeMap<Name, Cluster>,
    pub(super) namespaces: BTreeMap<Name, Namespace>,
    pub(super) placements: BTreeMap<Place, Placement>,
    pub(super) decisions: BTreeMap<Place, BTreeMap<Name, Decision>>,
    /// The placement under which each decision is filed.
    pub(super) decision_places: BTreeMap<Place, Place>,
    pub(super) configs: BTreeMap<ConfigRef, Config>,
    /// The templates with a version, by the add-on that they are for.
    pub(super) templates: BTreeMap<Name, BTreeSet<Name>>,
    pub(super) by_placement: Mentions<Place, Owner>,
    pub(super) by_config: Mentions<ConfigRef, Owner>,
    pub(super) by_cluster: Mentions<Name, Name>,
    pub(super) placements_by_cluster: Mentions<Name, Place>,
    /// Service accounts, roles and role bindings of the tide's own, by add-on.
    pub(super) grants: Filed<ObjectKey, Grant>,
    /// Certificate signing requests by add-on and name.
    pub(super) requests: Filed<Name, Request>,
    /// Roles that agents may have.
    pub(super) hub_roles: BTreeMap<ObjectKey, HubRole>,
    /// Kinds that the hub does not show.
    pub(super) withheld: BTreeSet<Kind>,
    pub(super) troubles: Troubles,
    pub(super) refusals: Refusals,
    pub(super) published: Published,
    /// Add-ons whose object is gone, while something of theirs remains.
    pub(super) gone: BTreeMap<Name, AddOn>,
    pub(super) features: Features,
    pub(super) retired: Retired,
    pub(super) sights: Sights,
    pub(super) changes: Changes,
    pub(super) removals: Removals,
    /// Reasons for removals that the hub does not show again.
    pub(super) unread: Unread,
    /// Clusters that were seen to go, while something on the hub still stands for them.
    pub(super) departed: BTreeSet<Name>,
    /// Those that have waited for the event at hand: it woke them up, and need not have changed anything.
    woken: Touched,
    expectations: Expectations,
    faults: BTreeMap<ObjectKey, String>,
    pub(super) new_faults: Vec<(ObjectKey, String)>,
}

impl Store {
    /// Returns an empty store.
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Applies an event and returns those whose plan may differ now.
    pub fn apply(&mut self, event: Event) -> Touched {
        let mut touched = Touched::new();
        match event {
            Event::Applied { kind, object } => self.apply_object(kind, &object, &mut touched),
            Event::Deleted { kind, object } => {
                let key = ObjectKey::of(kind, &object);
                self.delete(&key, &mut touched);
            }
            Event::Listed { kind, objects } => {
                self.shown(kind, true, &mut touched);
                self.apply_list(kind, &objects, &mut touched);
            }
            Event::Withheld { kind } => {
                self.shown(kind, false, &mut touched);
                self.apply_list(kind, &[], &mut touched);
            }
            Event::Answered { config, answer } => self.answer(config, answer, &mut touched),
            Event::TypeFaulty { of, fault } => self.type_fault(&of, fault, &mut touched),
        }
        self.changes.close(&touched);
        touched.append(&mut self.woken);
        self.mourn(&touched);
        touched
    }

    fn apply_list(&mut self, kind: Kind, objects: &[Value], touched: &mut Touched) {
        let listed: BTreeSet<ObjectKey> = objects.iter().map(|object| ObjectKey::of(kind, object)).collect();
        for key in self.keys(kind).iter().filter(|key| !listed.contains(*key)) {
            self.delete(key, touched);
        }
        for object in objects {
            self.apply_object(kind, object, touched);
        }
    }

    fn apply_object(&mut self, kind: Kind, object: &Value, touched: &mut Touched) {
        let key = ObjectKey::of(kind, object);
        match (kind.row().apply)(self, &key, object, touched) {
            Ok(outcome) => {
                self.faults.remove(&key);
                if outcome == Outcome::Older {
                    return;
                }
            }
            Err(fault) => {
                if self.faults.insert(key.clone(), fault.clone()).as_ref() != Some(&fault) {
                    self.new_faults.push((key.clone(), fault));
                }
            }
        }
        let seen = self.meta(&key).cloned();
        self.woken
            .extend(self.expectations.settle(&key, seen.as_ref().map(sight)));
    }

    fn delete(&mut self, key: &ObjectKey, touched: &mut Touched) {
        self.faults.remove(key);
        (key.kind.row().unfile)(self, key, touched);
        self.woken.extend(self.expectations.settle(key, None));
    }

    /// Returns the view of one add-on, if the add-on exists or anything of its name is left.
    pub fn view(&self, addon: &str) -> Option<View<'_>> {
        let known = self.addons.get(addon).or_else(|| self.gone.get(addon));
        known.map(|addon| View::new(self, addon))
    }

    /// Returns the names of all add-ons.
    pub fn addons(&self) -> impl Iterator<Item = &Name> {
        self.addons.keys()
    }

    /// Returns the objects that could not be decoded, with the reason.
    pub fn faults(&self) -> &BTreeMap<ObjectKey, String> {
        &self.faults
    }

    /// Takes the faults that were found since the last call.
    pub fn take_new_faults(&mut self) -> Vec<(ObjectKey, String)> {
        std::mem::take(&mut self.new_faults)
    }

    /// Records that nothing must be planned for `owner` until the store has seen the own write of `key`.
    pub fn expect(&mut self, owner: &Owner, key: ObjectKey, expected: Expected) {
        let sight = self.meta(&key).map(sight);
        let met = match (&expected, sight) {
            (Expected::Version(_), None) => false,
            (Expected::Version(_) | Expected::Gone(_), _) => is_met(&expected, sight),
        };
        if !met {
            self.expectations.expect(owner, key, expected);
        }
    }

    /// Returns how many own writes for `owner` the store has yet to see.
    pub fn awaited(&self, owner: &Owner) -> usize {
        self.expectations.open(owner)
    }

    /// Returns the objects of which the store has yet to see an own write for `owner`.
    pub fn awaited_objects(&self, owner: &Owner) -> Vec<ObjectKey> {
        self.expectations.objects(owner)
    }

    /// Gives up waiting for the own writes for `owner`.
    pub fn forget_awaited(&mut self, owner: &Owner) {
        self.expectations.forget(owner);
    }

    /// Returns identity and revision of an object, if the store has it.
    pub fn meta(&self, key: &ObjectKey) -> Option<&Meta> {
        (key.kind.row().meta)(self, key)
    }

    /// Returns the keys of all objects of a kind.
    pub(super) fn keys(&self, kind: Kind) -> Vec<ObjectKey> {
        (kind.row().keys)(self)
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

fn sight(meta: &Meta) -> Sight<'_> {
    Sight {
        uid: &meta.uid,
        version: &meta.version,
        deleting: meta.deleting,
    }
}
