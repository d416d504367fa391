//! `upgrade::plan(&View, now) -> Plan`, pure.
//!
//! Decides which clusters upgrade next, which works tell them, and what is told of it. No clock, no client, no memory: everything that
//! must not be forgotten stands on the hub, so that a restart goes on where it was.

mod blocked;
mod events;
mod forecast;
mod gather;
mod judge;
mod memory;
mod order;
mod pace;
mod plan;
mod preview;
mod record;
mod select;
mod stand;
mod summary;
mod told;
pub mod works;
mod writes;

pub use events::{Event, Grade};
pub use forecast::{Basis, Course, CourseWave, forecast};
pub use order::compare as natural_order;
pub use pace::Hold;
pub use plan::{ClusterOutlook, Finalizer, Plan, Wait, plan, plan_with_outlook};
pub use record::{ActionState, Phase, Record, State};
pub use writes::{Revision, Write};
