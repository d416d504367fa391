//! What a program around a hub needs: a private folder and the line that scripts wait for.
//!
//! Shared by every binary that serves a hub, so that all of them look the same from outside.

mod folder;
mod ready;

pub use folder::{Folder, FolderError, prepare, write_private};
pub use ready::ready_line;
