//! What people see on a terminal beside the answer: when it is coloured, and what goes on meanwhile.

mod colour;
mod progress;

pub use colour::ColourArg;
pub(super) use colour::glimpsed;
pub(super) use progress::Progress;
