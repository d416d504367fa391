//! The versions of an add-on: the labels of the templates that are made for it.
//!
//! Decides which template provides a version. If two templates have one version, the first by name counts, so that every start
//! decides alike. A label that is no version is ignored; both cases are reported.

use std::collections::BTreeSet;

use super::kind::Owner;
use super::kind::Touched;
use super::kind::{Kind, ObjectKey};
use super::record::{Config, ConfigRef};
use super::store::Store;
use model::AddonVersion;
use model::Name;

/// Most versions that a status lists: the highest ones.
pub const MOST_VERSIONS: usize = 100;

/// A version, and the template that stands for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Offer {
    version: AddonVersion,
    /// The template.
    pub template: ConfigRef,
}

impl Offer {
    /// Returns the version as the template spells it.
    pub fn text(&self) -> &str {
        self.version.as_str()
    }
}

/// A template that offers no version although it has the label.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Oddity {
    /// The label is no version.
    NoVersion {
        /// The template.
        template: Name,
        /// The label.
        label: Name,
    },
    /// Another template stands for the same version.
    Twice {
        /// The template that is left out.
        template: Name,
        /// The template that stands for the version.
        instead: Name,
        /// The version.
        version: Name,
    },
}

impl Oddity {
    fn template(&self) -> &Name {
        match self {
            Self::NoVersion { template, .. } | Self::Twice { template, .. } => template,
        }
    }
}

impl std::fmt::Display for Oddity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoVersion { template, label } => {
                write!(
                    f,
                    "AddOnTemplate {template}: the label {label:?} is not a version and is ignored"
                )
            }
            Self::Twice {
                template,
                instead,
                version,
            } => write!(
                f,
                "AddOnTemplate {template}: {instead} already provides version {version}; the template that is first by name is used"
            ),
        }
    }
}

/// The versions of one add-on.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Versions {
    /// Lowest first.
    offers: Vec<Offer>,
    /// Templates that offer nothing, in order of their names.
    pub oddities: Vec<Oddity>,
}

impl Versions {
    /// Returns whether no template offers a version.
    pub fn is_empty(&self) -> bool {
        self.offers.is_empty()
    }

    /// Returns the versions that a status lists, lowest first.
    pub fn supported(&self) -> impl Iterator<Item = &Offer> {
        self.offers
            .iter()
            .skip(self.offers.len().saturating_sub(MOST_VERSIONS))
    }

    /// Returns what is installed where no version is asked for.
    pub fn preset(&self) -> Option<&Offer> {
        let default = AddonVersion::default_of(self.offers.iter().map(|offer| &offer.version))?;
        self.offers.iter().find(|offer| offer.version == *default)
    }

    /// Returns the offer of a version; `v1` and `1.0.0` are the same one.
    pub fn find(&self, text: &str) -> Option<&Offer> {
        let asked = AddonVersion::parse(text).ok()?;
        self.offers.iter().find(|offer| offer.version == asked)
    }

    fn add(&mut self, template: &Name, label: &Name) {
        let Ok(version) = AddonVersion::parse(label) else {
            self.oddities.push(Oddity::NoVersion {
                template: template.clone(),
                label: label.clone(),
            });
            return;
        };
        match self.offers.binary_search_by(|offer| offer.version.cmp(&version)) {
            Ok(at) => self
                .oddities
                .extend(self.offers.get(at).map(|offer| Oddity::Twice {
                    template: template.clone(),
                    instead: offer.template.name.clone(),
                    version: label.clone(),
                })),
            Err(at) => {
                let key = ObjectKey::new(Kind::Template, "", template.clone());
                let template = ConfigRef::of(&key);
                self.offers.insert(at, Offer { version, template });
            }
        }
    }
}

impl Store {
    /// Returns the versions of an add-on.
    pub(super) fn versions(&self, addon: &str) -> Versions {
        let mut versions = Versions::default();
        for name in self.indexes.templates.get(addon).into_iter().flatten() {
            let config = ConfigRef::of(&ObjectKey::new(Kind::Template, "", name.clone()));
            let label = self
                .objects
                .configs
                .get(&config)
                .and_then(|found| found.version.as_ref());
            if let Some(label) = label {
                versions.add(name, label);
            }
        }
        versions
    }

    /// Files a template under the add-on that it offers a version of; `before` is what it offered until now. An add-on
    /// that gains or loses a version is touched, even if nothing refers to the template yet.
    pub(super) fn refile_template(
        &mut self,
        key: &ObjectKey,
        before: Option<&Offered>,
        touched: &mut Touched,
    ) {
        let after = offered(
            self.objects
                .configs
                .get(&ConfigRef::of(key))
                .filter(|_| key.kind == Kind::Template),
        );
        if before == after.as_ref() {
            return;
        }
        if let Some(Offered { addon, .. }) = before
            && let Some(filed) = self.indexes.templates.get_mut(addon)
        {
            filed.remove(&key.name);
        }
        if let Some(Offered { addon, .. }) = &after {
            let filed: &mut BTreeSet<Name> = self.indexes.templates.entry(addon.clone()).or_default();
            filed.insert(key.name.clone());
        }
        for Offered { addon, .. } in before.into_iter().chain(&after) {
            if self.indexes.templates.get(addon).is_some_and(BTreeSet::is_empty) {
                self.indexes.templates.remove(addon);
            }
            self.published.versions_changed(addon);
            touched.insert(Owner::addon(addon));
        }
        if let Some(Offered { addon, .. }) = &after {
            let oddities = self.versions(addon).oddities;
            let own = oddities.iter().filter(|oddity| *oddity.template() == key.name);
            self.pending
                .new_faults
                .extend(own.map(|oddity| (key.clone(), oddity.to_string())));
        }
    }
}

