//! From a template and a deployment configuration to the specs of works: one rendering for all clusters that share them.
//!
//! `merged` makes one of several deployment configurations, `values` says which variables there are, `decorate` changes workloads as the configuration asks, `rendered` puts the
//! manifests together, `split` shares them out over works, and a `recipe` is the spec of one work with the name of the
//! cluster left open.

mod configs;
mod decorate;
mod fault;
mod hooks;
mod merged;
mod object;
mod orphans;
mod recipe;
mod rendered;
mod split;
mod values;

pub(super) use fault::RenderFault;
pub(crate) use merged::merged;
pub(super) use object::is_hook;
pub(super) use recipe::{CLUSTER, Probe, Recipe};
pub(super) use rendered::{Rendered, Sizes, rendered};
pub(super) use split::{ExistingWork, Share, split};
pub(super) use values::{RenderInputs, ValueSource, cluster_values};
