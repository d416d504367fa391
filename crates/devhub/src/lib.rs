//! A Kubernetes API server for tests and demos, in memory, ready in milliseconds.
//!
//! Knows kinds only from custom resource definitions and from its own built-in descriptors; nothing of any product by name.

pub mod admission;
mod builder;
pub mod builtin;
pub mod command;
mod controllers;
mod crd;
pub mod discovery;
mod documents;
pub mod error;
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
mod seed;
pub mod selector;
pub mod store;
pub mod table;

pub use builder::{Builder, StartError};
pub use controllers::Controller;
pub use error::ApiError;
pub use instance::DevHub;
pub use resource::{Column, Resource, ScalePaths, Scope};
