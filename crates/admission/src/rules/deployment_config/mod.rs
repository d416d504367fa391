//! Rules about deployment configurations. Page: `tests/rules/deployment-config.md`.
//!
//! Decides nothing here; the parts do.

mod nodes;
mod proxy;
mod registries;
mod resources;
mod variables;

use crate::subject::{DeploymentConfig, Rule};

/// Rules of deployment configurations.
pub(crate) const FAMILIES: [&[Rule<DeploymentConfig>]; 5] = [
    nodes::RULES,
    proxy::RULES,
    registries::RULES,
    resources::RULES,
    variables::RULES,
];
