//! A Kubernetes API server for tests and demos, in memory, ready in milliseconds.
//!
//! Knows kinds only from custom resource definitions and from its own built-in descriptors; nothing of any product by name.

pub mod admission;
pub mod error;
pub mod resource;

pub use error::ApiError;
pub use resource::{Column, Resource, ScalePaths, Scope};
