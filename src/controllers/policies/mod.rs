//! Policies on the hub: read, compiled with those of the operator's folder, and told how they are.
//!
//! `watch` follows them, `status` says what became of each and writes that. Decides nothing about what a policy means.

mod status;
mod watch;

pub use watch::{PolicyDocuments, PolicyTells, PolicyWatch};
