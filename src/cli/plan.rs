//! `tidegate plan`: what would happen on a hub, with and without a change.
//!
//! Decides where hub and changes come from, and that a change which the gate would refuse is no change.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use jiff::Timestamp;

use super::check::{Folder, read};
use super::format::{DocumentFormat, FormatParser};
use super::print::{OutputFormat, complain, document, listing, print, print_document, print_folded};
use super::terminal::Progress;
use super::{BehaviourArgs, CliError, ControllerArgs, GateArgs, HubArgs, live, rulebook};
use insight::forecast::{ChangePlan, Changes, Forecast, UpgradeForecast};
use insight::offline::{Hub, Identity};
use kubernetes::field::{Listing, Shown};
use kubernetes::json_path::Template;
use lint::check::{Background, Base, File, MissingFacts, Outcome, Threshold};
use lint::report::{Format, Style, render};
use store::Settings;

/// Preview a change: which clusters are updated, and in which wave; which get or lose the add-on; which are blocked; how
/// cluster upgrades continue.
///
/// Works on a dump. Runs the planner of the controllers in memory; clusters with a connected agent report success at once, the
/// others report nothing, and wait times pass at once. With --change, unaffected add-ons are only counted. Placement decisions
/// are not predicted: they stay as they are in the dump.
/// Exit status: 0 forecast printed, 1 the webhook would reject a change, or the limit of --exit-code or --max-moved is exceeded,
/// 2 cannot be determined, 3 a policy does not compile.
#[derive(Args, Clone, Debug)]
#[command(
    override_usage = "tidegate plan [OPTIONS] <DUMP>\n       tidegate plan [OPTIONS] --live [--context <NAME>]"
)]
pub struct PlanArgs {
    /// The hub, and what is applied to it first.
    #[command(flatten)]
    pub input: PlanInput,
    /// What to show.
    #[command(flatten)]
    pub question: PlanQuestion,
    /// Output format, or `jsonpath=TEMPLATE` as in kubectl.
    #[arg(short, long, value_name = "FORMAT", default_value = "text", value_parser = FormatParser::<PlanFormat>::new())]
    pub output: PlanFormat,
    /// Settings of the webhook.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Settings of the hub's controllers.
    #[command(flatten)]
    pub behaviour: BehaviourArgs,
}

impl PlanArgs {
    /// The size of a pull request comment is limited.
    fn listing(&self) -> Listing {
        match self.output {
            PlanFormat::Markdown if !self.question.all => Listing::Short,
            PlanFormat::Markdown
            | PlanFormat::Text
            | PlanFormat::Json
            | PlanFormat::Yaml
            | PlanFormat::JsonPath(_) => listing(self.question.all),
        }
    }
}

/// A hub, and changes that are applied to it first.
#[derive(Args, Clone, Debug)]
pub struct PlanInput {
    /// Dump written by `tidegate snapshot`, or a file or folder of manifests; `--live` reads the hub instead.
    #[arg(
        value_name = "DUMP",
        required_unless_present = "live",
        conflicts_with = "live"
    )]
    pub dump: Option<PathBuf>,
    /// Read the hub instead of a dump; nothing is written to it.
    #[arg(long)]
    pub live: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Objects to apply first: a file or folder, `-` for standard input. Repeatable.
    #[arg(long = "change", value_name = "FILE")]
    pub changes: Vec<PathBuf>,
}

/// A hub, and changes that its webhook would admit.
pub(super) struct PlannedHub {
    pub(super) hub: Hub,
    pub(super) now: Timestamp,
    pub(super) settings: Settings,
    pub(super) changes: Vec<File>,
}

impl PlanInput {
    /// Reads the hub and the changes; an exit status if the webhook would reject them, after printing why.
    pub(super) fn read(
        &self,
        gate: &GateArgs,
        behaviour: &BehaviourArgs,
        output: PlanFormat,
    ) -> Result<Result<PlannedHub, ExitCode>, CliError> {
        let reading = live::dump_or_seen(self.dump.as_deref(), &self.hub, behaviour)?;
        let controllers = behaviour.of(&reading.settings)?;
        let (hub, now) = (reading.hub, reading.now);
        let changes = read(&self.changes)?;
        empty(&self.changes, &changes)?;
        if let Some(status) = refused(gate, &controllers, &hub, now, &changes, output)? {
            return Ok(Err(status));
        }
        Ok(Ok(PlannedHub {
            hub,
            now,
            settings: controllers.settings(),
            changes: changes.files,
        }))
    }
}

