//! What a deployment configuration and a registration change in the manifests of a template.
//!
//! Everything works on JSON: what a decorator does not set stays exactly as its author wrote it. Deployments, daemon sets
//! and stateful sets are decorated; what runs before a deletion only gets its images and its nodes; no other kind is touched.

mod credentials;
mod images;
mod namespace;
mod nodes;
mod pod;
mod proxy;
mod resources;
mod workload;

pub(super) use namespace::move_to;
pub(super) use pod::workload_resource;
pub(super) use workload::Decorations;
