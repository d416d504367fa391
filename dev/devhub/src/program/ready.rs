//! The line that says that a hub serves.
//!
//! Decides its words; scripts wait for them.

use std::path::Path;

/// Returns the line, without its end.
pub fn ready_line(kubeconfig: &Path, url: &str) -> String {
    format!("READY kubeconfig={} hub={url}", kubeconfig.display())
}
