//! Invariants of plans, checked without the planner: what must never be in a plan, whatever the planner thinks.
//!
//! Decides nothing about add-ons. `sound` takes out of a plan what breaks an invariant, and nothing else. Tests check every plan,
//! and the controllers a sample: `docs/convergence.md`.

mod approval;
mod beside;
mod broken;
mod grants;
mod pace;
mod pinned;
mod removals;
mod rolling;
mod sound;
mod standing;
mod unchanged;
mod undone;
mod writes;

pub use sound::sound;
pub use writes::check;
