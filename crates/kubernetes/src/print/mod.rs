//! Values as Go prints them, because Kubernetes' messages quote values that way.
//!
//! Decides spelling alone: quotes, numbers, the order of members. Never decides what is wrong with a value.

mod json;
mod value;

pub use json::json;
pub use value::{float, number, plain, quote, syntax, type_name};
