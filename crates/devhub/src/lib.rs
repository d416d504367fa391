//! A Kubernetes API server for tests and demos, in memory, ready in milliseconds.
//!
//! Knows kinds only from custom resource definitions and from its own built-in descriptors; nothing of any product by name.

pub mod admission;
pub mod builtin;
pub mod discovery;
pub mod error;
pub mod patch;
pub mod resource;
pub mod selector;

pub use error::ApiError;
pub use resource::{Column, Resource, ScalePaths, Scope};
