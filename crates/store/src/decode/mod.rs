//! From objects of the API to records: parsed once, as they arrive.
//!
//! A table of contents; each file decides how one kind becomes compact.

pub(super) mod addon;
pub(super) mod claims;
pub(super) mod content;
pub(super) mod edits;
pub(super) mod hook;
pub(super) mod read;
pub(super) mod rollout;
pub(super) mod status;
pub(super) mod work;
