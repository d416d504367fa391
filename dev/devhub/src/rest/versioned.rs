//! Objects in the version of a request.
//!
//! Decides what has to be converted on the way between store and client, and that one call of a webhook converts all of a
//! list. `conversion` selects the stored version and converts objects.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use super::metadata;
use crate::error::ApiError;
use crate::hub::timestamp;
use crate::managed::{self, Scope, Writer};
use crate::store::Record;

impl Call {
    /// Returns a stored object as the version of the request shows it.
    pub(super) async fn read(&self, record: &Record, version: u64) -> Result<Value, ApiError> {
        if !self.served.needs_webhook(record) {
            return Ok(self.served.decode(record, version));
        }
        let objects = self.read_all(&[(record, version)]).await?;
        objects.into_iter().next().ok_or_else(lost)
    }

    /// Returns stored objects as the version of the request shows them.
    pub(super) async fn read_all(&self, records: &[(&Record, u64)]) -> Result<Vec<Value>, ApiError> {
        let read = |(record, version): &(&Record, u64)| {
            if self.served.needs_webhook(record) {
                self.served.stored(record, *version)
            } else {
                self.served.decode(record, *version)
            }
        };
        let objects: Vec<Value> = records.iter().map(read).collect();
        match &self.served.custom {
            Some(custom) => {
                custom
                    .versions
                    .convert(objects, &self.served.resource.version)
                    .await
            }
            None => Ok(objects),
        }
    }

    /// Returns an object as it is stored.
    pub(super) async fn to_storage<'v>(&self, object: &'v Value) -> Result<Cow<'v, Value>, ApiError> {
        let Some(custom) = &self.served.custom else {
            return Ok(Cow::Borrowed(object));
        };
        let versions = &custom.versions;
        if versions.storage == self.served.resource.version {
            return Ok(Cow::Borrowed(object));
        }
        let converted = versions.convert(vec![object.clone()], &versions.storage).await?;
        let mut stored = converted.into_iter().next().ok_or_else(lost)?;
        if let Some(known) = versions.known.get(&versions.storage) {
            known.schema.apply_defaults(&mut stored);
        }
        Ok(Cow::Owned(stored))
    }

    /// Returns an object as it would come back from the store.
    pub(super) async fn through_storage(&self, object: Value) -> Result<Value, ApiError> {
        let stored = match self.to_storage(&object).await? {
            Cow::Borrowed(_) => return Ok(object),
            Cow::Owned(stored) => stored,
        };
        let Some(custom) = &self.served.custom else {
            return Ok(object);
        };
        let version = &self.served.resource.version;
        let converted = custom.versions.convert(vec![stored], version).await?;
        converted.into_iter().next().ok_or_else(lost)
    }

    /// Tells whether a webhook converts the objects of the resource.
    fn is_converted(&self) -> bool {
        let custom = self.served.custom.as_ref();
        custom.is_some_and(|custom| custom.versions.webhook.is_some())
    }

    /// Finds out how objects look that ownership has to compare in other versions. True if it should compare again.
    pub(super) async fn fulfil(&self) -> Result<bool, ApiError> {
        let wishes = self.version_views.wishes();
        let Some(custom) = self.served.custom.as_ref().filter(|_| !wishes.is_empty()) else {
            return Ok(false);
        };
        let mut by_version: BTreeMap<String, Vec<_>> = BTreeMap::new();
        for wish in wishes {
            by_version.entry(wish.version.clone()).or_default().push(wish);
        }
        for (version, wishes) in by_version {
            let version = version.rsplit('/').next().unwrap_or_default();
            let objects = wishes.iter().map(|wish| wish.object.clone()).collect();
            let seen = custom.versions.convert(objects, version).await?;
            for (wish, seen) in wishes.into_iter().zip(seen) {
                self.version_views.learn(wish, seen);
            }
        }
        Ok(true)
    }

    /// Writes the owners into what `writer` makes of `old`.
    pub(super) async fn track(
        &self,
        scope: &Scope,
        (old, mut new): (Option<&Value>, Value),
        writer: &Writer,
    ) -> Value {
        let now = &timestamp();
        if !self.is_converted() {
            managed::track(scope, old, &mut new, writer, now);
            return new;
        }
        loop {
            let mut tracked = new.clone();
            managed::track(scope, old, &mut tracked, writer, now);
            // Owners that cannot be compared stay as they are.
            match self.fulfil().await {
                Ok(true) => {}
                Ok(false) | Err(_) => return tracked,
            }
        }
    }
}

fn lost() -> ApiError {
    ApiError::internal("a conversion lost an object")
}

/// Converts what watchers are about to see, by resource version. Watchers of one version share what was converted.
pub(super) async fn watched(
    call: &Call,
    records: Vec<&Arc<Record>>,
) -> Result<BTreeMap<u64, Arc<Value>>, ApiError> {
    let foreign = |record: &&Arc<Record>| call.served.needs_webhook(record);
    let records: Vec<&Arc<Record>> = records.into_iter().filter(foreign).collect();
    let Some(custom) = call.served.custom.as_ref().filter(|_| !records.is_empty()) else {
        return Ok(BTreeMap::new());
    };
    let mut recent = custom.recent.lock().await;
    let mut missing: BTreeMap<u64, &Record> = BTreeMap::new();
    for record in &records {
        if !recent.holds(record.version) {
            missing.insert(record.version, record);
        }
    }
    let pairs: Vec<(&Record, u64)> = missing
        .iter()
        .map(|(version, record)| (*record, *version))
        .collect();
    let mut seen: BTreeMap<u64, Arc<Value>> = BTreeMap::new();
    for ((_, version), object) in pairs.iter().zip(call.read_all(&pairs).await?) {
        seen.insert(*version, Arc::new(object));
    }
    for record in records {
        if let Some(known) = recent.find(record.version) {
            seen.insert(record.version, known);
        }
    }
    recent.note(&seen);
    Ok(seen)
}

/// Returns an object under another resource version.
pub(super) fn at_version(object: &Value, version: u64) -> Value {
    let mut object = object.clone();
    metadata::set(&mut object, "resourceVersion", Value::String(version.to_string()));
    object
}
