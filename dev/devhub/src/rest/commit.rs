//! The last steps of a write.
//!
//! Decides how an accepted object is committed and what the hub does because of it.

use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use crate::admission::{Hooks, Policies};
use crate::error::ApiError;
use crate::hub::Hub;
use crate::registry::{Served, is_view};
use crate::store::{Change, Page, Unwritten, Write};
use crate::{builtin, crd};

/// Commits a write of an object in its stored version and lets the hub react.
pub(super) fn commit(call: &Call, key: &str, write: &Write<'_>) -> Result<Change, Unwritten> {
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
    let (Change::Stored(record) | Change::Same(record) | Change::Removed(record, _)) = &change;
    if !matches!(change, Change::Same(_)) {
        after_commit(&call.hub, &call.served, record.name());
    }
    Ok(change)
}

/// Returns the object as stored, or as it was when removed.
pub(super) async fn outcome(call: &Call, change: &Change) -> Result<Value, ApiError> {
    match change {
        Change::Stored(record) | Change::Same(record) => call.read(record, record.version).await,
        Change::Removed(record, version) => call.read(record, *version).await,
    }
}

/// Lets the hub react to a changed object: definitions and webhook configurations take effect at once.
pub(crate) fn after_commit(hub: &Arc<Hub>, served: &Served, name: &str) {
    let resource = &served.resource;
    match (resource.group.as_str(), resource.plural.as_str()) {
        ("apiextensions.k8s.io", "customresourcedefinitions") => {
            react(hub, name);
        }
        (
            "admissionregistration.k8s.io",
            "mutatingwebhookconfigurations" | "validatingwebhookconfigurations",
        ) => {
            install_webhooks(hub);
        }
        (
            "admissionregistration.k8s.io",
            "validatingadmissionpolicies" | "validatingadmissionpolicybindings",
        ) => {
            install_policies(hub);
        }
        _ => {}
    }
}

/// Lets a definition take effect, after a while if that is asked for.
fn react(hub: &Arc<Hub>, name: &str) {
    let delay = hub.fault_injector.crd_delay();
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
fn install_webhooks(hub: &Hub) {
    let _turn = hub.react_alone();
    let mutating = registered(hub, "mutatingwebhookconfigurations");
    let validating = registered(hub, "validatingwebhookconfigurations");
    let hooks = Hooks::from_objects(&mutating, &validating, &hub.services);
    hub.chain.install(hooks);
}

/// Lets the stored policies and bindings take effect.
fn install_policies(hub: &Hub) {
    let _turn = hub.react_alone();
    let policies = registered(hub, "validatingadmissionpolicies");
    let bindings = registered(hub, "validatingadmissionpolicybindings");
    let policies = Policies::from_objects(&policies, &bindings);
    hub.chain.install_policies(policies);
}

/// Returns all objects of a kind of admission.
fn registered(hub: &Hub, plural: &str) -> Vec<Value> {
    let registry = hub.directory.load();
    let Some(served) = registry.find("admissionregistration.k8s.io", "v1", plural) else {
        return Vec::new();
    };
    let Ok(snapshot) = served.table.list(&Page::default()) else {
        return Vec::new();
    };
    let records = snapshot.records.iter();
    records
        .map(|record| served.decode(record, record.version))
        .collect()
}
