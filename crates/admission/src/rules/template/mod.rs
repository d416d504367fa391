//! Rules about templates: the manifests of an agent (pages: `tests/rules/template.md`, `manifest.md`), its certificates, its version, and whose it is
//! (page: `tests/rules/registration.md`).
//!
//! Decides nothing here; the parts do.

mod kubernetes;
mod manifests;
mod owner;
mod pods;
mod same_object;
mod signers;
mod text;
mod unset_variables;
mod variables;
mod version;
mod withdrawn;

use crate::subject::{Rule, Template};

pub(crate) use owner::{ON_ADDONS, ON_CLUSTER_ADDONS};
pub(crate) use same_object::ON_ADDONS as ON_SHARED_OBJECTS;
pub(crate) use unset_variables::{
    ON_ADDONS as ON_UNSET_VARIABLES, ON_CLUSTER_ADDONS as ON_UNSET_VARIABLES_OF_CLUSTERS,
};
pub(super) use variables::{UNKNOWN as UNKNOWN_VARIABLE, each_variable};

/// Rules of templates.
pub(crate) const FAMILIES: [&[Rule<Template>]; 9] = [
    kubernetes::RULES,
    manifests::RULES,
    owner::RULES,
    pods::RULES,
    same_object::RULES,
    signers::RULES,
    variables::RULES,
    version::RULES,
    withdrawn::RULES,
];
