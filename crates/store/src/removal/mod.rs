//! Facts about removals: the deletion state of an instance (`deletion`), how many instances may be removed per minute (`budget`),
//! whether an absent object was deleted (`proof`), and which objects cannot be read by name (`unread`).

pub(super) mod budget;
pub(super) mod deletion;
mod proof;
mod unread;

pub use budget::Pace;
pub use deletion::{FailedHook, Farewell, HookTimeout, TimeoutPolicy};
pub use proof::Absences;
pub use unread::Unreadable;
