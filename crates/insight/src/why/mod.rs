//! Why an add-on is not where it should be, from its hub object down to what an agent reports.
//!
//! Decides at which object the chain stops, and which clusters share a cause. What holds a cluster back is asked of
//! `plan::addon`, as the controllers ask it; what an agent has reported is read from its works. Reads nothing by itself.

mod answer;
mod causes;
mod chain;
mod command;
mod conditions;
mod context;
mod ending;
mod find;
mod links;
mod not_installed;
mod placements;
mod render;
mod stage;
mod turn;
mod upgrade_answer;
mod upgrade_next_steps;
mod upgrade_text;
mod wait;
mod work;

pub use answer::{Answer, Chain, Grade, Group, Link, Unknown};
pub use causes::{CAUSES, CauseDoc};
pub use find::why;
pub use render::{json, text};
pub use upgrade_answer::{UpgradeAnswer, UpgradeGroup, UpgradeLink, UpgradeUnknown, why_upgrade};
pub use upgrade_text::{upgrade_json, upgrade_text};
