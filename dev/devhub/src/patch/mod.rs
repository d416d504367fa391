//! The three patch types of the API: merge patch, JSON patch and strategic merge patch.
//!
//! Decides what a patch makes of a document and how a bad patch is answered.
//!
//! Each type has `decode` (body to patch, with the answers that a bad body gets) and `apply` (patch and document to document).
//! What a patched document must look like afterwards is the business of the caller.

pub mod go_json;
mod invalid;
pub mod json;
pub mod kinds;
mod lists;
pub mod merge;
pub mod numbers;
mod pointer;
pub mod strategic;

pub use invalid::{invalid_patch, rejected};
