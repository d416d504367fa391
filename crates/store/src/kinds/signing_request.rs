//! `CertificateSigningRequest` of an agent.
//!
//! Decides nothing; `registration::filing` files it.

use serde_json::Value;

use super::stored::Stored;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::Meta;
use crate::registration::requests::{Request, request};
use crate::store::Store;
use model::Name;

/// The row of the kind.
pub(crate) struct SigningRequest;

impl Stored for SigningRequest {
    type Record = Option<(Name, Request)>;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        request(object, &mut store.names)
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        match record {
            Some((addon, request)) => store.insert_request(addon, request, touched),
            None => Self::unfile(store, key, touched),
        }
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        store.request(&key.name).map(|found| &found.meta)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        let names = store.objects.requests.keys();
        names
            .map(|name| ObjectKey::new(Kind::SigningRequest, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        store.remove_request(&key.name, touched);
    }
}
