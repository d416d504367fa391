//! Table of contents of the formats of texts: what `format` of a schema and of an expression ask for.

mod format;
mod names;

pub use format::Format;
