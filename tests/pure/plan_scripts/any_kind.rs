//! Objects of any kind on the hub in memory, and how the controllers read them.
//!
//! Responds only for types that a script has mentioned; until then a type has not been read.

use std::collections::BTreeMap;

use api::hash::ConfigKey;
use serde_json::{Value, json};
use store::{
    Absence, ConfigLookup, ConfigRef, ConfigType, Event, ObjectKey, ObservedConfig, Settings, Store,
    TypeFault, absence,
};

/// How the hub serves a type.
#[derive(Debug, Clone, Copy)]
enum Served {
    Yes { namespaced: bool },
    No(TypeFault),
}

/// Objects of any kind.
#[derive(Debug, Default)]
pub(crate) struct AnyKinds {
    types: BTreeMap<ConfigType, Served>,
    objects: BTreeMap<ConfigRef, Value>,
    wanted: Vec<ConfigRef>,
    revision: u64,
}

impl AnyKinds {
    /// `type <resource>[.<group>] namespaced|cluster|forbidden|missing`
    pub(crate) fn serve(&mut self, text: &str, how: &str) {
        let served = match how {
            "namespaced" => Served::Yes { namespaced: true },
            "cluster" => Served::Yes { namespaced: false },
            "forbidden" => Served::No(TypeFault::Forbidden { verb: "list" }),
            "missing" => Served::No(TypeFault::NotServed),
            other => {
                assert!(other.is_empty(), "no such way to serve a type: {other}");
                return;
            }
        };
        self.types.insert(reference(&format!("{text}//x")).of, served);
    }

    /// Creates or replaces an object.
    pub(crate) fn put(&mut self, text: &str, mut content: Value) {
        let config = reference(text);
        let old = self.objects.get(&config);
        let counted = old.map_or(0, |old| {
            old["metadata"]["generation"].as_i64().unwrap_or_default()
        });
        self.revision += 1;
        content["metadata"] = json!({"uid": text, "resourceVersion": self.revision.to_string()});
        if content.get("spec").is_some() {
            content["metadata"]["generation"] = json!(counted + 1);
        }
        self.objects.insert(config, content);
    }

    pub(crate) fn delete(&mut self, text: &str) {
        self.objects.remove(&reference(text));
    }

    /// Forgets what has been looked at, as a restart does; the new store knows what the hub holds.
    pub(crate) fn restart(&mut self, settings: Settings, objects: &BTreeMap<ObjectKey, Value>) -> Store {
        self.types.clear();
        self.wanted.clear();
        let mut store = Store::new(settings);
        for (key, object) in objects {
            let (kind, object) = (key.kind, object.clone());
            drop(store.apply(Event::Applied { kind, object }));
        }
        store
    }

    /// Looks at everything that the store wants to know.
    pub(crate) fn look(&mut self, store: &mut Store) {
        if let Some(lookout) = store.take_watch_list() {
            self.wanted.extend(lookout.begin);
            self.wanted.retain(|config| !lookout.end.contains(config));
        }
        for config in &self.wanted {
            let Some(served) = self.types.get(&config.of) else {
                continue;
            };
            let fault = match served {
                Served::No(fault) => Some(*fault),
                Served::Yes { .. } => None,
            };
            if let Served::Yes { namespaced } = served {
                let answer = self.answer(config, *namespaced);
                let config = config.clone();
                drop(store.apply(Event::Answered { config, answer }));
            }
            let of = config.of.clone();
            drop(store.apply(Event::TypeFaulty { of, fault }));
        }
    }

    fn answer(&self, config: &ConfigRef, namespaced: bool) -> ConfigLookup {
        let why = absence(config, namespaced);
        match self.objects.get(config).filter(|_| why == Absence::Missing) {
            Some(object) => ConfigLookup::Exists(ObservedConfig::of(object)),
            None => ConfigLookup::Absent(why),
        }
    }
}

fn reference(text: &str) -> ConfigRef {
    let key: ConfigKey = text.parse().expect("<resource>[.<group>]/<namespace>/<name>");
    ConfigRef {
        of: ConfigType {
            group: key.group.into(),
            resource: key.resource.into(),
        },
        namespace: key.namespace.into(),
        name: key.name.into(),
    }
}
