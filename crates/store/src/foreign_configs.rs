//! Configurations of any kind: which references must be looked at, and what the hub shows of them.
//!
//! Keeps identity, revision and hash of objects that a spec refers to, and of no others; never keeps content, so that a
//! Secret passes through and leaves nothing but its hash. Never asks the hub: the controllers do, and tell the answer.

use super::kind::Kind;
use super::kind::Owner;
use super::kind::Touched;
use super::parts::config_watch::{ConfigLookup, ConfigState, ConfigWatchList, TypeFault, absence};
use super::record::{ConfigRef, ConfigType};
use super::store::Store;
use super::view::View;
use model::Name;
use model::off_limits;

impl Store {
    /// Returns which references must be looked at from now on and which no more, if that has changed since the last call.
    pub fn take_watch_list(&mut self) -> Option<ConfigWatchList> {
        let mut watch_list = ConfigWatchList::default();
        for config in std::mem::take(&mut self.sights.unsettled) {
            let mentioned = self.indexes.by_config.of(&config).next().is_some();
            match (mentioned, self.sights.wanted.contains(&config)) {
                (true, false) => {
                    self.sights.wanted.insert(config.clone());
                    self.sights.open.insert(config.clone());
                    watch_list.begin.push(config);
                }
                (false, true) => {
                    self.sights.forget(&config);
                    self.published.config_changed(&config);
                    watch_list.end.push(config);
                }
                (true, true) | (false, false) => {}
            }
        }
        (watch_list != ConfigWatchList::default()).then_some(watch_list)
    }

    /// Returns whether an owner refers to a configuration about which the hub has not answered yet.
    pub fn is_unanswered(&self, owner: &Owner) -> bool {
        let open = self.sights.open.iter();
        open.filter(|config| !self.sights.faults.contains_key(&config.of))
            .any(|config| self.indexes.by_config.of(config).any(|one| one == owner))
    }

    /// Takes in what the hub said about a reference; an answer that is not wanted is not kept.
    pub(super) fn answer(&mut self, config: ConfigRef, answer: ConfigLookup, touched: &mut Touched) {
        if !self.sights.wanted.contains(&config) {
            return;
        }
        self.sights.open.remove(&config);
        let old = self.sights.answers.get(&config);
        let tells = |answer: &ConfigLookup| match answer {
            ConfigLookup::Exists(seen) => Ok((seen.hash.clone(), seen.generation)),
            ConfigLookup::Absent(why) => Err(*why),
        };
        if old.map(tells) != Some(tells(&answer)) {
            self.published.config_changed(&config);
            touched.extend(self.indexes.by_config.of(&config).cloned());
        }
        let before = match old {
            Some(ConfigLookup::Exists(seen)) => Some(seen.hash.clone()),
            Some(ConfigLookup::Absent(_)) | None => None,
        };
        match &answer {
            ConfigLookup::Exists(seen) => self.sights.replaced(&config, before.as_ref(), &seen.hash),
            ConfigLookup::Absent(_) => self.sights.gone(&config),
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
            touched.extend(self.indexes.by_config.of(config).cloned());
        }
    }

    /// Returns what is known of a reference, whatever its kind is.
    pub(super) fn config_state(&self, config: &ConfigRef) -> ConfigState<'_> {
        if let Some(kind) = Kind::of_config(&config.of.group, &config.of.resource) {
            return match self.objects.configs.get(config) {
                Some(found) => ConfigState::Exists {
                    hash: &found.hash,
                    generation: found.meta.generation,
                },
                None => ConfigState::Absent(absence(config, kind.address().namespaced)),
            };
        }
        let sights = &self.sights;
        if off_limits(&config.of.group, &config.of.resource).is_some() {
            return ConfigState::Faulty(TypeFault::OffLimits);
        }
        if sights.beyond.contains_key(config) && !sights.wanted.contains(config) {
            return ConfigState::Faulty(TypeFault::TooMany);
        }
        if let Some(fault) = sights.faults.get(&config.of) {
            return ConfigState::Faulty(*fault);
        }
        match sights.answers.get(config) {
            Some(ConfigLookup::Exists(seen)) => ConfigState::Exists {
                hash: &seen.hash,
                generation: seen.generation,
            },
            Some(ConfigLookup::Absent(why)) => ConfigState::Absent(*why),
            None => ConfigState::Unanswered,
        }
    }
}

