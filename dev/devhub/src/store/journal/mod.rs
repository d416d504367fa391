//! The store on disk: an append-only log with a checksum for every record.
//!
//! Decides what is written before a write is answered, and what is believed when a hub starts again. See `docs/data.md`.

mod disk;
mod frame;
mod replay;

pub(crate) use disk::Journal;
pub use disk::JournalError;
pub(crate) use frame::{Entry, EntryKind};
pub(crate) use replay::Replay;
