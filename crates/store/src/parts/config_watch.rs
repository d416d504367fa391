//! Configurations of any kind: which references must be looked at, and what the hub shows of them.
//!
//! Keeps identity, revision and hash of objects that a spec refers to, and of no others; never keeps content, so that a Secret
//! passes through and leaves nothing but its hash. Never asks the hub: the controllers do, and tell the answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::mentions::Mentioned;
use crate::kind::Kind;
use crate::record::{ConfigRef, ConfigType};
use crate::terms;
use api::hash::SpecHash;
use model::Name;
use model::{MOST_CONFIG_TYPES, off_limits};

/// How many earlier hashes of an object are remembered.
const EARLIER: usize = 8;

/// What the hub shows of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedConfig {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
    /// `metadata.generation`; 0 for kinds that count none.
    pub generation: i64,
    /// Hash of its content.
    pub hash: Name,
}

impl ObservedConfig {
    /// Reads an object as the hub serves it, and leaves its content behind.
    pub fn of(object: &Value) -> Self {
        let text = |pointer: &str| Name::from(object.pointer(pointer).and_then(Value::as_str).unwrap_or(""));
        let generation = object.pointer("/metadata/generation").and_then(Value::as_i64);
        Self {
            uid: text("/metadata/uid"),
            version: text("/metadata/resourceVersion"),
            generation: generation.unwrap_or_default(),
            hash: SpecHash::of(object).to_string().into(),
        }
    }
}

/// Why a reference leads to no object.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Absence {
    /// There is no object of that name.
    Missing,
    /// The kind lives in namespaces and the reference names none.
    NeedsNamespace,
    /// The kind lives in no namespace and the reference names one.
    HasNoNamespace,
}

/// What the hub said about one reference.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ConfigLookup {
    /// The object.
    Exists(ObservedConfig),
    /// No object, and why.
    Absent(Absence),
}

/// Why no object of a type can be looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TypeFault {
    /// The hub does not let this program read the type.
    Forbidden {
        /// The verb that was refused.
        verb: &'static str,
    },
    /// The hub serves no such type.
    NotServed,
    /// Objects of this type are never configurations.
    OffLimits,
    /// Every object that refers to it refers to more types than are looked at.
    TooMany,
}

/// What is known of one reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConfigState<'s> {
    /// The object is there.
    Exists {
        /// Hash of its content.
        hash: &'s Name,
        /// Its generation.
        generation: i64,
    },
    /// There is no object.
    Absent(Absence),
    /// The hub has not answered yet.
    Unanswered,
    /// Objects of this type cannot be looked at.
    Faulty(TypeFault),
}

/// References that must be looked at from now on, and those that need not be any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ConfigWatchList {
    /// To be looked at, and told about whenever they change.
    pub begin: Vec<ConfigRef>,
    /// No object refers to them any more.
    pub end: Vec<ConfigRef>,
}

/// What is known of configurations whose kinds the store does not know by name.
#[derive(Debug, Default)]
pub(crate) struct ConfigWatch {
    /// References that the controllers were asked to look at.
    pub(crate) wanted: BTreeSet<ConfigRef>,
    /// Those of them about which the hub has not answered.
    pub(crate) open: BTreeSet<ConfigRef>,
    pub(crate) answers: BTreeMap<ConfigRef, ConfigLookup>,
    pub(crate) faults: BTreeMap<ConfigType, TypeFault>,
    /// References that began or ceased to be mentioned since the last watch_list.
    pub(crate) unsettled: BTreeSet<ConfigRef>,
    /// References beyond the types that one object may refer to, and by how many objects.
    pub(crate) beyond: BTreeMap<ConfigRef, usize>,
    /// Hashes that an object had before, of kinds known by name as well; the oldest goes first.
    pub(crate) earlier: BTreeMap<ConfigRef, VecDeque<Name>>,
}

impl ConfigWatch {
    /// Notes that a reference is mentioned one time more or less.
    pub(crate) fn mention(&mut self, config: &ConfigRef) {
        let is_known = Kind::of_config(&config.of.group, &config.of.resource).is_some();
        let is_whole = !config.of.resource.is_empty() && !config.name.is_empty();
        let is_barred = off_limits(&config.of.group, &config.of.resource).is_some();
        if !is_known && is_whole && !is_barred && *config.name != *terms::NO_DEFAULT {
            self.unsettled.insert(config.clone());
        }
    }

    /// Notes that an object mentions references, or ceases to: so many types are looked at, in their order, and no more.
    pub(crate) fn mention_all<'c>(&mut self, all: impl Iterator<Item = &'c ConfigRef>, mentioned: Mentioned) {
        let mut types = BTreeSet::new();
        let mut references = BTreeSet::new();
        for config in all {
            types.insert(&config.of);
            references.insert(config);
        }
        let first: BTreeSet<&ConfigType> = types.into_iter().take(MOST_CONFIG_TYPES).collect();
        for config in references {
            if first.contains(&config.of) {
                self.mention(config);
                continue;
            }
            let count = self.beyond.entry(config.clone()).or_default();
            *count = match mentioned {
                Mentioned::Now => count.saturating_add(1),
                Mentioned::NoMore => count.saturating_sub(1),
            };
            if *count == 0 {
                self.beyond.remove(config);
                self.mention(config);
            }
        }
    }

    /// Remembers the hash that an object had until now.
    pub(crate) fn replaced(&mut self, config: &ConfigRef, old: Option<&Name>, new: &Name) {
        let Some(old) = old.filter(|old| *old != new) else {
            return;
        };
        let earlier = self.earlier.entry(config.clone()).or_default();
        earlier.retain(|hash| hash != old && hash != new);
        earlier.push_back(old.clone());
        if earlier.len() > EARLIER {
            earlier.pop_front();
        }
    }

    /// Forgets what an object was.
    pub(crate) fn gone(&mut self, config: &ConfigRef) {
        self.earlier.remove(config);
    }

    pub(crate) fn forget(&mut self, config: &ConfigRef) {
        self.wanted.remove(config);
        self.open.remove(config);
        self.answers.remove(config);
        self.gone(config);
        if self.of_type(&config.of).next().is_none() {
            self.faults.remove(&config.of);
        }
    }

    pub(crate) fn of_type(&self, of: &ConfigType) -> impl Iterator<Item = &ConfigRef> {
        let first = ConfigRef {
            of: of.clone(),
            namespace: Name::from(""),
            name: Name::from(""),
        };
        let of = of.clone();
        self.wanted
            .range(first..)
            .take_while(move |config| config.of == of)
    }
}
/// Returns why a reference leads to no object, by the scope of its kind.
pub fn absence(config: &ConfigRef, namespaced: bool) -> Absence {
    match (namespaced, config.namespace.is_empty()) {
        (true, true) => Absence::NeedsNamespace,
        (false, false) => Absence::HasNoNamespace,
        (true, false) | (false, true) => Absence::Missing,
    }
}
