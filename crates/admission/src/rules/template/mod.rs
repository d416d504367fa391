//! Rules about templates: the manifests of an agent (pages: `tests/rules/template.md`, `manifest.md`), its certificates, its version,
//! and the add-on that it belongs to (page: `tests/rules/registration.md`).

pub(super) mod kubernetes;
pub(super) mod manifests;
pub(super) mod owner;
pub(super) mod pods;
pub(super) mod same_object;
pub(super) mod signers;
pub(super) mod text;
pub(super) mod unset_variables;
pub(super) mod variables;
pub(super) mod version;
pub(super) mod withdrawn;

pub(crate) use owner::{ON_ADDONS, ON_CLUSTER_ADDONS};
pub(crate) use same_object::ON_ADDONS as ON_SHARED_OBJECTS;
pub(crate) use unset_variables::{
    ON_ADDONS as ON_UNSET_VARIABLES, ON_CLUSTER_ADDONS as ON_UNSET_VARIABLES_OF_CLUSTERS,
};
pub(super) use unset_variables::{own, template_of, usable_template};
pub(super) use variables::{UNKNOWN as UNKNOWN_VARIABLE, each_variable};
