//! Objects as bytes, one order of writes, and a bounded history that watchers read at their own pace.
//!
//! Decides what a write does to the stored state and which resource version it gets; knows no kind and no rule about objects.

mod record;
mod table;
mod tables;

pub use record::{Labels, Record, key_of};
pub use table::{Change, Event, EventKind, Page, Snapshot, Table, TooOld, Unwritten, Write};
pub(crate) use tables::Clock;
pub use tables::Store;
