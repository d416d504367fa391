//! Field ownership: `metadata.managedFields`, and server-side apply on top of it.
//!
//! Decides who owns which field after a write. The merging itself is the `fields` crate's work.

mod apply;
mod conflict;
mod entries;
mod lists;
mod scope;
mod track;
mod types;
#[cfg(test)]
mod upstream;
mod version_views;

pub(crate) use apply::{Intent, applied};
pub(crate) use entries::{Writer, fault, same_but_times};
pub(crate) use lists::raw;
pub(crate) use scope::Scope;
pub(crate) use track::track;
pub(crate) use types::Ownable;
pub(crate) use version_views::VersionViews;
