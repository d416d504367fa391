//! Label selectors and field selectors of list, watch and deletecollection requests.
//!
//! Decides whether a selector is well-formed and whether an object matches; never fetches objects.

pub mod fields;
pub mod labels;
mod labels_lexer;
mod labels_parser;
mod qualified;
mod written;

pub use fields::FieldSelector;
pub use labels::LabelSelector;
pub use qualified::{Named, label_value_faults, qualified_name_faults};
pub(crate) use qualified::{is_label, subdomain_faults};
pub use written::written;
