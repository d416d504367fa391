//! `RolloutProfile`: settings of rollouts that many add-ons and upgrades share.
//!
//! Decides which profiles apply, and that nothing starts while it is not known which ones do, or what they set.

use std::sync::Arc;

use serde_json::Value;

use super::stored::Plain;
use crate::decode::edits::authors_of_pauses;
use crate::decode::read::{meta, parse};
use crate::decode::rollout::text_of;
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::kinds::rollout::Rollout;
use crate::kinds::upgrade::Upgrade;
use crate::parts::kept::keeps;
use crate::record::{ProfileRecord, SetBy};
use crate::store::Store;
use api::RolloutProfile;
use kubernetes::field::{Path, listed_of, quoted};
use model::{Name, RolloutProfile as Parsed};

/// The row of the kind.
pub(crate) struct Profile;

keeps!(Profile, ProfileRecord);

impl Plain for Profile {
    const KIND: Kind = Kind::Profile;

    fn read(store: &mut Store, object: &Value) -> Result<ProfileRecord, String> {
        let object: RolloutProfile = parse(object)?;
        let name = object.metadata.name.as_deref().unwrap_or_default();
        let profile = Parsed::parse(name, &object.spec, &Path::root().key("spec"));
        Ok(ProfileRecord {
            meta: meta(&object.metadata)?,
            name: store.names.share(name),
            is_default: object.spec.default.unwrap_or_default(),
            profile: profile.map(Arc::new).map_err(|wrong| text_of(&wrong)),
            pauses: authors_of_pauses(&object.metadata, &mut store.names),
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&ProfileRecord>, touched: &mut Touched) {
        let now = store.kept.get::<Self>(&key.place());
        let of_all = [now, before]
            .into_iter()
            .flatten()
            .any(|record| record.is_default);
        for owner in store.addons_of_profile(&key.name, of_all) {
            store.changes.of_all(&owner);
            touched.insert(owner);
        }
        let upgrades = store.kept.all::<Upgrade>();
        let upgrades = upgrades.filter(|(_, record)| of_all || record.profile() == Some(&*key.name));
        touched.extend(upgrades.map(|(place, _)| Owner::at(Kind::Upgrade, place)));
        store.published.changed.profiles.insert(key.name.clone());
    }
}

/// The named profile and the default one, as far as they exist and are valid.
pub(crate) type Profiles<'s> = [Option<&'s Parsed>; 2];

impl Store {
    /// Returns the add-ons that use a profile: all of them if it is the default.
    fn addons_of_profile(&self, name: &Name, of_all: bool) -> Vec<Owner> {
        if of_all {
            return self.addons().map(Owner::addon).collect();
        }
        let users = self.kept.all::<Rollout>();
        let users = users.filter(|(_, record)| record.profile.as_ref() == Some(name));
        users.map(|(place, _)| Owner::addon(&place.1)).collect()
    }

    /// Returns the add-ons that use a profile which names a check.
    pub(crate) fn addons_of_profiles_with_check(&self, check: &Name) -> Vec<Owner> {
        let names = |record: &&ProfileRecord| {
            let profile = record.profile.as_ref();
            profile.is_ok_and(|profile| profile.checks().contains(check))
        };
        let all = self.kept.all::<Profile>().map(|(_, record)| record);
        let users = all
            .filter(names)
            .flat_map(|record| self.addons_of_profile(&record.name, record.is_default));
        users.collect()
    }

    pub(crate) fn profile(&self, name: &str) -> Option<&ProfileRecord> {
        self.kept.get::<Profile>(&(Name::default(), name.into()))
    }

    /// Returns who set the pause of a profile; absent where the hub does not record it.
    pub fn profile_set_by(&self, name: &str) -> Option<&SetBy> {
        let mut pauses = self.profile(name)?.pauses.iter();
        pauses.find(|one| one.place.is_none()).map(|one| &one.set_by)
    }

    /// Returns the default profiles, in order of names: more than one is a fault.
    pub(crate) fn default_profiles(&self) -> impl Iterator<Item = &ProfileRecord> {
        let all = self.kept.all::<Profile>().map(|(_, record)| record);
        all.filter(|record| record.is_default)
    }

    /// Returns the profiles for an object that names this one.
    pub(crate) fn profiles(&self, named: Option<&str>) -> Profiles<'_> {
        let named = named.and_then(|name| self.profile(name));
        let found = [named, self.default_profiles().next()];
        found.map(|record| record?.profile.as_deref().ok())
    }

    /// Returns why it is not known what the profiles set for an object that names this one; `default` is the default profile by which its
    /// changes went before.
    pub(crate) fn profile_fault(&self, named: Option<&str>, default: Option<&str>) -> Option<Name> {
        let invalid = |record: &ProfileRecord| {
            let fault = record.profile.as_ref().err()?;
            Some(Name::from(format!(
                "RolloutProfile {}: {fault}",
                quoted(&record.name)
            )))
        };
        let of_named = named.and_then(|name| match self.profile(name) {
            Some(record) => invalid(record),
            None => Some(Name::from(format!(
                "no RolloutProfile has the name {}",
                quoted(name)
            ))),
        });
        let defaults: Vec<&ProfileRecord> = self.default_profiles().collect();
        let of_default = || {
            match defaults.as_slice() {
            [] => default.filter(|name| self.profile(name).is_none()).map(|name| {
                let text = format!(
                    "the default RolloutProfile {} was deleted: create it again, or an empty one with this name if nothing is to be set",
                    quoted(name)
                );
                Name::from(text)
            }),
            [one] => invalid(one),
            several => {
                let names = several.iter().map(|record| &*record.name);
                let listed = listed_of(names, several.len());
                Some(Name::from(format!(
                    "one RolloutProfile can be the default, and {listed} are"
                )))
            }
        }
        };
        of_named.or_else(of_default)
    }
}
