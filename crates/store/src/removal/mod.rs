//! What the store knows about ends: what an instance says about its own (`deletion`), how many may go in a minute (`budget`), and
//! whether what is absent is gone (`proof`), and which objects cannot be read by name (`unread`). Never decides who goes.

pub(super) mod budget;
pub(super) mod deletion;
mod proof;
mod unread;

pub use budget::Pace;
pub use deletion::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use proof::Absences;
pub use unread::Unreadable;