impl<'s> View<'s> {
    /// Returns what is known of a reference, whatever its kind is.
    pub fn config_state(&self, config: &ConfigRef) -> ConfigState<'s> {
        self.store.config_state(config)
    }

    /// Returns whether an object is known to have had this hash before.
    pub fn was_before(&self, config: &ConfigRef, hash: &Name) -> bool {
        let earlier = self.sights().earlier.get(config);
        earlier.is_some_and(|earlier| earlier.contains(hash))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::parts::config_watch::ObservedConfig;
    use crate::{Event, Settings};
    use model::MOST_CONFIG_TYPES;
    use serde_json::Value;

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
            answer: ConfigLookup::Exists(ObservedConfig::of(&object)),
        }
    }

    #[test]
    fn only_what_a_spec_mentions_is_looked_at_and_only_while_it_does() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x"), ("configmaps", "y")])));
        drop(store.apply(addon("b", &[("configmaps", "x")])));
        let begin = vec![config("configmaps", "x"), config("configmaps", "y")];
        assert_eq!(
            store.take_watch_list(),
            Some(ConfigWatchList { begin, end: vec![] })
        );
        drop(store.apply(addon("a", &[])));
        let end = vec![config("configmaps", "y")];
        assert_eq!(
            store.take_watch_list(),
            Some(ConfigWatchList { begin: vec![], end })
        );
        assert_eq!(store.take_watch_list(), None);
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
        assert_eq!(store.take_watch_list(), None);
    }

    #[test]
    fn an_answer_touches_those_who_refer_to_it_when_it_says_something_new() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x")])));
        let x = config("configmaps", "x");
        assert!(
            store.apply(exists(&x, "early")).is_empty(),
            "no request was made yet"
        );
        assert!(store.take_watch_list().is_some());
        assert!(
            store.is_unanswered(&Owner::addon(&"a".into()))
                && !store.is_unanswered(&Owner::addon(&"b".into()))
        );
        assert_eq!(store.apply(exists(&x, "one")).len(), 1);
        assert!(!store.is_unanswered(&Owner::addon(&"a".into())));
        assert!(store.apply(exists(&x, "one")).is_empty());
        assert_eq!(store.apply(exists(&x, "two")).len(), 1);
        let view = store.view("a").unwrap();
        let one = ObservedConfig::of(&json!({"data": {"a": "one"}})).hash;
        assert!(view.was_before(&x, &one));
        assert!(matches!(
            view.config_state(&x),
            ConfigState::Exists { generation: 0, .. }
        ));
    }

    #[test]
    fn what_is_never_a_configuration_is_never_looked_at() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("secrets", "x"), ("events", "y")])));
        assert_eq!(store.take_watch_list(), None);
        let view = store.view("a").unwrap();
        assert_eq!(
            view.config_state(&config("secrets", "x")),
            ConfigState::Faulty(TypeFault::OffLimits)
        );
        assert!(!store.is_unanswered(&Owner::addon(&"a".into())));
    }

    #[test]
    fn so_many_types_of_one_object_are_looked_at_and_no_more() {
        let mut store = Store::new(Settings::default());
        let types: Vec<String> = (0..3_000).map(|number| format!("things{number:04}")).collect();
        let configs: Vec<(&str, &str)> = types.iter().map(|of| (&**of, "x")).collect();
        drop(store.apply(addon("a", &configs)));
        let begun = store.take_watch_list().map(|watch_list| watch_list.begin.len());
        assert_eq!(begun, Some(MOST_CONFIG_TYPES));
        let view = store.view("a").unwrap();
        assert_eq!(
            view.config_state(&config("things0063", "x")),
            ConfigState::Unanswered
        );
        assert_eq!(
            view.config_state(&config("things0064", "x")),
            ConfigState::Faulty(TypeFault::TooMany)
        );
        drop(store.apply(addon("a", &[("things0064", "x")])));
        let watch_list = store.take_watch_list().expect("it changes");
        assert_eq!(
            (watch_list.begin.len(), watch_list.end.len()),
            (1, MOST_CONFIG_TYPES)
        );
        assert_eq!(
            store.view("a").unwrap().config_state(&config("things0064", "x")),
            ConfigState::Unanswered
        );
        assert!(store.sights.beyond.is_empty());
    }

    #[test]
    fn a_fault_of_the_type_hides_answers_until_it_is_cured() {
        let mut store = Store::new(Settings::default());
        drop(store.apply(addon("a", &[("configmaps", "x")])));
        assert!(store.take_watch_list().is_some());
        let x = config("configmaps", "x");
        drop(store.apply(exists(&x, "one")));
        let fault = |fault| Event::TypeFaulty {
            of: x.of.clone(),
            fault,
        };
        let forbidden = TypeFault::Forbidden { verb: "list" };
        assert_eq!(store.apply(fault(Some(forbidden))).len(), 1);
        assert!(store.apply(fault(Some(forbidden))).is_empty());
        assert_eq!(
            store.view("a").unwrap().config_state(&x),
            ConfigState::Faulty(forbidden)
        );
        assert_eq!(store.apply(fault(None)).len(), 1);
        assert!(matches!(
            store.view("a").unwrap().config_state(&x),
            ConfigState::Exists { .. }
        ));
    }

    #[test]
    fn the_data_of_a_secret_leaves_only_its_hash() {
        let secret = json!({"kind": "Secret", "metadata": {"uid": "u", "resourceVersion": "1"}, "data": {"k": "c2VjcmV0"}});
        let seen = ObservedConfig::of(&secret);
        assert!(!format!("{seen:?}").contains("c2VjcmV0"));
        assert_eq!(seen.hash.len(), 64);
    }
}
