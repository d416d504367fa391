//! All versions of a definition, served or not.
//!
//! Decides in which version objects are stored, what an object of one version needs to be seen in another, and what a
//! version's schema leaves of it.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use schema::Schema;
use serde_json::Value;

use super::Webhook;
use crate::admission::Conversion;
use crate::error::ApiError;
use crate::store::Record;

/// What is known of one version.
#[derive(Clone, Debug)]
pub(crate) struct VersionSchema {
    /// Its schema.
    pub(crate) schema: Arc<Schema>,
    /// The schema as written in the definition.
    pub(crate) open_api: Arc<Value>,
    /// Number of that schema.
    pub(crate) shape: u32,
}

/// All versions of a definition.
#[derive(Debug)]
pub(crate) struct Versions {
    /// API group.
    pub(crate) group: String,
    /// Kind of the objects.
    pub(crate) kind: String,
    /// The version in which objects are stored.
    pub(crate) storage: String,
    /// Versions by name.
    pub(crate) known: BTreeMap<String, VersionSchema>,
    /// The webhook that converts; none if versions differ in `apiVersion` only.
    pub(crate) webhook: Option<Webhook>,
}

impl Versions {
    /// Returns `group/version`.
    pub(crate) fn api_version(&self, version: &str) -> String {
        format!("{}/{version}", self.group)
    }

    /// Returns the version in which a record was written; one that does not say was written in the storage version.
    pub(crate) fn of<'a>(&'a self, record: &'a Record) -> &'a str {
        match &*record.written_in {
            "" => &self.storage,
            version => version,
        }
    }

    /// Returns the number of the schema under which objects are stored.
    pub(crate) fn storage_shape(&self) -> u32 {
        self.known.get(&self.storage).map_or(0, |known| known.shape)
    }

    /// Returns a stored object in the version in which it was written, as today's schema of that version shows it.
    pub(crate) fn stored(&self, record: &Record, resource_version: u64) -> Value {
        let version = self.of(record);
        let mut object = record.decode(&self.api_version(version), &self.kind, resource_version);
        if let Some(known) = self
            .known
            .get(version)
            .filter(|known| known.shape != record.shape)
        {
            known.schema.prune(&mut object);
            known.schema.apply_defaults(&mut object);
        }
        object
    }

    /// Returns an object in another version, if no webhook has to be asked: then only `apiVersion` differs, and what the
    /// other version's schema leaves.
    pub(crate) fn renamed(&self, mut object: Value, version: &str) -> Value {
        if let Some(members) = object.as_object_mut() {
            members.insert("apiVersion".to_owned(), Value::String(self.api_version(version)));
        }
        self.settle(&mut object, version);
        object
    }

    /// Converts objects to a version, in one call for all that have another one.
    pub(crate) async fn convert(&self, objects: Vec<Value>, version: &str) -> Result<Vec<Value>, ApiError> {
        let desired = self.api_version(version);
        let is_foreign = |object: &Value| object.get("apiVersion").and_then(Value::as_str) != Some(&desired);
        if !objects.iter().any(is_foreign) {
            return Ok(objects);
        }
        self.check_version(version, "to")?;
        for object in &objects {
            let from = object
                .get("apiVersion")
                .and_then(Value::as_str)
                .unwrap_or_default();
            self.check_version(from.rsplit('/').next().unwrap_or_default(), "from")?;
        }
        let Some(webhook) = &self.webhook else {
            let renamed = |object: Value| {
                if is_foreign(&object) {
                    self.renamed(object, version)
                } else {
                    object
                }
            };
            return Ok(objects.into_iter().map(renamed).collect());
        };
        let foreign: Vec<Value> = objects
            .iter()
            .filter(|object| is_foreign(object))
            .cloned()
            .collect();
        let converted = webhook.convert(foreign, &desired).await.map_err(failed)?;
        let mut converted = converted.into_iter();
        let replaced = objects.into_iter().filter_map(|object| {
            if !is_foreign(&object) {
                return Some(object);
            }
            let mut object = converted.next()?;
            self.settle(&mut object, version);
            Some(object)
        });
        Ok(replaced.collect())
    }

    fn settle(&self, object: &mut Value, version: &str) {
        if let Some(known) = self.known.get(version) {
            known.schema.prune(object);
        }
    }

    /// A stored version may be gone from the definition when a client took it out of `status.storedVersions`.
    fn check_version(&self, version: &str, direction: &str) -> Result<(), ApiError> {
        if self.known.contains_key(version) {
            return Ok(());
        }
        let shown = self.api_version(version);
        Err(failed(format!(
            "request to convert CR {direction} an invalid group/version: {shown}"
        )))
    }
}

impl Conversion for Versions {
    fn convert<'a>(
        &'a self,
        object: &'a Value,
        api_version: &'a str,
    ) -> BoxFuture<'a, Result<Value, String>> {
        let version = api_version.rsplit('/').next().unwrap_or_default();
        async move {
            let converted = Self::convert(self, vec![object.clone()], version).await;
            let converted = converted.map_err(|error| error.message)?;
            converted
                .into_iter()
                .next()
                .ok_or_else(|| "a conversion lost an object".to_owned())
        }
        .boxed()
    }
}

/// Returns the answer to a request that needed a conversion that failed.
fn failed(cause: String) -> ApiError {
    ApiError::new(500, "", cause)
}
