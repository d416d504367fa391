//! The kinds that the store knows, and the keys of their objects.
//!
//! A table of contents.

mod about;
mod address;
mod object_key;
mod row;

pub use address::Address;
pub use object_key::{ObjectKey, Owner, Place, Touched, WriteQueue};
pub use row::{ADDON_GROUP, Kind};
