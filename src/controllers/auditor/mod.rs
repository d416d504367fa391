//! The auditor: judges what is stored already, and reports it where reports are served.
//!
//! `tap` hears what the watches show, `desk` decides what to judge and when, `fetch` reads objects again, `board` knows which
//! reports stand and which should, `outlet` follows the kinds of reports, `apply` writes them, `crier` tells of objects that have
//! begun or ceased to be at fault. What is wrong with an object is
//! decided by the audit room; the audit of plans is another thing (`controllers/audit.rs`).

mod apply;
mod board;
mod crier;
mod desk;
mod fetch;
mod outlet;
mod start;
mod tap;

pub use start::{AuditOptions, AuditPace, Auditor, Reports};
pub use tap::{Sightings, Tap, tap};
