//! The objects that install Tidegate.
//!
//! A table of contents. `files` carries the folder `manifests/deploy`, `kustomization` puts a part of it together as kustomize does,
//! `choice` decides which parts an installation has, and where. Never talks to a hub.

mod choice;
mod error;
mod files;
mod kustomization;

pub use choice::{
    Backstop, Certificates, Choice, Definitions, Extra, MatchConditions, Place, Webhooks, WhileUnavailable,
    Workloads, objects,
};
pub use error::KitError;
pub use files::FILES;
