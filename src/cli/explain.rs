//! `tidegate explain`: prints what a rule, a cause, a word of a status or a field means.
//!
//! Never writes a sentence of its own.

use clap::{Args, CommandFactory as _};

use super::print::print;
use super::{Cli, CliError};
use kubernetes::field::Shown;

/// Explain a rule, a cause, a reason, an annotation, a label, a term or a field.
///
/// Identify a rule or cause by its id, as it is printed at the end of a message: rollout/max-concurrency. Identify a condition
/// reason, an annotation, a label or a finalizer by its name: WaitingForSlot, tidegate.io/deletion-guard. Identify a field by kind
/// and path: ClusterManagementAddOn.spec.installStrategy, cma.spec.configs, or spec.desiredVersion of any kind. A term is found
/// under the Kubernetes term, too: webhook, controller.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Id of a rule or cause, a reason, an annotation or label, or a field.
    #[arg(value_name = "RULE|NAME|FIELD", required_unless_present = "list")]
    pub topic: Option<String>,
    /// List every rule, cause, reason, annotation and kind.
    #[arg(long, conflicts_with = "topic")]
    pub list: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), CliError> {
    let Some(topic) = &args.topic else {
        return print(&Shown::page(&insight::explain::list()));
    };
    let text = insight::explain::explain(topic).map_err(|error| match command(topic) {
        Some(command) => CliError::Refused(format!("{error} (help of the command: `{command}`)").into()),
        None => CliError::Refused(Box::new(error)),
    })?;
    print(&Shown::page(&text))
}

/// Returns how to get the help of a command with this name.
fn command(name: &str) -> Option<String> {
    let root = Cli::command();
    if root.find_subcommand(name).is_some() {
        return Some(format!("tidegate help {name}"));
    }
    let mut groups = root.get_subcommands().filter(|group| !group.is_hide_set());
    let group = groups.find(|group| group.find_subcommand(name).is_some())?;
    Some(format!("tidegate help {} {name}", group.get_name()))
}
