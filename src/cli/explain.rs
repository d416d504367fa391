//! `tidegate explain`: prints what a rule, a cause, a word of a status or a field means.
//!
//! Never writes a sentence of its own.

use clap::Args;

use super::CliError;
use super::print::print;
use kubernetes::field::Shown;

/// Explain a rule of the gate, a cause of `tidegate why`, a word of a status or of this program, or a field of a kind.
///
/// A rule or cause is named by its id, as it stands at the end of every message: rollout/max-concurrency. A reason of a condition, an
/// annotation, a label or a finalizer is named as it stands there: WaitingForSlot, tidegate.io/paused. A field is named by kind and
/// path: ClusterManagementAddOn.spec.installStrategy, cma.spec.configs, or spec.desiredVersion of any kind. A word of this program is
/// found under Kubernetes' word for it as well: webhook, controller.
#[derive(Args, Clone, Debug)]
pub struct ExplainArgs {
    /// Id of a rule or cause, a reason, an annotation or label, or a field.
    #[arg(value_name = "RULE|WORD|FIELD", required_unless_present = "list")]
    pub topic: Option<String>,
    /// List every rule, cause, reason, annotation and kind.
    #[arg(long, conflicts_with = "topic")]
    pub list: bool,
}

pub(super) fn run(args: &ExplainArgs) -> Result<(), CliError> {
    let Some(topic) = &args.topic else {
        return print(&Shown::page(&insight::explain::list()));
    };
    let text = insight::explain::explain(topic).map_err(|error| CliError::Refused(Box::new(error)))?;
    print(&Shown::page(&text))
}
