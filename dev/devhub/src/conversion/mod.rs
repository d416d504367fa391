//! Conversion of custom resources between the versions of their definition.
//!
//! Decides how an object of one version becomes one of another.

mod metadata;
mod recent;
mod review;
mod versions;
mod webhook;

pub(crate) use recent::Recent;
pub(crate) use versions::{VersionSchema, Versions};
pub(crate) use webhook::Webhook;
