//! Tidegate guards (the gate) and drives (the tide) the add-ons of an Open Cluster Management hub.
//!
//! Two pure functions carry the product: `admission::decide` and `plan::addon`. The rooms around them turn sockets and
//! watches into values, and verdicts and plans into answers and API calls. See `ARCHITECTURE.md`.

pub mod admission;
pub mod api;
pub mod audit;
pub mod check;
pub mod cli;
pub mod controllers;
pub mod conversion;
pub mod definitions;
pub mod explain;
pub mod field;
pub mod files;
pub mod forecast;
pub mod hash;
pub mod model;
pub mod offline;
pub mod plan;
pub mod policy;
pub mod release;
pub mod report;
pub mod server;
pub mod snapshot;
pub mod source;
pub mod telemetry;
pub mod why;
