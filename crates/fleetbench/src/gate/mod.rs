//! Load on a gate: a running process is asked admission reviews over TLS at a fixed rate, as an API server would ask.
//!
//! `options` is the command line, `questions` what is asked, `policies` what users demand beside the rules, `caller` one connection, `pace` the rate, `histogram` what the
//! gate says of itself, `run` the measurement, `report` its figures.

mod caller;
mod histogram;
mod options;
mod pace;
mod policies;
mod questions;
mod report;
mod run;

pub use options::GateLoad;
pub use report::{GateReport, Load};
pub use run::load;
