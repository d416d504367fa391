//! Why an add-on is not ready, from its object on the hub to the report of an agent.
//!
//! Finds the object at which the chain stops, and the clusters that share a cause. What blocks a cluster comes from
//! `plan::addon`, as in the controllers; the reports of agents come from their works. Reads no hub.

mod answer;
mod causes;
mod chain;
mod command;
mod conditions;
mod context;
mod ending;
mod find;
mod in_picture;
mod kept;
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
mod whole_cluster;
mod work;

pub use answer::{Answer, Chain, Grade, Group, Link, Unknown};
pub use causes::{CAUSES, CauseDoc};
pub use find::{why, why_from};
pub use in_picture::explain_agents;
pub use kept::kept;
pub use render::{
    AddOnDiagnosis, DiagnosedCause, DiagnosedCluster, DiagnosedClusters, DiagnosisList, addon_diagnosis, text,
};
pub use upgrade_answer::{
    UpgradeAnswer, UpgradeGroup, UpgradeLink, UpgradeUnknown, why_upgrade, why_upgrade_from,
};
pub use upgrade_text::{DiagnosedUpgrades, UpgradeDiagnosis, upgrade_diagnosis, upgrade_text};
pub use whole_cluster::why_cluster;
