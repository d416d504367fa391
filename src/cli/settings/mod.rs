//! How the controllers of a hub behave: published by them on the hub, so that a command that reads the hub needs no flags.

mod behaviour;
mod flags;
mod published;

pub use behaviour::BehaviourArgs;
pub(super) use behaviour::SettingsReading;
pub(super) use flags::Words;
pub use flags::{ControllerArgs, ControllerFlags, GivenWords};
pub use published::SettingsArgs;
#[cfg(feature = "dev")]
pub(super) use published::publish_once;
pub(super) use published::{place, publish, read};
