//! The audit room: what would the gate say of the objects that are stored already?
//!
//! Decides with the gate's own function, as if every object were created now; which objects must be judged again when
//! something changes; and what a report says. Never waits, never asks a hub, never keeps an object.

#![deny(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm
)]

mod digest;
mod finding;
mod footprint;
mod form;
mod intact;
mod judge;
mod ledger;
mod sheet;
mod shift;
mod stamp;

pub use digest::Digest;
pub use finding::{Counts, Finding, Standing};
pub use footprint::{Footprint, Part};
pub use form::{CONTENT, Form, MANAGED_BY, MANAGER, NAME, content_of, report};
pub use intact::is_intact;
pub use judge::{is_going, judge};
pub use ledger::{Bearing, Ledger, Seen, Tally};
pub use sheet::{Entry, MOST_RESULTS, Sheet};
pub use shift::{Asks, Shift};
pub use stamp::stamp;

pub use crate::admission::{Facts, ObjectKey, Rulebook};
use crate::snapshot::Kind;

/// The kinds that are audited: those that the gate is asked about.
pub const KINDS: [Kind; 5] = [
    Kind::AddOn,
    Kind::Instance,
    Kind::DeploymentConfig,
    Kind::Template,
    Kind::HubConfig,
];
