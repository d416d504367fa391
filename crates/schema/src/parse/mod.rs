//! Table of contents of the schema parser: reading, structural rules, defaults, rules.

mod defaults;
mod level;
mod limits;
mod lists;
mod metadata;
mod nested;
mod reader;
mod rules;

pub(crate) use reader::parse;
