//! The telemetry room: what the process tells about itself.
//!
//! Decides the form of logs and the names of metrics. Never logs an object, never names one in a metric but add-ons (`fleet.rs`), and
//! never sends anything anywhere.

mod api_calls;
mod door;
mod fleet;
mod gate;
mod logs;
mod metrics;
mod modes;
mod process;
mod queue;
mod staleness;
mod upgrades;
mod watches;
mod webhooks;
mod words;

pub use api_calls::{ApiMetrics, CountCalls, Counted};
pub use door::{Closed, DoorMetrics};
pub use fleet::{AddOnCounts, FleetMetrics};
pub use gate::{About, AdmissionMetrics, Decision, DryRun};
pub use logs::{LogError, LogForm, start_logs};
pub use metrics::{Metrics, Written};
pub use modes::{Act, Holder, LeaseOf, ModeMetrics, PendingAction};
pub use queue::QueueMetrics;
pub use staleness::StalenessMetrics;
pub use upgrades::UpgradeMetrics;
pub use watches::{Restart, Shown, WatchMetrics};
pub use webhooks::WebhookMetrics;
