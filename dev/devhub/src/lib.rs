//! A Kubernetes API server for tests and demos, in memory, ready in milliseconds.
//!
//! Knows kinds only from custom resource definitions and from its own built-in descriptors; nothing of any product by name.

#![expect(
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    clippy::wildcard_enum_match_arm,
    reason = "a server with sockets, files, a clock and tasks"
)]

pub mod admission;
mod builder;
pub mod builtin;
mod controllers;
mod conversion;
mod crd;
pub mod discovery;
mod documents;
pub mod error;
mod faults;
mod http;
mod hub;
mod identity;
mod instance;
mod managed;
pub mod openapi;
pub mod patch;
pub mod program;
pub mod protobuf;
mod registry;
pub mod resource;
mod rest;
mod rights;
mod seed;
pub mod selector;
pub mod store;
pub mod table;
mod testing;

pub use builder::{Builder, StartError};
pub use controllers::Controller;
pub use error::ApiError;
pub use faults::Faults;
pub use instance::DevHub;
pub use resource::{Column, Resource, Scope};
pub use rights::Authz;
pub use testing::{Assets, Choice, CommandLine, TestHub, TestHubError};
