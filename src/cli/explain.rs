//! `tidegate explain`: prints what a rule, a cause or a field means.
//!
//! Never writes a sentence of its own.

use clap::Args;

use super::CliError;
use super::print::print;
use crate::explain;

/// Explain a rule of the gate, a cause of `tidegate why`, or a field of a kind.
///
/// A rule or cause is named by its id, as it stands at the end of every message: rollout/max-concurrency. A field is named
/// by kind and path: ClusterManagementAddOn.spec.installStrategy, cma.spec.configs, or spec.desiredVersion of any kind.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Id of a rule or cause, or a field.
    #[arg(value_name = "RULE|FIELD", required_unless_present = "list")]
    pub topic: Option<String>,
    /// List every rule, cause and kind.
    #[arg(long, conflicts_with = "topic")]
    pub list: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), CliError> {
    let Some(topic) = &args.topic else {
        return print(&explain::list());
    };
    let text = explain::explain(topic).map_err(|error| CliError::Start {
        part: "explaining",
        source: Box::new(error),
    })?;
    print(&text)
}
