//! The two reduced forms of objects that clients can ask for: `Table` and `PartialObjectMetadata`.
//!
//! Decides columns, cells and rows.
//!
//! A [`Layout`] is made once per resource (it holds the parsed JSON paths) and turns objects, lists and watch events into tables.

mod age;
mod built_in;
mod cells;
mod columns;
mod layout;
mod partial;
mod style;
mod values;

pub use age::human_duration;
pub use layout::Layout;
pub use partial::{partial_list, partial_object};
pub use style::{Include, MetaVersion, Style};
