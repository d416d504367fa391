//! Tidegate guards (the gate) and drives (the tide) the add-ons of an Open Cluster Management hub.
//!
//! Two pure functions carry the product: `admission::decide` and `plan::addon`. The rooms around them turn sockets and
//! watches into values, and verdicts and plans into answers and API calls. See `ARCHITECTURE.md`.

pub mod admission;
pub mod api;
pub mod cli;
pub mod controllers;
pub mod field;
pub mod hash;
pub mod model;
pub mod plan;
pub mod policy;
pub mod server;
pub mod snapshot;
pub mod telemetry;