/// What one template offers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Offered {
    addon: Name,
    version: Name,
    hash: Name,
}

/// Returns what a template offers; a template without a label and every other kind offer nothing.
pub(super) fn offered(config: Option<&Config>) -> Option<Offered> {
    let config = config?;
    if config.addon.is_empty() {
        return None;
    }
    Some(Offered {
        addon: config.addon.clone(),
        version: config.version.clone()?,
        hash: config.hash.clone(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Completeness, Event, Settings};

    fn template(name: &str, addon: &str, label: Option<&str>) -> Value {
        let labels = label.map(|label| json!({"addon.open-cluster-management.io/version": label}));
        json!({"metadata": {"name": name, "uid": name, "resourceVersion": "1", "labels": labels},
            "spec": {"addonName": addon, "agentSpec": {}}})
    }

    fn apply(store: &mut Store, object: Value) -> Vec<String> {
        let touched = store.apply(Event::Applied {
            kind: Kind::Template,
            object,
        });
        touched.iter().map(|owner| owner.name.to_string()).collect()
    }

    fn texts(store: &Store, addon: &str) -> Vec<String> {
        let versions = store.versions(addon);
        versions
            .supported()
            .map(|offer| offer.text().to_owned())
            .collect()
    }

    #[test]
    fn a_template_touches_its_add_on_although_nothing_refers_to_it() {
        let mut store = Store::new(Settings::default());
        assert_eq!(apply(&mut store, template("one", "hello", Some("v1"))), ["hello"]);
        assert_eq!(apply(&mut store, template("one", "hello", Some("v1"))), [""; 0]);
        assert_eq!(apply(&mut store, template("plain", "hello", None)), [""; 0]);
        let moved = apply(&mut store, template("one", "other", Some("v1")));
        assert_eq!(
            moved,
            ["hello", "other"],
            "the one that loses a version and the one that gains it"
        );
        assert_eq!(texts(&store, "hello"), [""; 0]);
        assert_eq!(texts(&store, "other"), ["v1"]);
        let gone = store.apply(Event::Deleted {
            kind: Kind::Template,
            object: template("one", "other", Some("v1")),
        });
        assert_eq!(
            gone.iter().map(|owner| &*owner.name).collect::<Vec<_>>(),
            ["other"]
        );
        assert!(store.indexes.templates.is_empty());
    }

    #[test]
    fn labels_that_are_no_version_and_second_templates_are_reported_once() {
        let mut store = Store::new(Settings::default());
        apply(&mut store, template("b", "hello", Some("v1.0.0")));
        apply(&mut store, template("c", "hello", Some("v1")));
        apply(&mut store, template("d", "hello", Some("latest")));
        let told: Vec<String> = store
            .take_new_faults()
            .into_iter()
            .map(|(_, fault)| fault)
            .collect();
        assert_eq!(
            told,
            [
                "AddOnTemplate c: b already provides version v1; the template that is first by name is used",
                "AddOnTemplate d: the label \"latest\" is not a version and is ignored",
            ]
        );
        assert_eq!(texts(&store, "hello"), ["v1.0.0"]);
        let found = store.versions("hello");
        assert_eq!(found.find("1").map(|offer| &*offer.template.name), Some("b"));
        assert_eq!(found.find("latest"), None);
    }

    #[test]
    fn the_gate_observes_versions_as_they_come_and_go() {
        let mut store = Store::new(Settings::default());
        for (name, label) in [("a", "v10"), ("b", "v2"), ("c", "v11-rc.1")] {
            apply(&mut store, template(name, "hello", Some(label)));
        }
        let facts = store.publish(Completeness::all()).unwrap();
        let versions = facts.versions("hello").unwrap();
        let supported: Vec<&str> = versions.supported.iter().map(|text| &**text).collect();
        assert_eq!(supported, ["v2", "v10", "v11-rc.1"]);
        assert_eq!(versions.default.as_deref(), Some("v10"));
        assert!(
            store.publish(Completeness::all()).is_none(),
            "nothing has changed"
        );
        store.apply(Event::Listed {
            kind: Kind::Template,
            objects: Vec::new(),
        });
        assert_eq!(
            store.publish(Completeness::all()).unwrap().versions("hello"),
            None
        );
    }

    #[test]
    fn a_status_lists_the_highest_versions_and_every_version_can_be_asked_for() {
        let mut store = Store::new(Settings::default());
        for number in 1..=MOST_VERSIONS + 5 {
            apply(
                &mut store,
                template(&format!("t{number}"), "hello", Some(&format!("v{number}"))),
            );
        }
        let listed = texts(&store, "hello");
        assert_eq!((listed.len(), listed[0].as_str()), (MOST_VERSIONS, "v6"));
        assert!(store.versions("hello").find("v1").is_some());
    }
}
