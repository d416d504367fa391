//! `OpenAPI`: v3 with its index and one document per group and version.
//!
//! Decides the documents from a list of [`Resource`](crate::Resource)s. The index is cheap (its hashes come from the schemas, not from
//! the documents); a document takes some milliseconds and is worth keeping under its hash.

mod document;
mod index;
mod operation;
mod paths;
mod schemas;

pub use document::document;
pub use index::{fingerprint, index};
