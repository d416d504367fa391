//! The telemetry room: what the process tells about itself.
//!
//! Decides the form of logs and the names of metrics. Never logs an object, never names one in a metric, and never sends
//! anything anywhere.

mod door;
mod logs;
mod metrics;
mod modes;
mod upgrades;
mod watches;
mod webhooks;

pub use door::{Closed, DoorMetrics};
pub use logs::{LogError, LogForm, start_logs};
pub use metrics::{Metrics, Outcome, Written};
pub use modes::{Act, Holder, LeaseOf, ModeMetrics, PendingAction};
pub use upgrades::UpgradeMetrics;
pub use watches::WatchMetrics;
pub use webhooks::WebhookMetrics;
