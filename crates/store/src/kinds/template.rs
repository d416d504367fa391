//! `AddOnTemplate`: what an add-on deploys, and in which version.
//!
//! Decides how it is read; `configs` files it.

use serde_json::Value;

use super::configs;
use super::stored::Stored;
use crate::decode::content::template;
use crate::decode::read::{label, parse};
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::{Config, Content, Meta};
use crate::store::Store;
use api::names::labels;
use api::v1alpha1::AddOnTemplate;

/// The row of the kind.
pub(crate) struct Template;

impl Stored for Template {
    type Record = Config;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let parsed: AddOnTemplate = parse(object)?;
        let version = label(&parsed.metadata, labels::TEMPLATE_VERSION).map(String::as_str);
        let addon = store.names.share(&parsed.spec.addon_name);
        let reserved = &store.settings.reserved_signers;
        let content = template(object, parsed.spec, reserved, &mut store.names);
        let config = configs::record(
            store,
            object,
            &parsed.metadata,
            Content::Template(content),
            version,
        )?;
        Ok(Config { addon, ..config })
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        configs::file(store, key, record, touched);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        configs::meta(store, key)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        configs::keys(store, Kind::Template)
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        configs::unfile(store, key, touched);
    }
}
