//! The words of `tidegate check`.
//!
//! Decides only how words become values.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use jiff::Timestamp;

use crate::cli::{GateArgs, HubArgs, RightsArgs, SettingsArgs};
use lint::check::{MissingFacts, Threshold};
use lint::report::Format;

/// Validate manifests as the webhook would, before they are applied.
///
/// Every document of the files is judged by the rules of the webhook; together the files are the hub that each of them is
/// judged on, because one sync applies them together. What hangs on facts that were not given is reported as unknown.
/// Exit status: 0 nothing found, 1 findings, 2 something cannot be read.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CheckArgs {
    /// Files and folders; folders are read with everything below them (.yaml, .yml, .json).
    #[arg(value_name = "PATH", required_unless_present = "files")]
    pub paths: Vec<PathBuf>,
    /// One more file or folder; `-` reads standard input. Repeatable.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Facts about the hub from a dump of `tidegate snapshot`; the files are laid over it.
    #[arg(long, value_name = "DUMP", conflicts_with = "live")]
    pub facts: Option<PathBuf>,
    /// Facts from the hub of the kubeconfig; nothing is written to it.
    #[arg(long)]
    pub live: bool,
    /// Let a path pass in which nothing is to be judged: a folder without manifests, a file without objects.
    #[arg(long)]
    pub allow_empty: bool,
    /// Judge again whenever a file changes, until it is ended.
    #[arg(long, conflicts_with = "base")]
    pub watch: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Judge changes, not objects: what was there before is what git has at this revision, or `live` what the hub has.
    ///
    /// A fault that was there before and was not touched is a warning then, as it is at the gate.
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// The time at which the files will be applied, such as 2026-11-20T08:00:00Z, for policies that look at it; now when absent.
    #[arg(long, value_name = "TIME")]
    pub now: Option<Timestamp>,
    /// What to do about findings that hang on facts that are not known: leave them out, show them, or fail because of them.
    #[arg(long, value_enum, value_name = "HOW", default_value_t = MissingFactsArg::Warn)]
    pub missing_facts: MissingFactsArg,
    /// From which findings on the exit status is 1.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// Report: table, json, sarif, junit or github; `=FILE` writes it there. Repeatable.
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT[=FILE]",
        default_value = "table"
    )]
    pub outputs: Vec<Output>,
    /// Show what the gate would add to the objects (table; the other forms that have room for it always do).
    #[arg(long)]
    pub diff: bool,
    /// What the gate decides by.
    #[command(flatten)]
    pub gate: GateArgs,
    /// What agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Where the hub's controllers publish it, for --live.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// What is done about findings that hang on facts that are not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MissingFactsArg {
    /// They are left out.
    Skip,
    /// They are shown.
    Warn,
    /// They are shown, and the exit status is 1.
    Fail,
}

impl From<MissingFactsArg> for MissingFacts {
    fn from(arg: MissingFactsArg) -> Self {
        match arg {
            MissingFactsArg::Skip => Self::Skip,
            MissingFactsArg::Warn => Self::Warn,
            MissingFactsArg::Fail => Self::Fail,
        }
    }
}

/// From which findings on the exit status is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// Errors: what the gate would refuse.
    Error,
    /// Warnings as well.
    Warning,
    /// None.
    Never,
}

impl From<FailOn> for Threshold {
    fn from(arg: FailOn) -> Self {
        match arg {
            FailOn::Error => Self::Error,
            FailOn::Warning => Self::Warning,
            FailOn::Never => Self::Never,
        }
    }
}

/// A report and where it goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Its form.
    pub format: Format,
    /// The file; standard output when there is none.
    pub file: Option<PathBuf>,
}

const FORMATS: [(&str, Format); 5] = [
    ("table", Format::Table),
    ("json", Format::Json),
    ("sarif", Format::Sarif),
    ("junit", Format::Junit),
    ("github", Format::Github),
];

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (word, file) = text
            .split_once('=')
            .map_or((text, None), |(word, file)| (word, Some(file)));
        let known = FORMATS.into_iter().find(|(name, _)| *name == word);
        let (_, format) = known.ok_or_else(|| {
            let near = kubernetes::field::nearest(word, FORMATS.map(|(name, _)| name));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!("must be table, json, sarif, junit or github{near}")
        })?;
        if file.is_some_and(str::is_empty) {
            return Err(format!("write {word} alone for standard output, or {word}=FILE"));
        }
        Ok(Self {
            format,
            file: file.map(PathBuf::from),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_are_a_form_and_perhaps_a_file() {
        let sarif: Output = "sarif=a=b.sarif".parse().expect("a form and a file");
        assert_eq!(sarif.format, Format::Sarif);
        assert_eq!(sarif.file, Some(PathBuf::from("a=b.sarif")));
        assert_eq!("json".parse::<Output>().expect("a form").file, None);
        assert!(
            "jason"
                .parse::<Output>()
                .expect_err("no form")
                .contains("did you mean json?")
        );
        assert!("json=".parse::<Output>().is_err());
    }
}
