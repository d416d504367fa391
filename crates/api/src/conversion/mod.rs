//! `v1alpha1` and `v1beta1` of add-ons, there and back without losing anything.
//!
//! Decides where each field of one version is in the other, on JSON: no text is parsed, so that no object is too broken to be
//! converted. What a version cannot hold is kept in an annotation. Meaning: Open Cluster Management's own conversion, but for what
//! that loses (docs/ocm/v1beta1.md). Never asks a hub, never validates.

mod addon;
mod cluster_addon;
mod convert;
mod kept;
mod places;
mod review;
mod trust;
mod version;

#[cfg(test)]
mod recorded_tests;
#[cfg(test)]
mod round_trip_tests;

pub use convert::{OtherReading, convert, convert_trusting, is_signed, own_fields, read_as_written};
pub use places::{OLD_NAMES, place_in_v1beta1, words_of_v1beta1};
pub use review::{CONVERT_PATH, CONVERT_SERVED_PATH, ReviewError, answer};
pub use trust::{PROBE, Trust};
pub use version::{Extensions, KINDS, Version};
