//! Scripted faults: what goes wrong on which cluster, for which works, from when and for how long.

mod active;
mod rule;
mod text;
mod upgrade;

pub(crate) use active::{ActiveFaults, Effects, Stuck, Troubles};
pub use rule::{Fault, FaultRule, Faults};
pub use text::FaultTextError;
pub(crate) use upgrade::Phase;
pub use upgrade::{JobFault, Jobs, UpgradeFault};
