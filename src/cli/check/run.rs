//! `tidegate check` from its flags to its exit status.
//!
//! Decides the order: everything that can be wrong with the flags is told before a report is written.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;

use jiff::Timestamp;

use super::args::CheckArgs;
use super::reports::{one_report_on_standard_output, write};
use super::{base, folder};
use crate::cli::{CliError, live, rulebook, watch};
use check::{Background, Base, File, Outcome, check, outcome};
use offline::{Hub, Identity};

pub(in crate::cli) fn run(args: &CheckArgs) -> Result<ExitCode, CliError> {
    one_report_on_standard_output(&args.outputs)?;
    let paths: Vec<_> = args.paths.iter().chain(&args.files).cloned().collect();
    if args.watch {
        return watch::again(&paths, || once(args, &paths).map(|_| Vec::new()));
    }
    once(args, &paths)
}

fn once(args: &CheckArgs, paths: &[PathBuf]) -> Result<ExitCode, CliError> {
    let background = background(args, paths)?;
    let folder = folder::read(paths)?;
    if !args.allow_empty {
        something(&folder)?;
    }
    let missing = args.missing_facts.into();
    let mut report = check(&folder.files, &background, missing);
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

/// Refuses paths in which nothing is to be judged: a slip of the pen in a pipeline would be green for ever.
fn something(folder: &folder::Folder) -> Result<(), CliError> {
    let says = |file: &File| {
        file.text.lines().any(|line| {
            let line = line.trim();
            !line.is_empty() && !line.starts_with('#') && line != "---"
        })
    };
    let silent = folder.files.iter().filter(|file| !says(file));
    let silent = silent.map(|file| format!("\"{}\" holds no object", file.path));
    let empty = folder.empty.iter();
    let empty = empty.map(|path| format!("\"{}\" holds no manifest (.yaml, .yml, .json)", path.display()));
    let told: Vec<String> = if folder.files.iter().any(says) {
        // Beside others a file of comments is nothing to speak of.
        empty.collect()
    } else {
        empty.chain(silent).collect()
    };
    if told.is_empty() {
        return Ok(());
    }
    let words = format!(
        "nothing to judge: {}; --allow-empty lets that pass",
        told.join(", ")
    );
    Err(CliError::Refused(words.into()))
}

fn background(args: &CheckArgs, paths: &[PathBuf]) -> Result<Background, CliError> {
    let rulebook = rulebook::read(&args.gate, &args.rights)?;
    let from_hub = args.live || args.base.as_deref() == Some("live");
    let live = from_hub.then(|| live::read(&args.hub)).transpose()?;
    let base = match args.base.as_deref() {
        None => None,
        Some("live") => live.as_ref().map(before),
        Some(revision) => Some(base::at(revision, paths)?),
    };
    let hub = match (&args.facts, live) {
        (Some(path), _) => live::dump(path)?.hub,
        (None, Some(hub)) if args.live => hub,
        (None, Some(_) | None) => Hub::default(),
    };
    Ok(Background {
        hub,
        base,
        rulebook,
        now: Some(args.now.unwrap_or_else(Timestamp::now)),
        definitions: args
            .live
            .then(|| live::definitions(&args.hub))
            .transpose()?
            .map(Arc::new),
    })
}

/// What the hub has; that a file is missing deletes nothing there.
fn before(hub: &Hub) -> Base {
    let objects = hub.objects().values();
    Base {
        objects: objects
            .map(|object| (Identity::of(object), object.clone()))
            .collect(),
        deletes: false,
    }
}
