//! What the spec of a work means, whatever its form. Never used for what is written.

mod digest;
mod go_forms;
mod spec;

pub use digest::{Digest, Digesting, canonical, fill_defaults};
pub use spec::{Meaning, plain_spec};
