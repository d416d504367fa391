//! How the controllers of a hub behave: told by them on the hub, so that a command that reads the hub needs no flags.

mod flags;
mod given;
mod published;

pub(super) use flags::Words;
pub use flags::{ControllerArgs, ControllerFlags};
pub use given::GivenWords;
pub use published::SettingsArgs;
pub(super) use published::{place, publish, read};
