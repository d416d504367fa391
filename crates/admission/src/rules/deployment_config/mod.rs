//! Rules about AddOnDeploymentConfigs. Page: `tests/rules/deployment-config.md`.

pub(super) mod nodes;
pub(super) mod proxy;
pub(super) mod registries;
pub(super) mod resources;
pub(super) mod variables;
