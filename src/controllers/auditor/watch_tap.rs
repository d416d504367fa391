//! The tap: tells the audit which objects the watches show, beside the store that they feed.
//!
//! Decides which objects travel along: only so many at a time, because a watch never waits for the audit. Of the others only
//! names are told, and the audit reads them again when it comes to them.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc};

use audit::{AuditedObject, Digest, KINDS, is_going};
use store::{Event, Kind, Name, ObjectKey};

/// How much text may travel at the same time, in KiB.
const ROOM: usize = 4 << 10;

/// The end at which the watches tell.
#[derive(Clone, Debug)]
pub struct WatchTap {
    sender: mpsc::UnboundedSender<Sighting>,
    room: Arc<Semaphore>,
}

/// The end at which the audit hears.
#[derive(Debug)]
pub struct Sightings(pub(super) mpsc::UnboundedReceiver<Sighting>);

/// What a watch has shown.
#[derive(Debug)]
pub(super) enum Sighting {
    /// An object is there.
    Shown(Spotted),
    /// An object is gone, or going.
    Gone(ObjectKey),
    /// These are all objects of a kind; each was shown before.
    Listed(Kind, BTreeSet<ObjectKey>),
}

/// An object that is there.
#[derive(Debug)]
pub(super) struct Spotted {
    pub(super) seen: AuditedObject,
    /// The object itself, if there was room.
    pub(super) object: Option<Carried>,
}

/// An object that travels, as text, and the room that it takes.
#[derive(Debug)]
pub(super) struct Carried {
    text: Box<str>,
    _room: OwnedSemaphorePermit,
}

impl Carried {
    /// Returns the text of the object.
    pub(super) fn into_text(self) -> Box<str> {
        self.text
    }
}

/// Returns both ends.
pub fn tap() -> (WatchTap, Sightings) {
    let (sender, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(ROOM));
    (WatchTap { sender, room }, Sightings(receiver))
}

impl WatchTap {
    /// Tells of an event, if it is about a kind that is audited. Never waits.
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
            let room = Arc::clone(&self.room).try_acquire_many_owned(size).ok()?;
            Some(Carried { text, _room: room })
        };
        Spotted {
            seen: seen(kind, object),
            object: (self.room.available_permits() > 0).then(carry).flatten(),
        }
    }
}

/// Returns what the audit has to know of an object.
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
    fn only_audited_kinds_are_told_and_what_goes_is_gone() {
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
    fn a_crowd_is_told_by_name_only_until_there_is_room_again() {
        let (tap, mut sightings) = tap();
        let objects = (0..ROOM + 10).map(|n| json!({"metadata": {"name": format!("a{n}")}}));
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
        assert_eq!(all.iter().filter(|one| one.object.is_some()).count(), ROOM);
        assert_eq!(all.len(), ROOM + 10);
        drop(all);
        tap.see(&event(Kind::AddOn, &json!({"name": "late"})));
        assert!(matches!(sightings.0.try_recv(), Ok(Sighting::Shown(one)) if one.object.is_some()));
    }
}
