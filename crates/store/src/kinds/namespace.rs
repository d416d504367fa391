//! `Namespace`: labels and annotations that policies ask for.
//!
//! Decides nothing: plans read of a namespace only whether it is being deleted.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::stored::Plain;
use crate::decode::read::{meta, parse};
use crate::facts::NamespaceFacts;
use crate::kind::{Kind, ObjectKey, Owner, Touched};
use crate::parts::kept::keeps;
use crate::record::Meta;
use crate::store::Store;

/// The row of the kind.
pub(crate) struct Namespace;

/// What is kept of a namespace.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NamespaceRecord {
    /// Identity and revision.
    pub(crate) meta: Meta,
    /// What policies may ask about it.
    pub(crate) facts: Arc<NamespaceFacts>,
}

keeps!(Namespace, NamespaceRecord);

impl Plain for Namespace {
    const KIND: Kind = Kind::Namespace;

    fn read(store: &mut Store, object: &Value) -> Result<NamespaceRecord, String> {
        let metadata: ObjectMeta = parse(object.get("metadata").unwrap_or(&Value::Null))?;
        Ok(NamespaceRecord {
            meta: meta(&metadata)?,
            facts: Arc::new(NamespaceFacts::of(&metadata, &mut store.names)),
        })
    }

    fn changed(store: &mut Store, key: &ObjectKey, before: Option<&NamespaceRecord>, touched: &mut Touched) {
        store.published.namespace_changed(&key.name);
        let is_open = |known: &NamespaceRecord| !known.meta.deleting;
        let now = store.kept.get::<Self>(&key.place()).is_some_and(is_open);
        if now == before.is_some_and(is_open) {
            return;
        }
        // Content of templates is kept there.
        if key.name == store.settings.namespace {
            store.touch_all(touched);
        }
        // In the namespace of a cluster hooks of add-ons run, as long as it is not being deleted.
        for addon in store.indexes.by_cluster.of(&key.name) {
            let owner = Owner::addon(addon);
            store.changes.of_cluster(&owner, &key.name);
            touched.insert(owner);
        }
    }
}
