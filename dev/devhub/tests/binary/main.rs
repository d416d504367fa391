//! The `devhub` program from outside: flags, files, signals, and the real kubectl.

#![expect(clippy::disallowed_methods, reason = "a test reads files and clocks")]

mod data;
#[path = "../../../../tests/testkit/kubectl.rs"]
mod kubectl;
mod rig;
mod rights;
mod start;
