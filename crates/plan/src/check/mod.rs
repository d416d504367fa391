//! Invariants of plans, checked without the planner: what must never be in a plan, whatever the planner thinks.
//!
//! Decides nothing about add-ons. Tests, plan scripts and the convergence simulator check every plan; the controllers and the tools
//! check none, because what is written here a second time may be what is wrong: `tests/pure/convergence/README.md`.

mod approval;
mod beside;
mod grants;
mod kept;
mod pace;
mod pinned;
mod removals;
mod rolling;
mod standing;
mod unchanged;
mod undone;
mod writes;

pub use writes::check;
