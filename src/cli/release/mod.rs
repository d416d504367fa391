//! `tidegate release` and `tidegate adopt`: to OCM's add-on manager and away from it.

mod adopt;
mod apply;
mod hub;
mod run;

pub use adopt::AdoptArgs;
pub(super) use adopt::run as adopt;
pub use run::ReleaseArgs;
pub(super) use run::run;
