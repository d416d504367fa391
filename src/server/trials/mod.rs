//! The gate on trial, over real sockets.
//!
//! Holds what callers see: answers, limits, certificates, panics, shutdown. Only compiled for tests.

mod answers;
mod confirmations;
mod counted;
mod limits;
mod rig;
