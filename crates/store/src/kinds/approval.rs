//! `RolloutApproval`: a change that waits before a decision group, and the decision about it.
//!
//! Decides which decisions count: those whose author the webhook has recorded, in the object with the name of the decision group. Roles limit
//! by this name who may decide.

use std::collections::BTreeMap;

use serde_json::Value;

use super::stored::Plain;
use crate::decode::read::{meta, owners, parse};
use crate::kind::{Kind, ObjectKey, Owner, Place, Touched};
use crate::parts::kept::keeps;
use crate::record::ApprovalRecord;
use crate::store::Store;
use crate::view::View;
use api::{ApprovalDecision, RolloutApproval, approval_name};
use model::Name;

/// The row of the kind.
pub(crate) struct Approval;

keeps!(Approval, ApprovalRecord);

impl Plain for Approval {
    const KIND: Kind = Kind::Approval;

    fn read(store: &mut Store, object: &Value) -> Result<ApprovalRecord, String> {
        let parsed: RolloutApproval = parse(object)?;
        let status = object.get("status").and_then(Value::as_object);
        let stated = parsed.status.unwrap_or_default();
        let spec = parsed.spec;
        let name = spec.object_name();
        let counts = parsed.metadata.name.as_deref() == Some(name.as_str());
        let mut share = |text: &str| store.names.share(text);
        Ok(ApprovalRecord {
            meta: meta(&parsed.metadata)?,
            addon: share(&spec.addon),
            upgrade: share(&spec.upgrade),
            placement: share(&spec.placement),
            group: share(&spec.group),
            decision: spec.decision.filter(|decision| counts && is_recorded(decision)),
            approved: if counts { stated.approved } else { Vec::new() },
            status: status.cloned().unwrap_or_default(),
            owners: owners(parsed.metadata.owner_references.as_ref(), &mut store.names),
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&ApprovalRecord>, touched: &mut Touched) {
        let now = store.kept.get::<Self>(&key.place());
        let decided = |record: &ApprovalRecord| (record.decision.clone(), record.approved.clone());
        let is_same = now.map(decided) == before.map(decided);
        let owners: Vec<Owner> = [now, before].into_iter().flatten().map(owner).collect();
        for owner in owners {
            if is_same {
                store.changes.of_none(&owner);
            } else {
                store.changes.of_all(&owner);
            }
            touched.insert(owner);
        }
    }
}

/// Returns what the change or the upgrade belongs to.
fn owner(record: &ApprovalRecord) -> Owner {
    match record.upgrade.split_once('/') {
        Some((namespace, name)) => ObjectKey::new(Kind::Upgrade, namespace, name),
        None => Owner::addon(&record.addon),
    }
}

/// A decision that the webhook has not seen has no author, and anyone may have written it.
fn is_recorded(decision: &ApprovalDecision) -> bool {
    !decision.by.is_empty() && !decision.at.is_empty()
}

impl<'s> View<'s> {
    /// Returns the approvals of the add-on, in order of their names.
    pub fn approvals(&self) -> impl Iterator<Item = (&'s Place, &'s ApprovalRecord)> + use<'s> {
        let addon = &self.addon.name;
        let all = self.store.kept.all::<Approval>();
        all.filter(move |(_, record)| record.addon == *addon)
    }

    /// Returns the approval of a decision group, known by its name or, where it has none, by its index.
    pub fn approval(&self, placement: &str, group: &str) -> Option<&'s ApprovalRecord> {
        let name = approval_name(&self.addon.name, placement, group);
        self.store.kept.get::<Approval>(&(Name::default(), name.into()))
    }

    /// Returns whether the hub shows the kind.
    pub fn shows_approvals(&self) -> bool {
        self.store.objects.shown.contains(&Kind::Approval)
    }
}

impl Store {
    /// Returns the approvals of an upgrade, by their names; none where the hub does not show the kind.
    pub(crate) fn upgrade_approvals(&self, namespace: &str, name: &str) -> BTreeMap<&Name, &ApprovalRecord> {
        let upgrade = format!("{namespace}/{name}");
        let all = self.kept.all::<Approval>();
        all.filter(|(_, record)| *record.upgrade == *upgrade)
            .map(|(place, record)| (&place.1, record))
            .collect()
    }
}
