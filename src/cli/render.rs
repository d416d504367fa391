//! `tidegate render`: the works of an add-on on a cluster, as they would be.
//!
//! Decides where hub and changes come from, as `plan` does, and the exit status. How works are made, and where each value comes from, is
//! decided by the controllers' own planner.

use std::process::ExitCode;

use clap::Args;

use super::format::{DocumentFormat, FormatParser};
use super::plan::{PlanFormat, PlanInput, changed};
use super::policy::written;
use super::print::{OutputFormat, complain, document, print, print_document};
use super::{BehaviourArgs, CliError, GateArgs};
use insight::forecast::{RenderedCluster, rendered_addon, works, works_notes};
use kubernetes::field::{Shown, one_line};
use kubernetes::json_path::Template;

/// Render the ManifestWorks of an add-on for a cluster, with the source of every value.
///
/// Works on a dump, or on manifests that describe a hub. Runs the planner of the controllers in memory until there is nothing
/// left to do, and prints the resulting ManifestWorks. Values come from the defaults of the ClusterManagementAddOn, a
/// placement, the ManagedClusterAddOn, or are built in.
/// Exit status: 0 works were rendered, 1 there are no works, or they have errors, 2 cannot be determined.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "tidegate render [OPTIONS] <ADDON> --cluster <NAME> <DUMP>\n       tidegate render [OPTIONS] <ADDON> --cluster <NAME> --live [--context <NAME>]"
)]
pub struct RenderArgs {
    /// Name of the add-on.
    pub addon: String,
    /// Cluster to render the add-on for.
    #[arg(long, value_name = "NAME")]
    pub cluster: String,
    /// The hub, and what is applied to it first.
    #[command(flatten)]
    pub input: PlanInput,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "yaml", value_parser = FormatParser::<RenderFormat>::new())]
    pub output: RenderFormat,
    /// Settings of the webhook.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Settings of the hub's controllers.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

/// Output format of a rendering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum RenderFormat {
    /// YAML documents, with the source of every value in comments above them.
    Yaml,
    /// One JSON object.
    Json,
    /// What a template selects from the document.
    #[value(skip)]
    JsonPath(&'static Template),
}

impl DocumentFormat for RenderFormat {
    fn json_path(template: &'static Template) -> Self {
        Self::JsonPath(template)
    }
}

pub(super) fn run(args: &RenderArgs) -> Result<ExitCode, CliError> {
    let read = args.input.read(&args.gate, &args.behaviour, PlanFormat::Text)?;
    let planned = match read {
        Ok(planned) => planned,
        Err(status) => return Ok(status),
    };
    let hub = changed(&planned.hub, &planned.changes);
    let asked = (args.addon.as_str(), args.cluster.as_str());
    let rendered = works(&hub, planned.settings, asked, planned.now)
        .map_err(|error| CliError::Refused(Box::new(error)))?;
    match args.output {
        RenderFormat::Yaml => yaml(&rendered)?,
        RenderFormat::Json => print_document(&document(&rendered_addon(&rendered))?, OutputFormat::Json)?,
        RenderFormat::JsonPath(template) => {
            let format = OutputFormat::JsonPath(template);
            print_document(&document(&rendered_addon(&rendered))?, format)?;
        }
    }
    let is_whole = !rendered.works.is_empty() && rendered.held.is_empty();
    Ok(ExitCode::from(u8::from(!is_whole)))
}

/// Without works, the message goes to standard error, so that an empty page is not applied.
fn yaml(rendered: &RenderedCluster) -> Result<(), CliError> {
    let notes = works_notes(rendered);
    if rendered.works.is_empty() {
        for note in notes {
            complain(&Shown::line(&note));
        }
        return Ok(());
    }
    let mut page = Shown::default();
    for note in notes {
        page.push(&Shown::page(&format!("# {}\n", one_line(&note))));
    }
    for work in &rendered.works {
        page.push(&Shown::page("---\n"));
        page.push(&written(work)?);
    }
    print(&page)
}
