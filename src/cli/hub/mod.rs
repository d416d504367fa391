//! Which hub is meant, and how one is told that does not answer.

mod args;
mod unreachable;

pub use args::HubArgs;
pub(super) use args::HubPlace;
pub(super) use unreachable::Unreachable;
