//! `tidegate serve`: the gate and the tide of a hub that is already there.

mod age;
mod args;
mod certificates;
mod door;
mod erasure;
mod halves;
mod labels;
mod readiness;
mod reload;
mod run;
mod secret;
mod traces;
mod trouble;

pub use args::ServeArgs;
pub(super) use door::secrets;
pub use door::{CertificatesArg, DoorArgs};
pub(super) use halves::nonsense;
pub(super) use run::run;
pub use traces::TraceArgs;
