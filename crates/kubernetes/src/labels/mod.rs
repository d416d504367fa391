//! Label selectors, whatever they were written as and wherever the labels stand.
//!
//! Decides which selectors have a meaning and which labels they match. What an absent selector means is its owner's to say.

mod lexer;
mod object;
mod parser;
mod selector;
mod written;

pub use object::{Cause, Fault, Place};
pub use selector::{Operator, Requirement, Selector};
pub use written::written;
