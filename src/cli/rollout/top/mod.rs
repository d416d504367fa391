//! `tidegate top`: the rollouts of a hub as a page in the terminal.
//!
//! | file | question |
//! |---|---|
//! | `app` | what is shown, and what a key does |
//! | `draw` | how that looks |
//! | `run` | where pictures and keys come from, and who does what is asked |

mod app;
mod args;
mod draw;
mod run;

pub use args::TopArgs;
pub(in crate::cli) use run::run;
