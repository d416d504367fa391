//! What Kubernetes has a word for, once: names, classes of errors, formats, patterns, label selectors, quantities, durations, JSON
//! paths and pointers, and values as its messages print them.
//!
//! Decides syntax and matching alone. Knows no kind, no hub and no rule: the dev hub, the simulated clusters, the gate and the
//! planner read the same text in the same way because all of them ask here.

pub mod bounds;
pub mod certificates;
pub mod duration;
pub mod error_class;
pub mod field;
pub mod formats;
pub mod json_path;
pub mod json_pointer;
pub mod labels;
pub mod manifest;
pub mod names;
pub mod object_meta;
pub mod print;
pub mod quantity;
pub mod regexp;
pub mod server_version;
