//! The telemetry room: what the process tells about itself.
//!
//! Decides the form of logs. Never logs an object, and never sends anything anywhere.

mod logs;

pub use logs::{LogError, start_logs};
