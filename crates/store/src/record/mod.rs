//! What the store remembers of each object.
//!
//! A table of contents.

pub(super) mod meta;
pub(super) mod objects;
pub(super) mod reference;
pub(super) mod rollout;
mod sparse;
mod undo;
pub(super) mod work;

pub use meta::*;
pub use objects::*;
pub use rollout::{Progression, ProgressionReference};
pub(crate) use sparse::SparseTime;
pub use undo::{PinnedConfig, PinnedContent, Undone};
