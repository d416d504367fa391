//! Invariants of plans, checked without the planner: what must never be in a plan, whatever the planner thinks.
//!
//! Tests, plan scripts and the convergence simulator check every plan; no binary contains this package, because what is written
//! here a second time may be what is wrong: `docs/convergence.md`.

mod addon;
pub mod upgrade;

pub use addon::check;
