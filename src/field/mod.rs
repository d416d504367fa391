//! The field room: where a fault is, what it is, and how it reads.
//!
//! Decides how paths, violations and warnings look, down to the `Status` that kubectl prints as native bullets.
//! Never decides whether there is a fault, and knows no kind.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod findings;
mod path;
mod status;
mod suggest;
mod text;
mod violation;

pub use findings::{Findings, Warning};
pub use path::{Path, Segment};
pub use status::{Identity, MESSAGE_LIMIT, MOST_CAUSES, Status};
pub use suggest::nearest;
pub use text::{counted, listed, one_line, quoted};
pub use violation::{Class, Fault, Violation};
