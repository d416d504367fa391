//! `tidegate serve`: the gate and the tide of a hub that is already there.

mod age;
mod door;
mod erasure;
mod halves;
mod labels;
mod reload;
mod run;

pub use door::DoorArgs;
pub(super) use door::secrets;
pub(super) use halves::nonsense;
pub(super) use run::run;
