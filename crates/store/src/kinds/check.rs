//! `RolloutCheck`: the last result of a check that changes wait for.
//!
//! Decides that it concerns the add-ons whose settings name it, and no cluster that is done.

use serde_json::Value;

use super::stored::Plain;
use crate::decode::read::{meta, parse};
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::kinds::upgrade::{Upgrade, UpgradeRecord};
use crate::parts::kept::keeps;
use crate::record::CheckRecord;
use crate::store::Store;
use crate::view::View;
use api::RolloutCheck;
use kubernetes::field::Path;
use model::{CheckDoubt, CheckResult, Name, RolloutCheck as Parsed, RolloutProfile as Profile};

/// The row of the kind.
pub(crate) struct Check;

keeps!(Check, CheckRecord);

impl Plain for Check {
    const KIND: Kind = Kind::Check;

    fn read(_store: &mut Store, object: &Value) -> Result<CheckRecord, String> {
        let object: RolloutCheck = parse(object)?;
        let meta = meta(&object.metadata)?;
        let status = object.status.unwrap_or_default();
        let check = Parsed::parse(&object.spec, &Path::root().key("spec"));
        let check =
            check.map_err(|wrong| Name::from(wrong.first().map(ToString::to_string).unwrap_or_default()));
        let is_of_other_spec = matches!(check, Ok(Parsed::Prometheus(_)))
            && !status.result.is_empty()
            && status.observed_generation != Some(meta.generation);
        let result = match &check {
            Err(fault) => Err(CheckDoubt::Invalid(fault.clone())),
            Ok(_) if is_of_other_spec => Err(CheckDoubt::OtherSpec),
            Ok(_) => CheckResult::parse(&status),
        };
        Ok(CheckRecord {
            failures: status.failures.unwrap_or_default(),
            check,
            result,
            meta,
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, _before: Option<&CheckRecord>, touched: &mut Touched) {
        let named = store.indexes.by_check.of(&key.name).map(Owner::addon);
        let mut owners: Vec<Owner> = named.collect();
        owners.extend(store.addons_of_profiles_with_check(&key.name));
        for owner in owners {
            store.changes.of_none(&owner);
            touched.insert(owner);
        }
        let upgrades = store.kept.all::<Upgrade>();
        let upgrades = upgrades.filter(|(_, record)| store.is_checked_by(record, &key.name));
        touched.extend(upgrades.map(|(place, _)| Owner::at(Kind::Upgrade, place)));
        let name = store.names.share(&key.name);
        store.published.check_changed(&name);
    }
}

impl Store {
    /// Returns a check by its name.
    pub(crate) fn check(&self, name: &Name) -> Option<&CheckRecord> {
        self.kept.get::<Check>(&(Name::default(), name.clone()))
    }

    /// Returns a check that settings name, with its last result.
    pub(crate) fn named_check(&self, name: &Name) -> model::Check {
        let found = self.check(name).filter(|found| !found.meta.deleting);
        model::Check {
            name: name.clone(),
            result: found.map_or(Err(CheckDoubt::Missing), |found| found.result.clone()),
        }
    }

    /// Returns whether an upgrade names a check, or its profile or the default one does.
    fn is_checked_by(&self, upgrade: &UpgradeRecord, check: &Name) -> bool {
        let profiles = self.profiles(upgrade.profile());
        let mut shared = profiles.into_iter().flatten().flat_map(Profile::checks);
        shared.any(|name| name == check) || upgrade.checks().any(|name| *name == **check)
    }
}

impl View<'_> {
    /// Returns a check that settings name, with its last result.
    pub fn check(&self, name: &Name) -> model::Check {
        self.store.named_check(name)
    }
}
