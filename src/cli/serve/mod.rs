//! `tidegate serve`: the gate and the tide of a hub that is already there.

mod args;
mod at_start;
mod certificates;
mod door;
mod erasure;
mod halves;
mod reload;
mod run;
mod secret;
mod trouble;

pub use args::{ServeArgs, TraceArgs};
pub(super) use door::secrets;
pub use door::{CertificatesArg, DoorArgs};
pub(super) use halves::nonsense;
pub(super) use run::run;