/// What to show in addition, or instead.
#[expect(clippy::struct_excessive_bools, reason = "flags of the command line")]
#[derive(Args, Clone, Copy, Debug)]
pub struct PlanQuestion {
    /// Instead of the forecast, show what Tidegate would write immediately if it took over the hub from OCM's add-on
    /// manager: the ManifestWorks whose content differs, field by field.
    #[arg(long, conflicts_with = "changes")]
    pub take_over: bool,
    /// Also show the final changes on clusters: the configuration of each cluster, and the fields of works that differ from the
    /// hub. `-o markdown` always shows them.
    #[arg(long, conflicts_with = "take_over")]
    pub diff: bool,
    /// Do not shorten the list of clusters on a terminal and in Markdown; other outputs are never shortened.
    #[arg(long)]
    pub all: bool,
    /// Exit with 1 if the forecast shows any difference.
    #[arg(long)]
    pub exit_code: bool,
    /// Exit with 1 if more clusters of an add-on than this are updated or lose it: a number, or a percentage such as 10%.
    /// Clusters that wait for an approval count.
    #[arg(long, value_name = "LIMIT", conflicts_with = "take_over")]
    pub max_moved: Option<MostMoved>,
}

/// Format of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PlanFormat {
    /// Readable text.
    Text,
    /// Machine-readable (`docs/reference/output.md`).
    Json,
    /// The same as YAML.
    Yaml,
    /// For a pull request comment.
    Markdown,
    /// What a template selects from the document.
    #[value(skip)]
    JsonPath(&'static Template),
}

impl DocumentFormat for PlanFormat {
    fn json_path(template: &'static Template) -> Self {
        Self::JsonPath(template)
    }
}

impl PlanFormat {
    const fn document(self) -> OutputFormat {
        match self {
            Self::Yaml => OutputFormat::Yaml,
            Self::JsonPath(template) => OutputFormat::JsonPath(template),
            Self::Text | Self::Json | Self::Markdown => OutputFormat::Json,
        }
    }
}

/// How many clusters of an add-on may be updated or lose it: a number, or a percentage of its clusters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MostMoved {
    /// Clusters.
    Number(usize),
    /// Percent of the clusters of the add-on.
    Percent(usize),
}

impl std::str::FromStr for MostMoved {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = match text.strip_suffix('%') {
            Some(percent) => percent
                .parse()
                .ok()
                .filter(|percent| *percent <= 100)
                .map(Self::Percent),
            None => text.parse().ok().map(Self::Number),
        };
        found.ok_or_else(|| "must be a number of clusters, or a percentage from 0% to 100%".to_owned())
    }
}

impl MostMoved {
    /// Returns whether so many of these clusters are too many.
    fn is_exceeded(self, moved: usize, of: usize) -> bool {
        match self {
            Self::Number(most) => moved > most,
            Self::Percent(most) => moved.saturating_mul(100) > most.saturating_mul(of),
        }
    }
}

impl std::fmt::Display for MostMoved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(most) => write!(f, "{most}"),
            Self::Percent(most) => write!(f, "{most}%"),
        }
    }
}

