//! `OpenAPI`: v3 with its index and one document per group and version, v2 with one document of everything.
//!
//! Decides the documents from a list of [`Resource`](crate::Resource)s; never caches them. The index is cheap (its hashes come
//! from the schemas, not from the documents); a document takes some milliseconds and is worth keeping under its hash.

mod binary;
mod document;
mod index;
mod operation;
mod paths;
mod schemas;
mod swagger;

pub use document::document;
pub use index::{fingerprint, index};
pub use swagger::{swagger, swagger_bytes, swagger_fingerprint};
