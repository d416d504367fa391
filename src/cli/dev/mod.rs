//! `tidegate dev`: a hub, the gate, the tide and simulated clusters in one process; and what a hub that runs is told.

mod args;
mod demo;
mod fault;
mod hub;
mod live;
mod parts;
mod run;
mod settings;

pub use args::DevArgs;
pub use fault::DevCommand;
pub(super) use run::run;
