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

/// Show the rollouts of a hub as a page in the terminal, live: add-ons, one rollout, one cluster and why it is not ready.
///
/// Keys: arrows or j and k move, Enter opens, Esc goes back, q ends; p pauses, r resumes, m promotes, a approves, u undoes, t tries again, each after a
/// confirmation that shows what would be written; w asks why; ? shows all keys. Without colours where NO_COLOR is set.
#[derive(Args, Clone, Debug)]
pub struct TopArgs {
    /// Rollout to show first: an add-on, or `mcu/[NAMESPACE/]NAME`.
    pub name: Option<String>,
    /// Which hub.
    #[command(flatten)]
    pub hub: RolloutHubArgs,
}
