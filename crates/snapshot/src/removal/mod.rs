//! What the store knows about ends: what an instance says about its own (`deletion`), how many may go in a minute (`budget`), and
//! whether what is absent is gone (`proof`), and which reasons cannot be read again (`unread`). Never decides who goes.

pub(super) mod budget;
pub(super) mod deletion;
mod proof;
pub(super) mod unread;

pub use budget::Pace;
pub use deletion::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use proof::Absences;
