//! The editor room: what is told of manifests while they are written.
//!
//! Decides what an editor shows: findings where they stand, the words of a field, the names that may stand at a place. Whether an object
//! is right is asked of `check`, what a field means of `explain`. Reads no file and no socket: texts come in, answers go out. Whatever
//! the texts and the places are, nothing panics.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod caret;
mod complete;
mod diagnose;
mod hover;
mod names;
mod sheet;
mod typed;
mod workspace;

pub use workspace::{LARGEST, Workspace};
