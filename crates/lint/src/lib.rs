//! Manifests of files: where a value is, what the webhook says of it, and reports.

pub mod check;
pub mod report;
pub mod source;
pub mod starter;
