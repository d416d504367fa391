//! `AddOnDeploymentConfig`: what an add-on is configured with on a cluster.
//!
//! Decides how it is read; `configs` files it.

use serde_json::Value;

use super::configs;
use super::stored::Stored;
use crate::decode::content::deployment_config;
use crate::decode::read::parse;
use crate::kind::Touched;
use crate::kind::{Kind, ObjectKey};
use crate::record::{Config, Content, Meta};
use crate::store::Store;
use api::v1alpha1::AddOnDeploymentConfig;

/// The row of the kind.
pub(crate) struct DeploymentConfig;

impl Stored for DeploymentConfig {
    type Record = Config;

    fn decode(store: &mut Store, _key: &ObjectKey, object: &Value) -> Result<Self::Record, String> {
        let parsed: AddOnDeploymentConfig = parse(object)?;
        let content = deployment_config(object, parsed.spec, &mut store.names);
        configs::record(
            store,
            object,
            &parsed.metadata,
            Content::Deployment(content),
            None,
        )
    }

    fn file(store: &mut Store, key: &ObjectKey, record: Self::Record, touched: &mut Touched) {
        configs::file(store, key, record, touched);
    }

    fn meta<'s>(store: &'s Store, key: &ObjectKey) -> Option<&'s Meta> {
        configs::meta(store, key)
    }

    fn keys(store: &Store) -> Vec<ObjectKey> {
        configs::keys(store, Kind::DeploymentConfig)
    }

    fn unfile(store: &mut Store, key: &ObjectKey, touched: &mut Touched) {
        configs::unfile(store, key, touched);
    }
}
