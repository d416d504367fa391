//! The controllers room: watches in, plans out to the hub.
//!
//! Decides nothing about add-ons; `plan` does. Only `apply` writes.

mod apply;
mod cause;
mod drive;
mod lookout;
mod pauses;
mod queue;
mod raw;
mod tide;
mod watch;

pub use tide::{Progress, StartError, Tide, TideOptions};
