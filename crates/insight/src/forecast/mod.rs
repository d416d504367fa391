//! Forecast: what happens on a hub if no user changes it.
//!
//! Decides nothing about add-ons: `plan::addon` plans, as in the controllers, on a hub in memory; its writes are done there,
//! agents that are connected report success, and time passes when that is all that is left. Reads and writes no real hub.

mod agents;
mod changes;
mod changes_text;
mod course;
mod difference;
mod markdown;
mod redaction;
mod render;
mod take_over;
mod take_over_text;
mod turns;
mod upgrades;
mod works;
mod world;

pub use changes::{Changes, ConfigChange, changes};
pub use changes_text::{changes_json, changes_text};
pub use course::{Forecast, HeldCluster, Wave, forecast};
pub use difference::Difference;
pub(crate) use difference::of_specs as spec_differences;
pub use markdown::{fenced, markdown};
pub use redaction::keep_plans;
pub use render::{json, text};
pub use take_over::{Fate, TakeOver, take_over};
pub use take_over_text::{take_over_json, take_over_text};
pub use turns::{Ending, ending};
pub use upgrades::{UpgradeForecast, upgrades, upgrades_json, upgrades_text};
pub use works::{RenderedCluster, Unknown, works, works_json, works_notes};

#[cfg(test)]
mod older_rendering_tests;
#[cfg(test)]
mod redaction_tests;
#[cfg(test)]
mod test_hub;
