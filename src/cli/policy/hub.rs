//! A hub made of objects in files: where the facts of a test come from.
//!
//! Decides nothing: the objects go through the same store as those of a real hub.

use serde_json::Value;

use insight::offline::Hub;
use store::{Facts, Kind};

/// Whether the objects are the whole hub.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// What is not among them does not exist.
    Whole,
    /// It is unknown whether what is not among them exists.
    Part,
}

/// Returns the facts of a hub that holds these objects.
pub(super) fn facts(objects: &[Value], extent: Extent) -> Facts {
    let mut hub = Hub::default();
    for object in objects {
        hub.put_file(object.clone());
    }
    match extent {
        Extent::Whole => Kind::ALL.into_iter().for_each(|kind| hub.complete(kind)),
        Extent::Part => {}
    }
    hub.knowledge().known
}
