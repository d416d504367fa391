//! `tidegate doctor`: what is wrong with a hub, and what to do about it.

mod ask;
mod certificate;
mod collect;
mod confinement;
mod fleet;
mod options;
mod preflight;
mod rights;
mod run;

pub use options::DoctorArgs;
pub(super) use preflight::preflight;
pub(super) use rights::user_name;
#[cfg(feature = "top")]
pub(super) use rights::whoami;
pub(super) use run::run;
