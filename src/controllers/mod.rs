//! The controllers room: watches in, plans out to the hub.
//!
//! Decides nothing about add-ons; `plan` does. Only `apply` writes; `herald` tells of it in events, and `election` keeps the
//! Lease of the replica that may. `auditor` reports what is wrong with stored objects; `audit` checks plans.

mod absence;
mod apply;
mod audit;
mod auditor;
mod cause;
mod clock;
mod der;
mod doubts;
mod drive;
mod election;
mod events;
mod herald;
mod lookout;
mod pauses;
mod planning;
mod policies;
mod queue;
mod raw;
mod second_look;
mod sign;
mod tide;
mod unkept;
mod watch;
mod witness;

pub use auditor::{AuditOptions, AuditPace, Auditor, Reports, Sightings, Tap, tap};
pub use election::{ElectionOptions, Pace};
pub use events::EventBudget;
pub use herald::Herald;
pub use policies::{PolicyDocuments, PolicyTells, PolicyWatch};
pub use tide::{Part, Progress, StartError, Tide, TideOptions};
pub use witness::{ask, may_bind};
