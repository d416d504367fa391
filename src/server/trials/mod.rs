//! The gate on trial, over real sockets.
//!
//! Holds what callers see: answers, limits, certificates, panics, shutdown. Only compiled for tests.

mod answers;
mod callers;
mod confirmations;
mod convert;
mod counted;
mod late;
mod limits;
mod rig;
mod siege;
mod stayers;
