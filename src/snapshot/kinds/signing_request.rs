//! `CertificateSigningRequest` of an agent.
//!
//! Decides nothing; `registration::filing` files it.

use serde_json::Value;

use super::row::{Address, Label, Need, Stored, cluster_scoped};
use crate::snapshot::kind::{Kind, ObjectKey};
use crate::snapshot::names::Name;
use crate::snapshot::record::Meta;
use crate::snapshot::registration::requests::{Request, request};
use crate::snapshot::store::{Store, Touched};
use crate::snapshot::terms;

/// The row of the kind.
pub(in crate::snapshot) struct SigningRequest;

impl Stored for SigningRequest {
    type Record = Option<(Name, Request)>;
    const ADDRESS: Address = cluster_scoped(
        "certificates.k8s.io",
        "v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
    );
    const NEED: Need = Need::ForRegistration;
    // Anybody may create requests; only those that say whose they are can be answered.
    const SELECTOR: &'static [Label] = &[Label::Has(terms::ADDON_NAME), Label::Has(terms::CLUSTER_NAME)];

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        request(object, &mut store.names)
    }

    fn revision(record: &Self::Record) -> Option<&Meta> {
        record.as_ref().map(|(_, request)| &request.meta)
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
        let names = store.requests.keys();
        names
            .map(|name| ObjectKey::new(Kind::SigningRequest, "", name.clone()))
            .collect()
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        store.remove_request(&key.name, touched);
    }
}
