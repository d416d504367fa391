//! `plan::addon(&View, now) -> Plan`, pure.
//! Stages, in order: `install`, `config`, `rollout`, `work`, `progress`, `registration`, `addon_status`, `conditions`, `diff`.
//! `plan::addon_with` makes the same plan with a memo of the last one. No clock, no client, no threads: the same view gives the same plan.

mod addon;
mod addon_status;
mod approval_objects;
mod census;
mod change_event;
mod conditions;
mod config;
mod diff;
mod discovery;
mod hook;
mod hook_body;
mod hook_run;
mod install;
mod instances;
mod kept_content;
mod memo;
mod notification;
mod outlook;
mod own_status;
mod owners;
mod progress;
mod registration;
mod render;
mod render_cache;
mod report;
mod rollout;
mod rollout_notifications;
mod settled;
mod short_list;
mod size_budget;
mod substitute;
mod types;
mod uninstall;
pub mod upgrade;
mod version;
mod work;

pub use addon::{addon, addon_with, addon_with_outlook, timeless, unread};
pub use change_event::{Grade, Note};
pub use conditions::state::{Outcome, Phase, State, Words};
pub use kept_content::{lost as lost_content, told as kept_in};
pub use memo::Memo;
pub use notification::{Notification, NotificationKind};
pub use outlook::*;
pub use registration::{CertificateDecision, Signer, Signing};
pub use rollout::{for_reason, freeze_of};
pub use types::{Action, Payload, Plan, Revision, Turn, TurnSubject, Wait, WaitOn};