pub(super) fn run(args: &PlanArgs) -> Result<ExitCode, CliError> {
    let planned = match args.input.read(&args.gate, &args.behaviour, args.output)? {
        Ok(planned) => planned,
        Err(status) => return Ok(status),
    };
    let PlannedHub {
        hub,
        now,
        settings,
        changes,
    } = planned;
    for (key, fault) in hub.store(settings.clone()).faults() {
        complain(&Shown::line(&format!(
            "tidegate: {key} cannot be read and is ignored: {fault}"
        )));
    }
    if args.question.take_over {
        let all = insight::forecast::take_over(&hub, settings, now);
        let text = insight::forecast::take_over_text(&all, args.listing());
        match args.output {
            PlanFormat::Text => print(&Shown::page(&text))?,
            PlanFormat::Markdown => print(&Shown::page(&insight::forecast::fenced(&text)))?,
            PlanFormat::Json | PlanFormat::Yaml | PlanFormat::JsonPath(_) => {
                let page = document(&insight::forecast::take_over_plan(&all))?;
                print_document(&page, args.output.document())?;
            }
        }
        let is_same = all.iter().all(|one| one.changed.is_empty());
        return Ok(ExitCode::from(u8::from(args.question.exit_code && !is_same)));
    }
    let progress = Progress::begin("planning");
    let foreseen = Foreseen::of(args, &hub, &changes, &settings, now);
    drop(progress);
    foreseen.tell(args)?;
    let too_many = foreseen.too_many(args.question.max_moved);
    for told in &too_many {
        complain(&Shown::line(&format!("tidegate: {told}")));
    }
    let differs = args.question.exit_code && foreseen.differs();
    Ok(ExitCode::from(u8::from(differs || !too_many.is_empty())))
}

/// The forecast.
struct Foreseen {
    addons: Vec<Forecast>,
    /// Number of add-ons that the change does not affect.
    same: usize,
    upgrades: Vec<UpgradeForecast>,
    changes: Vec<Changes>,
}

impl Foreseen {
    fn of(args: &PlanArgs, hub: &Hub, files: &[File], settings: &Settings, now: Timestamp) -> Self {
        let with_changes = changed(hub, files);
        let mut addons = insight::forecast::forecast(&with_changes, settings.clone(), now);
        let mut upgrades = insight::forecast::upgrades(&with_changes, settings.clone(), now);
        let mut same = 0;
        if !args.input.changes.is_empty() {
            let known = insight::forecast::upgrades(hub, settings.clone(), now);
            upgrades.retain(|upgrade| !known.contains(upgrade));
            let before = insight::forecast::forecast(hub, settings.clone(), now);
            let all = addons.len();
            addons.retain(|forecast: &Forecast| !before.contains(forecast));
            same = all - addons.len();
        }
        let told: BTreeSet<&str> = addons.iter().map(|forecast| forecast.addon.as_str()).collect();
        let mut changes = Vec::new();
        if args.question.diff || args.output == PlanFormat::Markdown {
            changes = insight::forecast::changes(hub, &with_changes, settings.clone(), now);
            changes.retain(|changes| told.contains(changes.addon.as_str()));
        }
        Self {
            addons,
            same,
            upgrades,
            changes,
        }
    }

    /// Returns whether anything would happen.
    fn differs(&self) -> bool {
        let moves = |forecast: &Forecast| forecast.waves.iter().any(|wave| wave.reach() > 0);
        self.addons
            .iter()
            .any(|forecast| moves(forecast) || !forecast.held.is_empty())
            || self.upgrades.iter().any(|upgrade| upgrade.starts() > 0)
    }

    /// Returns the add-ons that move more clusters than they may.
    fn too_many(&self, limit: Option<MostMoved>) -> Vec<String> {
        let Some(limit) = limit else {
            return Vec::new();
        };
        let each = self.addons.iter().filter_map(|forecast| {
            let (moved, of) = forecast.moved();
            limit.is_exceeded(moved, of).then(|| {
                format!(
                    "{}: {moved} of {} are updated, wait for their update or lose the add-on, more than --max-moved {limit} allows",
                    forecast.addon,
                    kubernetes::field::counted(of, "cluster")
                )
            })
        });
        each.collect()
    }

    fn tell(&self, args: &PlanArgs) -> Result<(), CliError> {
        let Self {
            addons,
            same,
            upgrades,
            changes,
        } = self;
        match args.output {
            PlanFormat::Text => {
                print_folded(&text(addons, *same, upgrades, args.listing()), &[])?;
                print(&Shown::page(&insight::forecast::changes_text(
                    changes,
                    args.listing(),
                )))
            }
            PlanFormat::Markdown => print(&Shown::page(&insight::forecast::markdown(
                addons,
                *same,
                upgrades,
                changes,
                args.listing(),
            ))),
            PlanFormat::Json | PlanFormat::Yaml | PlanFormat::JsonPath(_) => {
                let page = ChangePlan {
                    addons,
                    without_difference: *same,
                    upgrades: insight::forecast::planned_upgrades(upgrades),
                    changes: (args.question.diff).then(|| insight::forecast::addon_changes(changes)),
                };
                print_document(&document(&page)?, args.output.document())
            }
        }
    }
}

