//! `upgrade::plan(&View, now) -> Plan`, pure.
//!
//! Decides which clusters upgrade next, which works tell them, and what is told of it. No clock, no client, no memory: everything that
//! must not be forgotten stands on the hub, so that a restart goes on where it was.

mod blocked;
mod cluster_standing;
mod cluster_works;
mod conditions;
mod events;
mod forecast;
mod judge;
mod order;
mod pace;
mod plan;
mod preview;
mod record;
mod run_memory;
mod select;
mod status;
pub mod works;
mod writes;

pub use events::{Event, Grade};
pub use forecast::{Basis, Course, CourseWave, forecast};
pub use order::compare as natural_order;
pub use pace::Hold;
pub use plan::{ClusterOutlook, Finalizer, Plan, Wait, plan, plan_with_outlook};
pub use record::{ActionState, Phase, Record, State};
pub use writes::{Revision, Write};
