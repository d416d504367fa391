//! `Role` that is labelled as one that agents may have: read, and never written.
//!
//! Decides nothing; `registration::roles` says what it gives away.

use serde_json::Value;

use super::plain::Plain;
use crate::kind::{Kind, ObjectKey, Touched};
use crate::parts::kept::keeps;
use crate::registration::role_facts::{RoleRecord, hub_role};
use crate::store::Store;

/// The row of the kind.
pub(crate) struct HubRole;

keeps!(HubRole, RoleRecord);

impl Plain for HubRole {
    const KIND: Kind = Kind::HubRole;

    fn read(_store: &mut Store, object: &Value) -> Result<RoleRecord, String> {
        hub_role(object)
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&RoleRecord>, touched: &mut Touched) {
        store.hub_role_changed(key, before, touched);
    }
}
