//! `tidegate top`: the rollouts of a hub as a page in the terminal.
//!
//! | file | question |
//! |---|---|
//! | `draw` | how that looks |
//! | `run` | where pictures and keys come from, and who does what is asked |

mod draw;
mod run;

use clap::Args;

use crate::cli::RolloutHubArgs;

pub(in crate::cli) use run::run;

/// Show rollouts in the terminal, updated live: all add-ons, one rollout, or one cluster and why it is not ready.
///
/// Keys: arrows or j and k select, Enter opens, Esc goes back, q quits; p pauses, r resumes, m promotes, a approves, u undoes
/// and t retries: each asks for an optional reason, shows what will be written, and writes it when you confirm; w explains; o
/// shows freezes, approvals, checks and profiles; ? shows all keys. Set NO_COLOR to disable colors.
#[derive(Args, Clone, Debug)]
pub struct TopArgs {
    /// Rollout to show first: name of the add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: Option<String>,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}
