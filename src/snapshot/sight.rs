//! Configurations of any kind: which references somebody must look at, and what the hub shows of them.
//!
//! Keeps identity, revision and hash of objects that a spec refers to, and of no others; never keeps content, so that a
//! Secret passes through and leaves nothing but its hash. Never asks the hub: the controllers do, and tell the answer.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::Value;

use super::index::Mentioned;
use super::kind::Kind;
use super::kind::Owner;
use super::names::Name;
use super::record::{ConfigRef, ConfigType};
use super::store::{Store, Touched};
use super::terms;
use super::view::View;
use crate::hash::SpecHash;
use crate::model::{MOST_CONFIG_TYPES, off_limits};

/// How many earlier hashes of an object are remembered.
const EARLIER: usize = 8;

/// What the hub shows of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seen {
    /// `metadata.uid`
    pub uid: Name,
    /// `metadata.resourceVersion`
    pub version: Name,
    /// `metadata.generation`; 0 for kinds that count none.
    pub generation: i64,
    /// Hash of its content.
    pub hash: Name,
}

impl Seen {
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
pub enum Answer {
    /// The object.
    Exists(Seen),
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
    /// Whoever refers to it refers to more types than are looked at.
    TooMany,
}

/// What is known of one reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sight<'s> {
    /// The object is there.
    Exists {
        /// Hash of its content.
        hash: &'s Name,
        /// Its generation.
        generation: i64,
    },
    /// There is no object.
    Absent(Absence),
    /// Nobody has answered yet.
    Unanswered,
    /// Objects of this type cannot be looked at.
    Faulty(TypeFault),
}

/// References that must be looked at from now on, and those that need not be any more.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Lookout {
    /// To be looked at, and told about whenever they change.
    pub begin: Vec<ConfigRef>,
    /// Nobody refers to them any more.
    pub end: Vec<ConfigRef>,
}

/// What is known of configurations whose kinds the store does not know by name.
#[derive(Debug, Default)]
pub(super) struct Sights {
    /// References that the controllers were asked to look at.
    wanted: BTreeSet<ConfigRef>,
    /// Those of them that nobody has answered.
    open: BTreeSet<ConfigRef>,
    answers: BTreeMap<ConfigRef, Answer>,
    faults: BTreeMap<ConfigType, TypeFault>,
    /// References that began or ceased to be mentioned since the last lookout.
    unsettled: BTreeSet<ConfigRef>,
    /// References beyond the types that one object may refer to, and by how many objects.
    beyond: BTreeMap<ConfigRef, usize>,
    /// Hashes that an object had before, of kinds known by name as well; the oldest goes first.
    earlier: BTreeMap<ConfigRef, VecDeque<Name>>,
}

impl Sights {
    /// Notes that a reference is mentioned once more or once less.
    pub(super) fn mention(&mut self, config: &ConfigRef) {
        let is_known = Kind::of_config(&config.of.group, &config.of.resource).is_some();
        let is_whole = !config.of.resource.is_empty() && !config.name.is_empty();
        let is_barred = off_limits(&config.of.group, &config.of.resource).is_some();
        if !is_known && is_whole && !is_barred && *config.name != *terms::NO_DEFAULT {
            self.unsettled.insert(config.clone());
        }
    }

