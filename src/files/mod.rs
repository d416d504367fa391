//! Files of users, read and written with care.
//!
//! Decides what is opened at all: regular files up to a size, links only where they stay inside what was named, and one's own
//! descriptors; and how a file is replaced: whole or not at all, through no link. Never knows what a file means.

mod read;
mod walk;
mod write;

pub use read::{inspect, names, read, read_text};
pub use walk::{Found, Refused, Walk};
pub use write::{Access, create, write};
