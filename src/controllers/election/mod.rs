//! Election: which of several replicas writes.
//!
//! `candidate` decides from what a Lease says and how long it has said so; `campaign` reads and writes the Lease. Admission is
//! answered by every replica and never asks who leads.

mod campaign;
mod candidate;

pub(super) use campaign::campaign;
pub use candidate::{ElectionOptions, Pace};
