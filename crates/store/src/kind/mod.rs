//! The kinds that the store knows, and the keys of their objects.
//!
//! A table of contents.

mod about;
mod address;
mod object_key;
mod rights;
mod row;

pub use address::Address;
pub(crate) use address::{Holds, Memory};
pub use object_key::{ObjectKey, Owner, Place, Touched, WriteQueue};
pub use rights::{Read, Sent, Write};
pub use row::{ADDON_GROUP, Kind};
