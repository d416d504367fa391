//! `plan::addon(&View, now) -> Plan`, pure.
//! Stages, in order: `install`, `config`, `rollout`, `work`, `progress`, `registration`, `rollup`, `health`, `diff`.
//! `plan::addon_with` makes the same plan with a memo of the last one. No clock, no client, no threads: the same view gives the same plan.

mod addon;
mod adoption;
mod arrival;
mod available;
mod census;
mod change_event;
mod conditions;
mod config;
mod diff;
mod discovery;
mod few;
mod health;
mod hook;
mod hook_body;
mod hook_run;
mod install;
mod instance_state;
mod instances;
mod kept;
mod memo;
mod outlook;
mod own_status;
mod owners;
mod progress;
mod registration;
mod render;
mod render_cache;
mod report;
mod rollout;
mod rollup;
mod room;
mod settled;
mod state;
mod stock;
mod substitute;
mod told;
mod types;
mod uninstall;
mod unreachable;
pub mod upgrade;
mod version;
mod work;

pub use addon::{addon, addon_with, addon_with_outlook, timeless, unread};
pub use change_event::{Grade, Note};
pub use kept::{lost as lost_content, told as kept_in};
pub use memo::Memo;
pub use outlook::*;
pub use registration::{CertificateDecision, Signer, Signing};
pub use state::{Outcome, Phase, State, Words};
pub use types::{Action, Payload, Plan, Revision, Turn, TurnSubject, Wait, WaitOn};
