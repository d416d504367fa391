//! The workload kinds: pods, what makes pods, services, volumes and their neighbours.
//!
//! Decides what they look like, what is filled in and what is refused; nothing runs them.

mod checks;
mod claims;
mod containers;
mod controllers;
pub(super) mod facts;
mod jobs;
mod network;
mod pods;
pub(super) mod prepare;
pub(super) mod quantity;
pub(super) mod roots;
pub(super) mod rows;
mod services;
mod volumes;

pub use facts::{Fact, each, package};
pub use services::{Taken, provide};
