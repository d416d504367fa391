//! The tap: tells the audit which objects the watches show, beside the store that they feed.
//!
//! Decides which objects are sent along: only a limited number at a time, because a watch never waits for the audit. Of the others only
//! names are sent, and the audit reads the objects later.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use audit::{AuditedObject, Digest, KINDS, is_going};
use store::{Event, Kind, Name, ObjectKey};

/// Maximum text in the channel, in KiB.
const CAPACITY_KIB: usize = 4 << 10;

/// The sender for the watches.
#[derive(Clone, Debug)]
pub struct WatchTap {
    sender: mpsc::UnboundedSender<Sighting>,
    capacity: Arc<Semaphore>,
}

/// The receiver of the audit.
#[derive(Debug)]
pub struct Sightings(pub(super) mpsc::UnboundedReceiver<Sighting>);

/// What a watch has shown.
#[derive(Debug)]
pub(super) enum Sighting {
    /// An object is there.
    Shown(Spotted),
    /// An object was deleted, or is being deleted.
    Gone(ObjectKey),
    /// These are all objects of a kind; each was shown before.
    Listed(Kind, BTreeSet<ObjectKey>),
}

/// An object that is there.
#[derive(Debug)]
pub(super) struct Spotted {
    pub(super) seen: AuditedObject,
    /// The object itself, if there was capacity.
    pub(super) object: Option<Carried>,
}

/// An object that is sent along, as text, with its permit.
#[derive(Debug)]
pub(super) struct Carried {
    text: Box<str>,
    _permit: OwnedSemaphorePermit,
}

impl Carried {
    /// Returns the text of the object.
    pub(super) fn into_text(self) -> Box<str> {
        self.text
    }
}

/// Returns sender and receiver.
pub fn tap() -> (WatchTap, Sightings) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let capacity = Arc::new(Semaphore::new(CAPACITY_KIB));
    (WatchTap { sender, capacity }, Sightings(receiver))
}

impl WatchTap {
    /// Sends an event, if its kind is audited. Never waits.
    pub(in crate::controllers) fn see(&self, event: &Event) {
        let sighting = match event {
            Event::Applied { kind, object } | Event::Unreadable { kind, object, .. }
                if KINDS.contains(kind) =>
            {
                if is_going(object) {
                    Sighting::Gone(key(*kind, object))
                } else {
                    Sighting::Shown(self.spot(*kind, object))
                }
            }
            Event::Deleted { kind, object } if KINDS.contains(kind) => Sighting::Gone(key(*kind, object)),
            Event::ListEnded { kind, keys } if KINDS.contains(kind) => Sighting::Listed(*kind, keys.clone()),
            Event::Withheld { kind } if KINDS.contains(kind) => Sighting::Listed(*kind, BTreeSet::new()),
            Event::Applied { .. }
            | Event::Unreadable { .. }
            | Event::Deleted { .. }
            | Event::Listed { .. }
            | Event::ListEnded { .. }
            | Event::Withheld { .. }
            | Event::Hidden { .. }
            | Event::Answered { .. }
            | Event::TypeFaulty { .. } => return,
        };
        // The audit has ended before the watches only while the program is stopping.
        let _heard = self.sender.send(sighting).is_ok();
    }

    fn spot(&self, kind: Kind, object: &Value) -> Spotted {
        let carry = || {
            let text = object.to_string().into_boxed_str();
            let size = u32::try_from(text.len() / 1024 + 1).ok()?;
            let permit = Arc::clone(&self.capacity).try_acquire_many_owned(size).ok()?;
            Some(Carried {
                text,
                _permit: permit,
            })
        };
        Spotted {
            seen: seen(kind, object),
            object: (self.capacity.available_permits() > 0).then(carry).flatten(),
        }
    }
}

/// Returns the data of an object that the audit needs.
pub(super) fn seen(kind: Kind, object: &Value) -> AuditedObject {
    AuditedObject {
        key: key(kind, object),
        uid: text(object, "uid"),
        digest: Digest::of(object),
    }
}

fn key(kind: Kind, object: &Value) -> ObjectKey {
    let namespace = if kind.address().namespaced {
        text(object, "namespace")
    } else {
        Name::from("")
    };
    ObjectKey::new(kind, namespace, text(object, "name"))
}

fn text(object: &Value, field: &str) -> Name {
    let value = object
        .get("metadata")
        .and_then(|metadata| metadata.get(field)?.as_str());
    Name::from(value.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn event(kind: Kind, metadata: &Value) -> Event {
        Event::Applied {
            kind,
            object: json!({"metadata": metadata, "spec": {}}),
        }
    }

    #[test]
    fn only_audited_kinds_are_reported_and_what_is_deleted_is_removed() {
        let (tap, mut sightings) = tap();
        tap.see(&event(Kind::Work, &json!({"name": "w"})));
        tap.see(&event(Kind::AddOn, &json!({"name": "a"})));
        tap.see(&event(
            Kind::AddOn,
            &json!({"name": "a", "deletionTimestamp": "2026-11-21T00:00:00Z"}),
        ));
        let mut next = || sightings.0.try_recv();
        assert!(matches!(next(), Ok(Sighting::Shown(one)) if one.object.is_some()));
        assert!(matches!(next(), Ok(Sighting::Gone(key)) if &*key.name == "a"));
        assert!(next().is_err());
    }

    #[test]
    fn a_crowd_is_sent_by_name_only_until_there_is_capacity_again() {
        let (tap, mut sightings) = tap();
        let objects = (0..CAPACITY_KIB + 10).map(|n| json!({"metadata": {"name": format!("a{n}")}}));
        for object in objects {
            tap.see(&Event::Applied {
                kind: Kind::AddOn,
                object,
            });
        }
        let mut all = Vec::new();
        while let Ok(Sighting::Shown(one)) = sightings.0.try_recv() {
            all.push(one);
        }
        assert_eq!(
            all.iter().filter(|one| one.object.is_some()).count(),
            CAPACITY_KIB
        );
        assert_eq!(all.len(), CAPACITY_KIB + 10);
        drop(all);
        tap.see(&event(Kind::AddOn, &json!({"name": "late"})));
        assert!(matches!(sightings.0.try_recv(), Ok(Sighting::Shown(one)) if one.object.is_some()));
    }
}
