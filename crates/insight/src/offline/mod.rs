//! A hub that is only a heap of objects, from files, from a dump, or read from a live hub.
//!
//! Decides what a dump holds and leaves out, and which object a file means. Everything that is known about the objects is
//! worked out by the store that the controllers use, fed with them; nothing here is a second implementation of it.

mod definitions;
mod dump;
mod find;
mod hidden;
mod hub;
mod redact;
mod secret;

pub use definitions::Definition;
pub use dump::{Dump, DumpError, FORMAT, RedactedDump};
pub use hub::{Hub, Knowledge};
pub use store::Identity;

#[cfg(test)]
mod applied_tests;
