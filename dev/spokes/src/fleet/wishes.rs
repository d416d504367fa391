//! What the hub says should go wrong on each cluster: the annotation on its `ManagedCluster`, which users may write while the
//! fleet runs.
//!
//! Decides that the annotation stands for all faults of its cluster: what is not in it is healed. A text that is no fault changes
//! nothing.

use std::collections::BTreeMap;

use futures::StreamExt;
use kube::{api::DynamicObject, runtime::watcher::Event};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use tracing::warn;

use super::{agents::Command, hub::Hub, options::FleetOptions};
use crate::{
    fault::{FaultRule, Faults},
    wire::{Kind, annotation},
};

/// The faults that the hub asks for.
pub(super) struct Wishes {
    hub: Hub,
    orders: [mpsc::UnboundedSender<Command>; 2],
    known: BTreeMap<String, KnownCluster>,
}

/// What is known of a cluster of the fleet.
#[derive(Default)]
struct KnownCluster {
    /// The annotation, as far as it has been obeyed.
    faults: String,
    /// Whether it was ever there.
    was_there: bool,
    /// The uid of the last observed object; another object with the name registers again.
    uid: String,
}

impl Wishes {
    pub(super) fn new(hub: Hub, options: &FleetOptions, orders: [mpsc::UnboundedSender<Command>; 2]) -> Self {
        let names = options.names().into_iter();
        let known = names.map(|name| {
            let faults = options.faults.on_cluster(&name);
            (
                name,
                KnownCluster {
                    faults,
                    ..KnownCluster::default()
                },
            )
        });
        Self {
            hub,
            orders,
            known: known.collect(),
        }
    }

    pub(super) async fn run(mut self, stop: CancellationToken) {
        let mut changes = self.hub.watch(Kind::ManagedCluster);
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Some(change) = changes.next() => match change {
                    Event::Apply(object) | Event::InitApply(object) => self.obey(&object),
                    Event::Init | Event::InitDone | Event::Delete(_) => {}
                },
            }
        }
    }

    fn obey(&mut self, object: &DynamicObject) {
        let Some(name) = object.metadata.name.as_deref() else {
            return;
        };
        let annotations = object.metadata.annotations.as_ref();
        let wanted = annotations.and_then(|all| all.get(annotation::FAULTS));
        let Some(known) = self.known.get_mut(name) else {
            return;
        };
        let uid = object.metadata.uid.clone().unwrap_or_default();
        let is_another = !known.uid.is_empty() && known.uid != uid;
        known.uid = uid;
        let orders = &self.orders;
        let send = |command: &Command| {
            for orders in orders {
                // A task that has ended needs no orders.
                let _heard = orders.send(command.clone()).is_ok();
            }
        };
        if is_another {
            send(&Command::Recreated(name.to_owned()));
        }
        // A cluster that was there before the fleet has no annotation yet: that heals none of the fleet's own faults.
        if wanted.is_none() && !known.was_there {
            return;
        }
        known.was_there = true;
        let wanted = wanted.map_or("", |text| text.trim());
        if known.faults == wanted {
            return;
        }
        wanted.clone_into(&mut known.faults);
        match rules(name, wanted) {
            Ok(faults) => {
                send(&Command::ClearFaults(name.to_owned()));
                for rule in faults.rules() {
                    send(&Command::AddFault(rule.clone()));
                }
            }
            Err(error) => {
                warn!(cluster = name, %error, "an annotation asks for a fault that is none; nothing changes");
            }
        }
    }
}

/// Reads the annotation of a cluster: one fault a line.
fn rules(cluster: &str, text: &str) -> Result<Faults, crate::FaultTextError> {
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let rules: Result<Vec<FaultRule>, _> = lines.map(|line| format!("{cluster}={line}").parse()).collect();
    rules.map(Faults::from_iter)
}
