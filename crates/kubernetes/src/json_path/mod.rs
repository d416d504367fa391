//! The JSON path language of printer columns and of status feedback.
//!
//! A table of contents.

mod evaluate;
mod parse;

pub use parse::JsonPath;
