//! The last steps of a write.
//!
//! Decides how an accepted object is committed and what the hub does because of it.

use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use super::metadata;
use crate::admission::Hooks;
use crate::hub::Hub;
use crate::registry::{Served, is_view};
use crate::store::{Change, Unwritten, Write};
use crate::{builtin, crd};

/// Commits a write and lets the hub react. Returns the object as stored, or as it was when removed.
pub(super) fn commit(call: &Call, key: &str, write: &Write<'_>) -> Result<Value, Unwritten> {
    let change = if is_view(&call.served.resource) {
        match write {
            Write::Create(object) => {
                call.served
                    .table
                    .write(key, 0, &Write::Create(&builtin::events::to_core(object)))?
            }
            Write::Replace(version, object) => call.served.table.write(
                key,
                0,
                &Write::Replace(*version, &builtin::events::to_core(object)),
            )?,
            Write::Remove(version) => call.served.table.write(key, 0, &Write::Remove(*version))?,
        }
    } else {
        call.served.table.write(key, call.served.shape(), write)?
    };
    let object = match &change {
        Change::Stored(record) | Change::Same(record) => call.served.decode(record, record.version),
        Change::Removed(record, version) => call.served.decode(record, *version),
    };
    if !matches!(change, Change::Same(_)) {
        after_commit(&call.hub, &call.served, &object);
    }
    Ok(object)
}

/// Lets the hub react to a changed object: definitions and webhook configurations take effect at once.
pub(crate) fn after_commit(hub: &Arc<Hub>, served: &Served, object: &Value) {
    let resource = &served.resource;
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            react(hub, metadata::text(object, "name"));
        }
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => {
            install_webhooks(hub);
        }
        _ => {}
    }
}

/// Lets a definition take effect, after a while if that is asked for.
fn react(hub: &Arc<Hub>, name: &str) {
    let delay = hub.mischief.crd_delay();
    // What is loaded before the hub listens is served when it does.
    if delay.is_zero() || hub.address().is_empty() {
        crd::react(hub, name);
        return;
    }
    let (late, name) = (Arc::clone(hub), name.to_owned());
    hub.tasks.spawn(async move {
        tokio::select! {
            () = late.stop.cancelled() => {}
            () = tokio::time::sleep(delay) => crd::react(&late, &name),
        }
    });
}

/// Lets the stored webhook configurations take effect.
pub(crate) fn install_webhooks(hub: &Hub) {
    let _turn = hub.react_alone();
    let registry = hub.directory.load();
    let all = |plural: &str| -> Vec<Value> {
        let Some(served) = registry.find("admissionregistration.k8s.io", "v1", plural) else {
            return Vec::new();
        };
        let snapshot = served.table.list(&crate::store::Page::default());
        snapshot
            .map(|snapshot| {
                snapshot
                    .records
                    .iter()
                    .map(|record| served.decode(record, record.version))
                    .collect()
            })
            .unwrap_or_default()
    };
    let (mutating, validating) = (
        all("mutatingwebhookconfigurations"),
        all("validatingwebhookconfigurations"),
    );
    hub.chain
        .install(Hooks::from_objects(&mutating, &validating, &hub.services));
}
