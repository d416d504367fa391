//! What would the gate say of the objects that are stored already?
//!
//! Decides with the gate's own function, as if every object were created now; which objects must be judged again when
//! something changes; and what a report says. Never waits, never asks a hub, never keeps an object.

mod facts_diff;
mod finding;
mod inputs;
mod judge;
mod ledger;
mod report;
mod report_api;
mod shown_findings;

pub use facts_diff::{Asks, Shift};
pub use finding::{Counts, Finding, FindingState};
pub use inputs::{Inputs, Part};
pub use judge::{is_going, judge};
pub use ledger::{AuditedObject, Bearing, Digest, Ledger, Tally};
pub use report::{Entry, MOST_RESULTS, NamespaceReport};
pub use report_api::{CONTENT, MANAGED_BY, MANAGER, NAME, ReportKind, content_of, is_intact, report, stamp};
pub use shown_findings::{Told, ToldFinding};

pub use admission::{Facts, ObjectKey, Rulebook};
use store::Kind;

/// The kinds that are audited: those about whose creation the gate is asked.
pub const KINDS: [Kind; 10] = [
    Kind::AddOn,
    Kind::Instance,
    Kind::DeploymentConfig,
    Kind::Template,
    Kind::HubConfig,
    Kind::Upgrade,
    Kind::Check,
    Kind::Freeze,
    Kind::Rollout,
    Kind::Profile,
];
