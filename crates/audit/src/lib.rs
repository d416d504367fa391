//! What would the gate say of the objects that are stored already?
//!
//! Decides with the gate's own function, as if every object were created now; which objects must be judged again when
//! something changes; and what a report says. Never waits, never asks a hub, never keeps an object.

mod digest;
mod drift;
mod facts_diff;
mod finding;
mod first_seen;
mod inputs;
mod judge;
mod ledger;
mod report;
mod report_api;
mod told;

pub use digest::Digest;
pub use drift::is_intact;
pub use facts_diff::{Asks, Shift};
pub use finding::{Counts, Finding, FindingState};
pub use first_seen::stamp;
pub use inputs::{Inputs, Part};
pub use judge::{is_going, judge};
pub use ledger::{AuditedObject, Bearing, Ledger, Tally};
pub use report::{Entry, MOST_RESULTS, Sheet};
pub use report_api::{CONTENT, MANAGED_BY, MANAGER, NAME, ReportKind, content_of, report};
pub use told::{Told, ToldFinding};

pub use admission::{Facts, ObjectKey, Rulebook};
use store::Kind;

/// The kinds that are audited: those about whose creation the gate is asked.
pub const KINDS: [Kind; 6] = [
    Kind::AddOn,
    Kind::Instance,
    Kind::DeploymentConfig,
    Kind::Template,
    Kind::HubConfig,
    Kind::Upgrade,
];
