//! `Namespace`: labels and annotations that policies ask for.
//!
//! Decides nothing: nobody's plan reads namespaces, but for their end.

use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde_json::Value;

use super::stored::Stored;
use crate::decode::read::{meta, parse};
use crate::facts::NamespaceFacts;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::{self, Meta};
use crate::store::Store;

/// The row of the kind.
pub(crate) struct Namespace;

impl Stored for Namespace {
    type Record = record::Namespace;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let metadata: ObjectMeta = parse(object.get("metadata").unwrap_or(&Value::Null))?;
        Ok(record::Namespace {
            meta: meta(&metadata)?,
            facts: Arc::new(NamespaceFacts::of(&metadata, &mut store.names)),
        })
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        Some(&record.meta)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, _touched: &mut Touched) {
        let known = store.objects.namespaces.get(&key.name);
        if known.is_none_or(|old| old.facts != record.facts) {
            store.published.namespace_changed(&key.name);
        }
        let name = store.names.share(&key.name);
        store.objects.namespaces.insert(name, record);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.objects.namespaces.get(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.namespaces.keys();
        names
            .map(|name| ObjectKey::new(Kind::Namespace, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, _touched: &mut Touched) {
        store.objects.namespaces.remove(&key.name);
        store.published.namespace_changed(&key.name);
    }
}
