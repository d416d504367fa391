//! The `devhub` program from outside: flags, files, signals, and the real kubectl.

mod data;
#[path = "../../../../tests/testkit/kubectl.rs"]
mod kubectl;
mod rig;
mod rights;
mod start;
