//! One hub for test suites that shall run anywhere.
//!
//! Decides on what a suite runs: on an embedded hub, or on a real API server with its etcd. See `docs/testing.md`.

mod auto;
mod choice;
mod command_line;
mod place;
mod process;
mod real;

pub use auto::TestHub;
pub use choice::{Assets, Choice, TestHubError};
pub use command_line::CommandLine;
