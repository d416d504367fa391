//! `tidegate policy test`: cases of policies, and what they cover. What is run and counted is decided by the crate `check`.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::files::{documents, files, read_all};
use super::{CommandOutput, DOES_NOT_COMPILE, FOUND, TestArgs, TestOutput};
use crate::cli::CliError;
use crate::cli::print::{OutputFormat, document, document_text};
use kubernetes::field::Shown;
use lint::check::{Gaps, PolicyFiles, TestFileError, TestFiles, TestReport};

/// The files of this machine.
struct Disk;

impl TestFiles for Disk {
    type Error = CliError;

    fn below(&self, paths: &[PathBuf]) -> Result<Vec<PathBuf>, CliError> {
        files(paths)
    }

    fn documents(&self, path: &Path) -> Result<Vec<Value>, CliError> {
        documents(path)
    }

    fn policies(&self, paths: &[PathBuf]) -> Result<PolicyFiles, CliError> {
        read_all(paths)
    }
}

impl From<TestFileError> for CliError {
    fn from(error: TestFileError) -> Self {
        let TestFileError { path, reason } = error;
        Self::ReadDocument { path, reason }
    }
}

pub(super) fn run(args: &TestArgs) -> Result<CommandOutput, CliError> {
    let report = run_tests(&args.paths, args.mutate)?;
    let gaps = if args.allow_uncovered {
        Gaps::Told
    } else {
        Gaps::Fail
    };
    let of_document = |format| document_text(&document(&report.document())?, format);
    Ok(CommandOutput {
        page: match args.output {
            TestOutput::Text => Shown::page(&report.text()),
            TestOutput::Json => of_document(OutputFormat::Json)?,
            TestOutput::Yaml => of_document(OutputFormat::Yaml)?,
            TestOutput::JsonPath(template) => of_document(OutputFormat::JsonPath(template))?,
            TestOutput::Junit => Shown::page(&report.junit(gaps)),
        },
        status: match (&report.broken, report.has_failures(gaps)) {
            (Some(_), _) => DOES_NOT_COMPILE,
            (None, true) => FOUND,
            (None, false) => 0,
        },
    })
}

/// Returns the files and folders that the tests of these paths read, as far as they can be found.
pub(super) fn reads(paths: &[PathBuf]) -> Vec<PathBuf> {
    lint::check::named_files(&Disk, paths)
}

/// Runs the cases of all PolicyTest files below these paths; with `mutate` also against every mutant of the policies.
pub fn run_tests(paths: &[PathBuf], mutate: bool) -> Result<TestReport, CliError> {
    lint::check::run_tests(&Disk, paths, mutate)
}
