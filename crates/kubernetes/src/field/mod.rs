//! Where a fault is, what it is, and how it reads.
//!
//! Decides how paths, violations and warnings look, down to the `Status` that kubectl prints as native bullets.
//! Never decides whether there is a fault, and knows no kind.

mod findings;
mod layout;
mod path;
mod selector;
mod shown;
mod status;
mod suggest;
mod text;
mod violation;

pub use findings::{Findings, Warning};
pub use layout::{folded, natural};
pub use path::{Path, Segment};
pub use selector::selector_fault;
pub use shown::Shown;
pub use status::{Identity, MESSAGE_LIMIT, MOST_CAUSES, Status, WORDS_OF_IMMUTABLE_FIELDS};
pub use suggest::nearest;
pub use text::{
    Listing, acts, counted, cut, json_escaped, lines, listed, listed_of, one_line, quoted, same_width,
    short_digests, shortened,
};
pub use violation::{Class, Fault, Violation};
