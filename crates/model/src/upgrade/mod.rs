//! What a ManagedClustersUpgrade asks for, as the gate and the planner of upgrades read it.
//!
//! Decides which values have a meaning. Never knows a cluster's state.

mod action;
mod cron;
mod operators;
mod selection;
mod spec;
mod strategy;
mod target;
mod window;

pub use action::{Action, LARGEST_ACTION};
pub use operators::{DEFAULT_APPROVER, Operators, Subscription};
pub use selection::{ClusterSelector, NAME_KEY};
pub use spec::{PlacementKey, UpgradeSpec};
pub use strategy::{DEFAULT_AT_ONCE, DEFAULT_OPERATORS, DEFAULT_PLATFORM, Stage, Strategy};
pub use target::{Channel, OcpVersion, Target};
pub use window::{Window, WindowState};
