//! Time zones for chrono, from the database that the rest of the program reads.
//!
//! Stands in for the crate of the same name, as far as the CEL library needs it: expressions such as `t.getHours("Europe/Paris")`. That one
//! carries a second database as tables of pointers, two megabytes of every binary, which the loader has to write to at every start; and two
//! databases in one program may disagree. A table of contents. Never reads a file of the machine.
#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod zone;

pub use zone::{ParseError, Tz, TzOffset, UTC};
