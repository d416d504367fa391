//! The hash of a configuration, as Open Cluster Management computes it, and how it is written on a `ManifestWork`; signatures.
//!
//! A table of contents: `spec_hash`, `content_hash` and `keys` decide. Never depends on the order of a map.

mod content_hash;
mod keys;
mod spec_hash;

pub use content_hash::content_hash;
pub use keys::Keys;
pub use spec_hash::{
    AnnotationError, ConfigKey, NotAHash, SpecHash, parse_config_spec_hash, render_config_spec_hash,
    render_go_json,
};
