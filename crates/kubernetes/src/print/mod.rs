//! Values as Go prints them, because Kubernetes' messages quote values that way.
//!
//! Decides spelling alone: quotes, numbers, the order of members. Never decides what is wrong with a value.

mod json;
mod number;
mod quote;
mod value;

pub use json::json;
pub use number::{float, number};
pub use quote::quote;
pub use value::{plain, syntax, type_name};
