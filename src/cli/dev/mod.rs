//! `tidegate dev`: a hub, the gate, the tide and simulated clusters in one process.

mod demo;
mod folder;
mod hub;
mod live;
mod parts;
mod run;

pub(super) use run::run;
