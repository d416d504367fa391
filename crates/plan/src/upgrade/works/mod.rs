//! The works of an upgrade: rendered when their turn has come, never before.
//!
//! Decides what is applied on a cluster; never when.

mod action;
mod mark;
mod operators;
mod platform;
#[cfg(test)]
mod seed_tests;

pub use action::action;
pub use mark::WorkMark;
pub use operators::{APPROVER, operators};
pub use platform::{Platform, WITHOUT_POOLS, observation, platform, retarget};

/// Seconds that the approver's Job may take beyond the time for which it approves.
pub use operators::GRACE;
