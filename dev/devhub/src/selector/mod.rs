//! Field selectors of list, watch and deletecollection requests.
//!
//! Decides whether a selector is well-formed and whether an object matches. Label selectors are those of `apimachinery`.

pub mod fields;

pub use fields::FieldSelector;
