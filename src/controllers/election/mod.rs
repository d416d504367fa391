//! Election: which of several replicas writes.
//!
//! `candidate` decides from what a Lease says and how long it has said so; `campaign` reads and writes the Lease, and `successor` who
//! is next. `term` lets no write begin after its end. `stock` looks at the Lease of OCM's add-on manager, `identity` says who stands behind a name. Admission is answered by
//! every replica and never asks who leads.

mod campaign;
mod candidate;
mod identity;
mod stock;
mod successor;
mod term;

pub(super) use campaign::campaign;
pub use candidate::{ElectionOptions, Pace};
pub use identity::identity;
pub use stock::StockLease;
pub(super) use stock::watch_stock;
pub(super) use term::Term;
