//! The JSON path language of printer columns, of status feedback and of `-o jsonpath`.
//!
//! A table of contents.

mod evaluate;
mod parse;
mod template;

pub use parse::JsonPath;
pub use template::Template;
