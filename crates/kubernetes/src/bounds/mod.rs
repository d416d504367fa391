//! How large an object may be, found out from its text before a tree is built of it.
//!
//! A tree takes up to 90 times the memory of its text: `{"a":0}` is 7 bytes as text and about 640 as a map. Whatever reads JSON that
//! others wrote counts the values first, here, and builds nothing that has more than [`MOST_VALUES`].

mod members;
mod scan;
mod size;

pub use members::{ReadError, members, read, too_many_values};
pub use scan::Bounds;
pub use size::{Size, tree_size};

/// The most values of one object: maps, lists, texts, numbers, truths and nulls; the names of fields do not count.
///
/// An API server stores 1.5 MiB an object. The densest Kubernetes objects have 19 bytes a value, which is 83,000 values in an object
/// of that size.
pub const MOST_VALUES: usize = 100_000;

/// The most items of one list.
pub const MOST_ITEMS: usize = 10_000;

/// The rule that refuses what is larger.
pub const RULE: &str = "schema/bounds";
