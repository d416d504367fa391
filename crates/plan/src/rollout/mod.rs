//! The rollout of configurations: which clusters get the effective configuration now, and what the others wait for.
//!
//! | file | content |
//! |---|---|
//! | `unit_state` | the progress of one instance |
//! | `health` | its failures |
//! | `rolling` | the clusters to which a change of `spec.configuration` is rolled out |
//! | `direction` | whether clusters are updated or rolled back |
//! | `units`, `groups` | the engine's units, placement by placement, and their decision groups |
//! | `candidate`, `member` | one instance before and after its step is decided |
//! | `members` | every instance with its next step |
//! | `approvals`, `checks` | which clusters wait until a change is approved, and for which checks they wait |
//! | `references` | what an instance is assigned |
//! | `prerequisites` | which add-ons have to run on a cluster first |
//! | `undo` | whether a rollout is undone, and the conditions that report it |
//! | `hold_message`, `hold_messages` | the messages of waiting clusters, and which cluster has which |

mod approvals;
mod candidate;
mod checks;
mod direction;
mod freezes;
mod groups;
mod health;
mod hold_message;
mod hold_messages;
mod member;
mod members;
mod prerequisites;
mod references;
mod rolling;
mod undo;
mod unit_state;
mod units;

pub(super) use ::model::engine::Counts;
pub(super) use approvals::content_of;
pub use approvals::{Asked, AskedGroup};
pub use freezes::freeze_of;
pub use hold_message::for_reason;
pub(super) use hold_message::{Attention, Notice, failed, rejection, unmet};
pub(super) use member::{Member, Rolled, Step, Trial};
pub(super) use members::next;
pub(super) use undo::{REASONS, Undo, change_started, failures, known_good};
pub(super) use units::Placed;
