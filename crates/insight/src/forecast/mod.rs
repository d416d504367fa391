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

pub use changes::{Changes, ConfigChange, ConfigChanges, changes};
pub use changes_text::{AddOnChanges, ChangedConfig, addon_changes, changes_text};
pub use course::{Forecast, HeldCluster, Wave, forecast};
pub use difference::Difference;
pub(crate) use difference::of_configs;
pub use markdown::{fenced, markdown};
pub use redaction::keep_plans;
pub use render::{ChangePlan, text};
pub use take_over::{Fate, TakeOver, take_over};
pub use take_over_text::{ChangedWork, TakeOverPlan, TakenOver, Unrendered, take_over_plan, take_over_text};
pub use turns::{Ending, ending};
pub use upgrades::{
    HeldUpgrades, PlannedUpgrade, UpgradeBasis, UpgradeForecast, UpgradeWave, WaitingUpgrades,
    planned_upgrades, upgrades, upgrades_text,
};
pub use works::{
    ConfigReference, ConfigSource, RenderedAddOn, RenderedCluster, Unknown, ValueSource, rendered_addon,
    works, works_notes,
};

#[cfg(test)]
mod older_rendering_tests;
#[cfg(test)]
mod redaction_tests;
#[cfg(test)]
mod test_hub;
