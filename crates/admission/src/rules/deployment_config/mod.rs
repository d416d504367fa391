//! Rules about deployment configurations. Page: `tests/rules/deployment-config.md`.
//!
//! Decides nothing here; the parts do.

pub(super) mod nodes;
pub(super) mod proxy;
pub(super) mod registries;
pub(super) mod resources;
pub(super) mod variables;
