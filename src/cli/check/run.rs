//! `tidegate check` from its flags to its exit status.
//!
//! Decides the order: all errors in the flags are reported before a report is written.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;

use super::args::CheckArgs;
use super::exclude::Exclusions;
use super::reports::{one_report_on_standard_output, write};
use super::{base, folder};
use crate::cli::print::note as say_note;
use crate::cli::settings::SettingsReading;
use crate::cli::{CliError, live, rulebook, watch};
use insight::offline::{Hub, Identity};
use lint::check::{Background, Base, File, MissingFacts, Outcome, check, outcome};
use lint::report::{Finding, Report, Severity};

pub(in crate::cli) fn run(args: &CheckArgs) -> Result<ExitCode, CliError> {
    one_report_on_standard_output(&args.outputs)?;
    let paths: Vec<_> = args.paths.iter().chain(&args.files).cloned().collect();
    if args.watch {
        return watch::again(&paths, || once(args, &paths).map(|_| Vec::new()));
    }
    once(args, &paths)
}

fn once(args: &CheckArgs, paths: &[PathBuf]) -> Result<ExitCode, CliError> {
    let exclusions = Exclusions::read(&args.exclude, paths)?;
    let Judging { background, unjudged } = judging(args, paths, &exclusions)?;
    let folder = folder::read_except(paths, &exclusions)?;
    exclusions.unmatched().for_each(|warning| say_note(&warning));
    if !args.allow_empty {
        something(&folder)?;
    }
    let missing = args.missing_facts.into();
    let mut report = check(&folder.files, &background, missing);
    if unjudged {
        without_settings(&mut report, missing);
    }
    report.files += folder.unreadable.len();
    report.unreadable.extend(folder.unreadable);
    report.sort();
    write(&args.outputs, args.diff, &report)?;
    let status = match outcome(&report, args.fail_on.into(), missing) {
        Outcome::Clean => 0,
        Outcome::Findings => 1,
        Outcome::BadInput => 2,
        Outcome::BrokenPolicy => 3,
    };
    Ok(ExitCode::from(status))
}

/// Refuses paths in which nothing is to be judged: a slip of the pen in a pipeline would be green indefinitely.
fn something(folder: &folder::Folder) -> Result<(), CliError> {
    let says = |file: &File| {
        file.text.lines().any(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#') && line != "---"
        })
    };
    let silent = folder.files.iter().filter(|file| !says(file));
    let silent = silent.map(|file| format!("\"{}\" contains no object", file.path));
    let empty = folder.empty.iter();
    let empty = empty.map(|path| format!("\"{}\" contains no manifest (.yaml, .yml, .json)", path.display()));
    let told: Vec<String> = if folder.files.iter().any(says) {
        // Beside others a file of comments is nothing to speak of.
        empty.collect()
    } else {
        empty.chain(silent).collect()
    };
    let told = if folder.files.is_empty() && folder.unreadable.is_empty() && told.is_empty() {
        vec!["every file is excluded".to_owned()]
    } else {
        told
    };
    if told.is_empty() {
        return Ok(());
    }
    let words = format!(
        "nothing to validate: {}; use --allow-empty to accept this",
        told.join(", ")
    );
    Err(CliError::Refused(words.into()))
}

/// What files are judged by.
struct Judging {
    background: Background,
    /// The settings of the hub's controllers cannot be read: no finding that depends on them counts.
    unjudged: bool,
}

/// The rules that depend on the settings of the hub's controllers: `--hub-permission-namespaces` and `--reserved-signers`.
const BY_SETTINGS: [&str; 2] = ["permission/namespace", "template/signer"];

/// What depends on settings that cannot be read is unknown.
fn without_settings(report: &mut Report, missing: MissingFacts) {
    let depends = |finding: &Finding| {
        BY_SETTINGS.contains(&finding.rule.as_str()) && finding.severity != Severity::Unknown
    };
    if missing == MissingFacts::Skip {
        report.findings.retain(|finding| !depends(finding));
    }
    for finding in report.findings.iter_mut().filter(|finding| depends(finding)) {
        finding.severity = Severity::Unknown;
        finding.message = format!(
            "depends on the settings of the hub's controllers, which cannot be read: {}",
            finding.message
        );
    }
}

fn judging(args: &CheckArgs, paths: &[PathBuf], exclusions: &Exclusions) -> Result<Judging, CliError> {
    let from_hub = args.live || args.base.as_deref() == Some("live");
    let (mut live, mut settings) = (None, SettingsReading::NotRead);
    if from_hub {
        let reading = live::seen(&args.hub, &args.settings)?;
        (live, settings) = (Some(reading.hub), reading.settings);
    }
    let dump = args.facts.as_deref().map(live::dump).transpose()?;
    if let Some(dump) = &dump {
        settings = args.settings.of_dump(dump);
    }
    let rights = args.rights.beside(&settings);
    let unjudged = rights.is_none();
    // A hub without controllers has no settings, and nothing of a check needs them.
    if let Some(note) = settings.note().filter(|_| unjudged) {
        say_note(&note);
    }
    let rulebook = rulebook::read(&args.gate, &rights.unwrap_or_default())?;
    let base = match args.base.as_deref() {
        None => None,
        Some("live") => live.as_ref().map(before),
        Some(revision) => Some(base::at(revision, paths, exclusions)?),
    };
    let judges_by_hub = from_hub && dump.is_none();
    let hub = dump.map(|dump| dump.hub).or(live).unwrap_or_default();
    let background = Background {
        hub,
        base,
        rulebook,
        now: Some(args.now.unwrap_or_else(Timestamp::now)),
        definitions: judges_by_hub
            .then(|| live::definitions(&args.hub))
            .transpose()?
            .map(Arc::new),
    };
    Ok(Judging { background, unjudged })
}

/// What the hub has; that a file is missing deletes nothing there.
fn before(hub: &Hub) -> Base {
    let objects = hub.objects().values();
    Base {
        objects: objects
            .map(|object| (Identity::of(object), (**object).clone()))
            .collect(),
        deletes: false,
    }
}
