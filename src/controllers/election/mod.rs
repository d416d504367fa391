//! Election: which of several replicas writes.
//!
//! `candidate` decides from what a Lease says and how long it has said so; `campaign` reads and writes the Lease.
//! `term` lets no write begin after its end. `stock` reads the Lease of OCM's add-on manager, `identity` names the holder of a Lease and
//! the next leader. Admission is answered by every replica and never asks who leads.

mod campaign;
mod candidate;
mod identity;
mod stock;
mod term;

pub(super) use campaign::campaign;
pub use candidate::{ElectionOptions, Pace};
pub use identity::identity;
pub use stock::StockLease;
pub(super) use stock::watch_stock;
pub(super) use term::Term;