/// A hub with upgrades and without add-ons gets no line about add-ons.
fn text(addons: &[Forecast], same: usize, upgrades: &[UpgradeForecast], listing: Listing) -> String {
    let told = insight::forecast::upgrades_text(upgrades, listing);
    if addons.is_empty() && same == 0 && !told.is_empty() {
        return told;
    }
    let mut all = insight::forecast::text(addons, same, listing);
    all.push_str(&told);
    all
}

/// Validates the changes as the webhook of that hub would; prints errors and warnings.
fn refused(
    gate: &GateArgs,
    controllers: &ControllerArgs,
    hub: &Hub,
    now: Timestamp,
    changes: &Folder,
    output: PlanFormat,
) -> Result<Option<ExitCode>, CliError> {
    // Only changes are compared with what is there: without any, no copy is made.
    let objects = hub.objects().values().filter(|_| !changes.files.is_empty());
    let background = Background {
        hub: hub.clone(),
        base: Some(Base {
            objects: objects
                .map(|object| (Identity::of(object), (**object).clone()))
                .collect(),
            deletes: false,
        }),
        rulebook: rulebook::read(gate, &controllers.rights)?,
        now: Some(now),
        definitions: None,
    };
    let report = lint::check::check(&changes.files, &background, MissingFacts::Skip);
    let told = render(&report, Format::Table, Style::default());
    let page = match output {
        PlanFormat::Markdown => Shown::page(&format!(
            "### Findings of the webhook\n\n{}\n",
            insight::forecast::fenced(&told)
        )),
        PlanFormat::Text | PlanFormat::Json | PlanFormat::Yaml | PlanFormat::JsonPath(_) => {
            Shown::page(&told)
        }
    };
    let status = match lint::check::outcome(&report, Threshold::Error, MissingFacts::Skip) {
        Outcome::Clean => {
            // Warnings, and objects on which no plan depends: beside the forecast, as kubectl prints warnings; a comment has one page.
            let is_news = !report.findings.is_empty() || !report.ignored.is_empty();
            if is_news && output == PlanFormat::Markdown {
                print(&page)?;
            } else if is_news {
                complain(&page);
            }
            return unread(changes).map_or(Ok(None), Err);
        }
        Outcome::Findings => 1,
        Outcome::BadInput => 2,
        Outcome::BrokenPolicy => 3,
    };
    print(&page)?;
    Ok(Some(ExitCode::from(status)))
}

/// A change without an object would be reported as no difference.
fn empty(paths: &[PathBuf], changes: &Folder) -> Result<(), CliError> {
    let mut files = changes.files.iter();
    let has_object = |file: &File| {
        lint::source::read(&file.text)
            .documents
            .iter()
            .any(|one| !lint::source::objects(one).is_empty())
    };
    let is_read = paths.is_empty() || !changes.unreadable.is_empty();
    if is_read || files.any(has_object) {
        return Ok(());
    }
    Err(CliError::ReadFlag {
        flag: "change",
        reason: "the files contain no object".to_owned(),
    })
}

/// A change that cannot be read completely is not applied in part.
fn unread(changes: &Folder) -> Option<CliError> {
    let fault = changes.unreadable.first()?;
    Some(CliError::ReadFlag {
        flag: "change",
        reason: format!("{}: {}", fault.spot.file, fault.message),
    })
}

/// Returns a hub with the objects of files applied to it.
pub(super) fn changed(hub: &Hub, files: &[File]) -> Hub {
    let mut hub = hub.clone();
    for file in files {
        let reading = lint::source::read(&file.text);
        for object in reading.documents.iter().flat_map(lint::source::objects) {
            hub.apply(object.value);
        }
    }
    if hub.assumed() > 0 {
        complain(&Shown::line(&format!(
            "tidegate: the dump does not contain {} of the files: they count as unchanged (--live compares them)",
            kubernetes::field::counted(hub.assumed(), "value")
        )));
    }
    hub
}
