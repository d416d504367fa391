//! Invariants of plans, checked without the planner: what must never be in a plan, whatever the planner thinks.
//!
//! Decides nothing and repairs nothing. Tests check every plan, and the controllers a sample: `docs/convergence.md`.

mod grants;
mod pace;
mod pinned;
mod unchanged;
mod writes;

pub use writes::check;
