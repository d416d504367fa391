//! Manifests as people wrote them, with the line and the column of every value.
//!
//! Decides what a YAML or JSON text says and where each field of it stands. Never knows a kind, and reads no file: a text
//! comes in. Whatever the text is, the answer is bounded and nothing panics.

mod build;
mod letter;
mod lines;
mod node;
mod object;
mod parse;
mod place;
mod scalar;

pub use letter::letter;
pub use lines::Lines;
pub use node::{Content, Entry, Mark, Node, Span};
pub use object::{Object, objects};
pub use parse::{Fault, Reading, read, read_lines};
pub use place::{Aim, place};
