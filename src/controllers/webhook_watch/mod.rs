//! Whether the hub still asks the gate as it should: its webhook configurations, watched.

mod standing;
mod watch;

pub use watch::watch_webhooks;
