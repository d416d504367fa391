//! The subcommands of `tidegate definitions`.
//!
//! Joins what the hub has with what `definitions` decides, and turns the end into an exit status. Writes only after every definition
//! was judged, and nothing when one of them is refused.

use std::process::ExitCode;

use serde_json::Value;

use super::hub::{Definitions, cannot_write};
use super::{ApplyArgs, DefinitionsCommand, DefinitionsPlanArgs, RevertArgs};
use crate::cli::print::{complain, document, print, print_document};
use crate::cli::{CliError, OutputFormat, connect};
use api::definitions::{
    DefinitionPlan, HubContext, Reversal, applied_text, definition_plans, extended, plan, plan_text, revert,
    revert_text,
};
use kubernetes::field::Shown;

/// What a running program has to be told.
const RESTART: &str =
    "restart `tidegate serve`: a running process does not write a field again after the hub has dropped it";

pub(in crate::cli) fn run(command: &DefinitionsCommand) -> Result<ExitCode, CliError> {
    let runtime = connect::runtime()?;
    runtime.block_on(async {
        match command {
            DefinitionsCommand::Plan(args) => planned(args).await,
            DefinitionsCommand::Apply(args) => applied(args).await,
            DefinitionsCommand::Revert(args) => reverted(args).await,
        }
    })
}

/// What the hub has, and what is to be done about it.
struct Looked {
    plans: Vec<DefinitionPlan>,
    ours: Vec<Value>,
    around: HubContext,
    absent: Vec<String>,
}

impl Looked {
    async fn at(hub: &Definitions) -> Result<Self, CliError> {
        let (mut live, mut ours_found, mut absent) = (Vec::new(), Vec::new(), Vec::new());
        for (name, ours) in extended() {
            match hub.read(&name).await? {
                Some(found) => {
                    live.push(found);
                    ours_found.push(ours);
                }
                None => absent.push(name),
            }
        }
        if live.is_empty() {
            return Err(nothing_there());
        }
        let around = hub.hub_context(&live).await?;
        let pairs = live.iter().zip(&ours_found);
        Ok(Self {
            plans: pairs.map(|(live, ours)| plan(live, ours, &around)).collect(),
            ours: ours_found,
            around,
            absent,
        })
    }

    fn is_refused(&self) -> bool {
        self.plans.iter().any(|plan| !plan.hazards.is_empty())
    }

    fn page(&self) -> String {
        let mut page: String = self.plans.iter().map(plan_text).collect();
        let absent = self.absent.iter();
        page.extend(absent.map(|name| format!("{name}\n  absent    the hub does not have this CRD\n")));
        page
    }
}

fn nothing_there() -> CliError {
    CliError::Refused(
        "the hub has no CRDs of Open Cluster Management's add-on kinds; for a hub without OCM, use \
         `tidegate crds --for-hub-without-ocm`"
            .into(),
    )
}

async fn planned(args: &DefinitionsPlanArgs) -> Result<ExitCode, CliError> {
    let hub = Definitions::of(&args.hub).await?;
    let looked = Looked::at(&hub).await?;
    match args.output {
        OutputFormat::Text => print(&Shown::page(&looked.page()))?,
        OutputFormat::Json | OutputFormat::Yaml | OutputFormat::JsonPath(_) => {
            let page = document(&definition_plans(&looked.plans, &looked.absent))?;
            print_document(&page, args.output)?;
        }
    }
    Ok(ExitCode::from(u8::from(looked.is_refused())))
}

async fn applied(args: &ApplyArgs) -> Result<ExitCode, CliError> {
    let hub = Definitions::of(&args.hub).await?;
    let looked = Looked::at(&hub).await?;
    if looked.is_refused() {
        print(&Shown::page(&looked.page()))?;
        complain(&Shown::line("tidegate: nothing was changed; see REFUSED above"));
        return Ok(ExitCode::from(1));
    }
    let done = if args.dry_run { "would add" } else { "added" };
    for (plan, ours) in looked.plans.iter().zip(&looked.ours) {
        if !plan.patch.is_empty() {
            let stored = hub.patch(&plan.name, &plan.patch, args.dry_run).await?;
            verified(&stored, ours, &looked.around)?;
        }
        print(&Shown::page(&applied_text(plan, done)))?;
    }
    if !args.dry_run && looked.plans.iter().any(|plan| !plan.patch.is_empty()) {
        print(&Shown::line(RESTART))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Checks whether the hub stored what was sent: fields that it stored in another form could not be removed later.
fn verified(stored: &Value, ours: &Value, around: &HubContext) -> Result<(), CliError> {
    let after = plan(stored, ours, around);
    let Some(first) = after.pending().next() else {
        return Ok(());
    };
    let words = format!(
        "{}: {} was not stored as sent; see `tidegate definitions plan`",
        after.name, first.path
    );
    Err(cannot_write(words.into()))
}

async fn reverted(args: &RevertArgs) -> Result<ExitCode, CliError> {
    let hub = Definitions::of(&args.hub).await?;
    let done = if args.dry_run { "would remove" } else { "removed" };
    let (mut seen, mut is_whole) = (false, true);
    for (name, _) in extended() {
        let Some(live) = hub.read(&name).await? else {
            continue;
        };
        seen = true;
        let reversal: Reversal = revert(&live);
        if !reversal.patch.is_empty() {
            hub.patch(&name, &reversal.patch, args.dry_run).await?;
        }
        is_whole &= reversal.stays.is_empty() && reversal.hazard.is_none();
        print(&Shown::page(&revert_text(&reversal, done)))?;
    }
    if !seen {
        return Err(nothing_there());
    }
    Ok(ExitCode::from(u8::from(!is_whole)))
}
