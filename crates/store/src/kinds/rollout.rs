//! `AddOnRollout`: the settings of an add-on's rollouts, and its roll-up.
//!
//! Decides that its settings concern all clusters of the add-on of its name, and its status none of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use super::stored::Plain;
use crate::decode::edits::authors_of_pauses;
use crate::decode::read::{annotation, meta, owners, parse};
use crate::decode::rollout::text_of;
use crate::decode::status::conditions;
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::parts::kept::keeps;
use crate::parts::mentions::Mentioned;
use crate::record::{PlacementUse, RollUp, SetBy};
use crate::store::Store;
use crate::terms;
use crate::view::View;
use api::AddOnRollout;
use kubernetes::field::Path;
use model::{Name, ResolvedSettings, RolloutSettings, RolloutStrategy};

/// The row of the kind.
pub(crate) struct Rollout;

keeps!(Rollout, RollUp);

impl Plain for Rollout {
    const KIND: Kind = Kind::Rollout;

    fn read(store: &mut Store, object: &Value) -> Result<RollUp, String> {
        let parsed: AddOnRollout = parse(object)?;
        let stated = parsed.status.unwrap_or_default();
        let mut status = object
            .get("status")
            .and_then(Value::as_object)
            .cloned()
            .unwrap_or_default();
        status.remove("conditions");
        let settings = RolloutSettings::parse(&parsed.spec, &Path::root().key("spec"));
        let mut named = |name: &str| (!name.is_empty()).then(|| store.names.share(name));
        let (profile, default_profile) = (named(&parsed.spec.profile), named(&stated.default_profile));
        Ok(RollUp {
            meta: meta(&parsed.metadata)?,
            pauses: authors_of_pauses(&parsed.metadata, &mut store.names),
            addon: store.names.share(&parsed.spec.addon),
            profile,
            default_profile,
            settings: settings.map(Arc::new).map_err(|wrong| text_of(&wrong)),
            replaces_settings: annotation(&parsed.metadata, terms::SETTINGS_DELETED).is_some(),
            owners: owners(parsed.metadata.owner_references.as_ref(), &mut store.names),
            conditions: conditions(&stated.conditions, &mut store.names),
            status,
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&RollUp>, touched: &mut Touched) {
        let owner = Owner::addon(&key.name);
        let place = key.place();
        let held = |record: &RollUp| {
            let default = record.default_profile.clone();
            (record.settings.clone(), record.replaces_settings, default)
        };
        let now = store.kept.get::<Self>(&place).map(held);
        if now == before.map(held) {
            store.changes.of_none(&owner);
        } else {
            let name = store.names.share(&key.name);
            let (now, before) = (now.map(|(now, ..)| now), before.map(|record| &record.settings));
            let was_set = before.is_some_and(is_set);
            if now.is_some() {
                store.tombstones.settings.remove(&name);
            } else if was_set && store.objects.addons.contains_key(&name) {
                store.tombstones.settings.insert(name.clone());
            }
            mention(store, &name, before, Mentioned::NoMore);
            mention(store, &name, now.as_ref(), Mentioned::Now);
            store.published.addon_changed(&name);
            store.changes.of_all(&owner);
        }
        touched.insert(owner);
    }
}

type Settings = Result<Arc<RolloutSettings>, Name>;

/// Whether anything is set, or cannot be read.
fn is_set(settings: &Settings) -> bool {
    settings.as_ref().map_or(true, |settings| !settings.is_empty())
}

fn mention(store: &mut Store, addon: &Name, settings: Option<&Settings>, mentioned: Mentioned) {
    let Some(Ok(settings)) = settings else { return };
    for name in settings.depends_on() {
        mentioned.note(&mut store.indexes.dependents, name, addon);
    }
    for name in settings.all_checks() {
        mentioned.note(&mut store.indexes.by_check, name, addon);
    }
}

impl Store {
    /// Returns what is known of an add-on's AddOnRollout; absent where it has none.
    pub(crate) fn roll_up(&self, addon: &Name) -> Option<&RollUp> {
        let place = (Name::default(), addon.clone());
        self.kept.get::<Rollout>(&place)
    }

    /// Returns the settings that count for an object with these settings and this profile.
    pub(crate) fn resolve<'s>(
        &'s self,
        own: Option<&'s RolloutSettings>,
        named: Option<&str>,
    ) -> ResolvedSettings<'s> {
        let [named, default] = self.profiles(named);
        own.unwrap_or_default().resolve(named, default)
    }
}

impl<'s> View<'s> {
    /// Returns who set the pause of all placements, also if a RolloutProfile has it, or that of one placement; absent where the hub does not
    /// record it.
    pub fn pause_set_by(&self, place: Option<(&str, &str)>) -> Option<&'s SetBy> {
        if let Some(profile) = self.rollout().pausing_profile().filter(|_| place.is_none()) {
            return self.store.profile_set_by(profile);
        }
        let is_it = |known: Option<(&str, &str)>| known == place;
        let mut pauses = self.roll_up()?.pauses.iter();
        let found = pauses.find(|one| {
            let known = one.place.as_ref();
            is_it(known.map(|(namespace, name)| (namespace.as_str(), name.as_str())))
        });
        found.map(|one| &one.set_by)
    }

    /// Returns how changes are rolled out over a placement, or what is wrong with its strategy.
    pub fn strategy(&self, by: &'s PlacementUse) -> Result<&'s RolloutStrategy, &'s Name> {
        by.rollout.as_ref().map(|own| self.rollout().strategy(own))
    }

    /// Returns the add-ons that have to run on a cluster before this one is installed or changed there, sorted: those of its AddOnRollout
    /// and those of its ClusterManagementAddOn.
    pub fn depends_on(&self) -> BTreeSet<&'s Name> {
        let settings = self.rollout().depends_on().iter();
        settings.chain(&self.addon.facts.dependencies).collect()
    }

    /// Returns why it is not known what is set: then no change starts.
    pub fn rollout_fault(&self) -> Option<Name> {
        let unread = self.roll_up().and_then(|record| record.settings.as_ref().err());
        let deleted = || {
            let annotation = terms::SETTINGS_DELETED;
            let told = format!(
                "the AddOnRollout of the add-on was deleted with its settings: apply the settings again if they are needed, then remove the \
                 annotation {annotation} of the AddOnRollout"
            );
            self.lacks_settings().then(|| Name::from(told))
        };
        let own = self.addon.outdated.as_ref().or(unread).cloned();
        own.or_else(deleted).or_else(|| self.profile_fault())
    }

    /// Returns why it is not known what the profiles of the add-on set.
    pub fn profile_fault(&self) -> Option<Name> {
        let record = self.roll_up();
        let named = record.and_then(|record| record.profile.as_deref());
        let default = record.and_then(|record| record.default_profile.as_deref());
        self.store.profile_fault(named, default)
    }

    /// Returns the name of the default profile; absent while there is none. One that was deleted stays until an administrator has decided.
    pub fn default_profile(&self) -> Option<&'s Name> {
        let known = self.roll_up().and_then(|record| record.default_profile.as_ref());
        let deleted = known.filter(|name| self.store.profile(name).is_none());
        let present = self.store.default_profiles().next().map(|record| &record.name);
        present.or(deleted)
    }

    /// Returns whether the AddOnRollout was deleted with its settings, and no user has decided since that changes go on.
    pub fn lacks_settings(&self) -> bool {
        match self.roll_up() {
            Some(known) => known.replaces_settings,
            None => self.store.tombstones.settings.contains(&self.addon.name),
        }
    }
}
