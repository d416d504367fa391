//! What the process tells about itself.
//!
//! Decides the form of logs and the names of metrics. Never logs an object, never names one in a metric but add-ons (`fleet.rs`), and
//! sends nothing anywhere but spans, where
//! `--otlp` asks for them.

mod api_calls;
mod connections;
mod fleet;
mod gate;
mod logs;
mod metrics;
mod modes;
mod notifications;
mod process;
mod queue;
mod staleness;
mod trace_context;
mod trace_sender;
pub mod trace_wire;
mod traces;
mod upgrades;
mod watches;
mod words;

pub use api_calls::{ApiMetrics, CountCalls, Counted};
pub use connections::{Closed, ConnectionMetrics};
pub use fleet::{AddOnCounts, FleetMetrics};
pub use gate::{About, AdmissionMetrics, Decision, DryRun};
pub use logs::{LogError, LogForm, LogWriter, start_logs};
pub use metrics::{Metrics, Written};
pub use modes::{Act, Holder, LeaseOf, ModeMetrics, PendingAction};
pub use notifications::Delivery;
pub use queue::QueueMetrics;
pub use staleness::StalenessMetrics;
pub use trace_context::{Parent, Ratio, TRACEPARENT};
pub use trace_sender::{Collector, Sending, TraceError};
pub(crate) use trace_sender::{HttpClient, http_client, native_roots};
pub use traces::{Fact, Open, SpanEnd, TraceMetrics, Tracer};
pub use upgrades::UpgradeMetrics;
pub use watches::{Restart, Shown, WatchMetrics, WebhookMetrics};
