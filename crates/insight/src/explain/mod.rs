//! What a rule, a cause, a word of a status or a field means, for those who have just met it.
//!
//! Decides which of them a word names, and which one was probably meant. Every sentence comes from the rule tables, the
//! causes of `why`, the table of words and the definitions; nothing is written twice.

mod fields;
mod glossary;
mod own;
mod render;
mod topic;
mod words;

pub use topic::{Unknown, explain, list, topics};
