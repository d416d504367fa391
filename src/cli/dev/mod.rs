//! `tidegate dev`: a hub, the webhook, the controllers and simulated clusters in one process; and commands for a running hub.

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