    /// Notes that an object mentions references, or ceases to: so many types are looked at, in their order, and no more.
    pub(super) fn mention_all<'c>(&mut self, all: impl Iterator<Item = &'c ConfigRef>, mentioned: Mentioned) {
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
    pub(super) fn replaced(&mut self, config: &ConfigRef, old: Option<&Name>, new: &Name) {
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
    pub(super) fn gone(&mut self, config: &ConfigRef) {
        self.earlier.remove(config);
    }

    fn forget(&mut self, config: &ConfigRef) {
        self.wanted.remove(config);
        self.open.remove(config);
        self.answers.remove(config);
        self.gone(config);
        if self.of_type(&config.of).next().is_none() {
            self.faults.remove(&config.of);
        }
    }

    fn of_type(&self, of: &ConfigType) -> impl Iterator<Item = &ConfigRef> {
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

impl Store {
    /// Returns which references must be looked at from now on and which no more, if that has changed since the last call.
    pub fn take_lookout(&mut self) -> Option<Lookout> {
        let mut lookout = Lookout::default();
        for config in std::mem::take(&mut self.sights.unsettled) {
            let mentioned = self.by_config.of(&config).next().is_some();
            match (mentioned, self.sights.wanted.contains(&config)) {
                (true, false) => {
                    self.sights.wanted.insert(config.clone());
                    self.sights.open.insert(config.clone());
                    lookout.begin.push(config);
                }
                (false, true) => {
                    self.sights.forget(&config);
                    self.published.config_changed(&config);
                    lookout.end.push(config);
                }
                (true, true) | (false, false) => {}
            }
        }
        (lookout != Lookout::default()).then_some(lookout)
    }

    /// Returns whether an owner refers to a configuration that nobody has answered for yet.
    pub fn is_unanswered(&self, owner: &Owner) -> bool {
        let open = self.sights.open.iter();
        open.filter(|config| !self.sights.faults.contains_key(&config.of))
            .any(|config| self.by_config.of(config).any(|one| one == owner))
    }

    /// Takes in what the hub said about a reference; what nobody asked for is not kept.
    pub(super) fn answer(&mut self, config: ConfigRef, answer: Answer, touched: &mut Touched) {
        if !self.sights.wanted.contains(&config) {
            return;
        }
        self.sights.open.remove(&config);
        let old = self.sights.answers.get(&config);
        let tells = |answer: &Answer| match answer {
            Answer::Exists(seen) => Ok((seen.hash.clone(), seen.generation)),
            Answer::Absent(why) => Err(*why),
        };
        if old.map(tells) != Some(tells(&answer)) {
            self.published.config_changed(&config);
            touched.extend(self.by_config.of(&config).cloned());
        }
        let before = match old {
            Some(Answer::Exists(seen)) => Some(seen.hash.clone()),
            Some(Answer::Absent(_)) | None => None,
        };
        match &answer {
            Answer::Exists(seen) => self.sights.replaced(&config, before.as_ref(), &seen.hash),
            Answer::Absent(_) => self.sights.gone(&config),
        }
        self.sights.answers.insert(config, answer);
    }

    /// Takes in that a type cannot be looked at, or can be again.
    pub(super) fn type_fault(&mut self, of: &ConfigType, fault: Option<TypeFault>, touched: &mut Touched) {
        if self.sights.of_type(of).next().is_none() || self.sights.faults.get(of) == fault.as_ref() {
            return;
        }
        match fault {
            Some(fault) => self.sights.faults.insert(of.clone(), fault),
            None => self.sights.faults.remove(of),
        };
        for config in self.sights.of_type(of) {
            self.published.config_changed(config);
            touched.extend(self.by_config.of(config).cloned());
        }
    }

    /// Returns what is known of a reference, whatever its kind is.
    pub(super) fn sight(&self, config: &ConfigRef) -> Sight<'_> {
        if let Some(kind) = Kind::of_config(&config.of.group, &config.of.resource) {
            return match self.config(config) {
                Some(found) => Sight::Exists {
                    hash: &found.hash,
                    generation: found.meta.generation,
                },
                None => Sight::Absent(absence(config, kind.address().namespaced)),
            };
        }
        let sights = &self.sights;
        if off_limits(&config.of.group, &config.of.resource).is_some() {
            return Sight::Faulty(TypeFault::OffLimits);
        }
        if sights.beyond.contains_key(config) && !sights.wanted.contains(config) {
            return Sight::Faulty(TypeFault::TooMany);
        }
        if let Some(fault) = sights.faults.get(&config.of) {
            return Sight::Faulty(*fault);
        }
        match sights.answers.get(config) {
            Some(Answer::Exists(seen)) => Sight::Exists {
                hash: &seen.hash,
                generation: seen.generation,
            },
            Some(Answer::Absent(why)) => Sight::Absent(*why),
            None => Sight::Unanswered,
        }
    }
}

impl<'s> View<'s> {
    /// Returns what is known of a reference, whatever its kind is.
    pub fn sight(&self, config: &ConfigRef) -> Sight<'s> {
        self.store.sight(config)
    }

    /// Returns whether an object is known to have had this hash before.
    pub fn was_before(&self, config: &ConfigRef, hash: &Name) -> bool {
        let earlier = self.sights().earlier.get(config);
        earlier.is_some_and(|earlier| earlier.contains(hash))
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::snapshot::{Event, Settings};

    fn config(resource: &str, name: &str) -> ConfigRef {
        ConfigRef {
            of: ConfigType {
                group: "".into(),
                resource: resource.into(),
            },
            namespace: "n".into(),
            name: name.into(),
        }
    }

    fn addon(name: &str, configs: &[(&str, &str)]) -> Event {
        let configs: Vec<Value> = configs
            .iter()
            .map(
                |(resource, name)| json!({"group": "", "resource": resource, "namespace": "n", "name": name}),
            )
            .collect();
        let object = json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1"},
            "spec": {"configuration": {"configs": configs}}});
        Event::Applied {
            kind: Kind::AddOn,
            object,
        }
    }

    fn exists(config: &ConfigRef, content: &str) -> Event {
        let object = json!({"metadata": {"uid": "u", "resourceVersion": content}, "data": {"a": content}});
        Event::Answered {
            config: config.clone(),
            answer: Answer::Exists(Seen::of(&object)),
        }
    }

    #[test]
    fn only_what_a_spec_mentions_is_looked_at_and_only_while_it_does() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x"), ("configmaps", "y")])));
        drop(store.apply(addon("b", &[("configmaps", "x")])));
        let begin = vec![config("configmaps", "x"), config("configmaps", "y")];
        assert_eq!(store.take_lookout(), Some(Lookout { begin, end: vec![] }));
        drop(store.apply(addon("a", &[])));
        let end = vec![config("configmaps", "y")];
        assert_eq!(store.take_lookout(), Some(Lookout { begin: vec![], end }));
        assert_eq!(store.take_lookout(), None);
    }

    #[test]
    fn kinds_known_by_name_and_the_reserved_name_are_never_looked_at() {
        let mut store = Store::new(Settings::default());
        let object = json!({"metadata": {"name": "a", "uid": "a", "resourceVersion": "1"}, "spec": {"supportedConfigs": [
            {"group": "addon.open-cluster-management.io", "resource": "addontemplates", "defaultConfig": {"name": "t"}},
            {"group": "g", "resource": "things", "defaultConfig": {"name": "__reserved_no_default__"}}]}});
        drop(store.apply(Event::Applied {
            kind: Kind::AddOn,
            object,
        }));
        assert_eq!(store.take_lookout(), None);
    }

    #[test]
    fn an_answer_touches_those_who_refer_to_it_when_it_says_something_new() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x")])));
        let x = config("configmaps", "x");
        assert!(
            store.apply(exists(&x, "early")).is_empty(),
            "nobody has asked yet"
        );
        assert!(store.take_lookout().is_some());
        assert!(
            store.is_unanswered(&Owner::addon(&"a".into()))
                && !store.is_unanswered(&Owner::addon(&"b".into()))
        );
        assert_eq!(store.apply(exists(&x, "one")).len(), 1);
        assert!(!store.is_unanswered(&Owner::addon(&"a".into())));
        assert!(store.apply(exists(&x, "one")).is_empty());
        assert_eq!(store.apply(exists(&x, "two")).len(), 1);
        let view = store.view("a").unwrap();
        let one = Seen::of(&json!({"data": {"a": "one"}})).hash;
        assert!(view.was_before(&x, &one));
        assert!(matches!(view.sight(&x), Sight::Exists { generation: 0, .. }));
    }

    #[test]
    fn what_is_never_a_configuration_is_never_looked_at() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("secrets", "x"), ("events", "y")])));
        assert_eq!(store.take_lookout(), None);
        let view = store.view("a").unwrap();
        assert_eq!(
            view.sight(&config("secrets", "x")),
            Sight::Faulty(TypeFault::OffLimits)
        );
        assert!(!store.is_unanswered(&Owner::addon(&"a".into())));
    }

    #[test]
    fn so_many_types_of_one_object_are_looked_at_and_no_more() {
        let mut store = Store::new(Settings::default());
        let types: Vec<String> = (0..3_000).map(|number| format!("things{number:04}")).collect();
        let configs: Vec<(&str, &str)> = types.iter().map(|of| (&**of, "x")).collect();
        drop(store.apply(addon("a", &configs)));
        let begun = store.take_lookout().map(|lookout| lookout.begin.len());
        assert_eq!(begun, Some(MOST_CONFIG_TYPES));
        let view = store.view("a").unwrap();
        assert_eq!(view.sight(&config("things0063", "x")), Sight::Unanswered);
        assert_eq!(
            view.sight(&config("things0064", "x")),
            Sight::Faulty(TypeFault::TooMany)
        );
        drop(store.apply(addon("a", &[("things0064", "x")])));
        let lookout = store.take_lookout().expect("it changes");
        assert_eq!((lookout.begin.len(), lookout.end.len()), (1, MOST_CONFIG_TYPES));
        assert_eq!(
            store.view("a").unwrap().sight(&config("things0064", "x")),
            Sight::Unanswered
        );
        assert!(store.sights.beyond.is_empty());
    }

    #[test]
    fn a_fault_of_the_type_hides_answers_until_it_is_cured() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x")])));
        assert!(store.take_lookout().is_some());
        let x = config("configmaps", "x");
        drop(store.apply(exists(&x, "one")));
        let fault = |fault| Event::TypeFaulty {
            of: x.of.clone(),
            fault,
        };
        let forbidden = TypeFault::Forbidden { verb: "list" };
        assert_eq!(store.apply(fault(Some(forbidden))).len(), 1);
        assert!(store.apply(fault(Some(forbidden))).is_empty());
        assert_eq!(store.view("a").unwrap().sight(&x), Sight::Faulty(forbidden));
        assert_eq!(store.apply(fault(None)).len(), 1);
        assert!(matches!(store.view("a").unwrap().sight(&x), Sight::Exists { .. }));
    }

    #[test]
    fn the_data_of_a_secret_leaves_only_its_hash() {
        let secret = json!({"kind": "Secret", "metadata": {"uid": "u", "resourceVersion": "1"}, "data": {"k": "c2VjcmV0"}});
        let seen = Seen::of(&secret);
        assert!(!format!("{seen:?}").contains("c2VjcmV0"));
        assert_eq!(seen.hash.len(), 64);
    }
}
