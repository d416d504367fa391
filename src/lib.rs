//! Tidegate validates (webhook) and manages (controllers) the add-ons of an Open Cluster Management hub.
//!
//! Two pure functions carry the product: `admission::decide` and `plan::addon`. The rooms around them turn sockets and
//! watches into values, and verdicts and plans into answers and API calls. See `ARCHITECTURE.md`.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "the program has sockets, files, a clock and tasks"
)]

pub mod cli;
pub mod controllers;
pub mod files;
pub mod server;
pub mod telemetry;
pub mod ui;
