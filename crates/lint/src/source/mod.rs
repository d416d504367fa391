//! Manifests as people wrote them, with the line and the column of every value.
//!
//! Decides what a YAML or JSON text says and where each field of it stands. Never knows a kind, and reads no file: a text
//! comes in. Whatever the text is, the answer is bounded and nothing panics.

mod build;
mod lines;
mod node;
mod parse;
mod place;
mod scalar;
mod stand_in;
mod text_position;

pub use lines::Lines;
pub use node::{Content, Entry, Mark, Node, Object, Span, objects};
pub use parse::{Fault, Reading, read, read_lines};
pub use place::{Aim, place};
pub use text_position::text_position;
