//! `tidegate policy lint`: what is wrong with policies, and what is probably not meant.
//!
//! Decides the exit status; the crate `lint` decides what is found, and where.

use std::process::ExitCode;

use jiff::Timestamp;

use super::LintArgs;
use super::files::texts;
use super::{DOES_NOT_COMPILE, FOUND, UNREADABLE};
use crate::cli::CliError;
use crate::cli::check::{one_report_on_standard_output, write};
use crate::cli::print::print;
use kubernetes::field::Shown;
use lint::check::lint;
use lint::report::Format;

pub(super) fn run(args: &LintArgs) -> Result<ExitCode, CliError> {
    one_report_on_standard_output(&args.outputs)?;
    let found = lint(&texts(&args.paths)?, Some(Timestamp::now()));
    write(&args.outputs, false, &found.report)?;
    let is_page = |output: &crate::cli::Output| output.format == Format::Table && output.file.is_none();
    if args.outputs.iter().any(is_page) {
        print(&Shown::page(&found.summary()))?;
    }
    let status = if !found.report.unreadable.is_empty() {
        UNREADABLE
    } else if found.is_broken() {
        DOES_NOT_COMPILE
    } else if !found.report.findings.is_empty() {
        FOUND
    } else {
        0
    };
    Ok(ExitCode::from(status))
}
