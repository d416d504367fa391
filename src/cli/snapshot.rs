//! `tidegate snapshot`: writes down what a hub is, for the tools that work without one.
//!
//! Decides where it goes. Only reads the hub.

use std::path::PathBuf;

use clap::Args;

use super::print::{note as say_note, print};
use super::{CliError, ControllerFlags, HubArgs, SettingsArgs, live};
use crate::files::{Access, write};
use kubernetes::field::Shown;

/// Write a dump of a hub: every object that the controllers know, for `check --facts`, `plan` and `why --facts`.
///
/// Uses only list and get. The dump contains no Secrets: no Secret objects, no values of Secrets inside templates or works, and
/// nothing that looks like a credential (`docs/snapshot.md`). Only the owner can read the file. Managed fields and other
/// bookkeeping are omitted. The same hub produces the same bytes, except for the time.
#[derive(Args, Clone, Debug)]
pub struct SnapshotArgs {
    /// Output file (default: standard output).
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Where its controllers publish their settings.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

pub(super) fn run(args: &SnapshotArgs) -> Result<(), CliError> {
    let reading = live::seen(&args.hub, &args.settings)?;
    // Tools that judge by such a dump end with the same message.
    if let Some(note) = reading.settings.note() {
        say_note(&note);
    }
    let dump = reading.into_dump();
    let mut redacted = dump.redacted();
    if let Some(hub) = redacted.redacted_hub() {
        let settings = ControllerFlags::published(&dump.controllers).map(|published| published.settings());
        insight::forecast::keep_plans(&dump.hub, hub, &settings.unwrap_or_default(), dump.taken_at);
    }
    let text = Shown::json(&redacted.render());
    match &args.output {
        None => print(&text),
        Some(path) => write(path, text.as_str(), Access::Private).map_err(CliError::writing(path)),
    }
}
