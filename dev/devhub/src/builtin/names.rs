//! Syntax of object names.
//!
//! Decides which faults a name has, in the words of Kubernetes.

use kubernetes::names::{Unit, dns1123_label_faults};
pub use kubernetes::object_meta::NameRule;

/// Returns the faults of a name that should be an RFC 1123 label.
pub fn label_faults(name: &str) -> Vec<String> {
    dns1123_label_faults(name, Unit::Characters)
}
