//! `upgrade::plan(&View, now) -> Plan`, pure.
//!
//! Decides which clusters upgrade next, the works that upgrade them, and the status. It has no clock, client or memory: all state is
//! stored on the hub, so that a restarted controller continues where it stopped.

mod approvals;
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
pub(crate) use order::by_label;
pub use order::compare as natural_order;
pub use pace::Hold;
pub use plan::{ClusterOutlook, Finalizer, Plan, Wait, plan, plan_with_outlook};
pub use record::{ActionState, Phase, Record, State};
pub use writes::{Revision, Write};
