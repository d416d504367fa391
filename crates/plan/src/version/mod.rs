//! Versions: which one an instance asks for, which template stands for it, and what its status remembers.
//!
//! `docs/versions.md` describes the decision.

mod asked;
mod choice;
mod direction;
mod record;

pub(super) use asked::{asked, follow, given};
pub(super) use choice::{BadVersion, OfferedVersions, Pick};
pub(super) use direction::goes_down;
pub(super) use record::{Memory, Reader, carried_version, invalid, is_present, memory, moving_to, refusal};
