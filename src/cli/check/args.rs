//! The words of `tidegate check`.
//!
//! Decides only how words become values.

use std::path::PathBuf;
use std::str::FromStr;

use clap::Args;
use jiff::Timestamp;

use crate::cli::format::{DocumentFormat as _, JSON_PATH};
use crate::cli::print::OutputFormat;
use crate::cli::{GateArgs, HubArgs, RightsArgs, SettingsArgs};
use kubernetes::json_path::Template;
use lint::check::{MissingFacts, Threshold};
use lint::report::Format;

/// Validate manifests as the webhook would, before they are applied.
///
/// Validates every document of the files with the rules of the webhook. The files are treated as the whole hub, because one sync
/// applies them together. Findings that depend on objects outside the files are reported as unresolved.
/// Exit status: 0 no findings, 1 findings, 2 a file cannot be read, 3 a policy does not compile.
#[derive(Args, Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub struct CheckArgs {
    /// Files and folders; folders are read recursively (.yaml, .yml, .json).
    #[arg(value_name = "PATH", required_unless_present = "files")]
    pub paths: Vec<PathBuf>,
    /// Another file or folder; `-` reads standard input. Repeatable.
    #[arg(short = 'f', long = "filename", value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Read the other objects of the hub from a dump written by `tidegate snapshot`; the files override it.
    #[arg(long, value_name = "DUMP", conflicts_with = "live")]
    pub facts: Option<PathBuf>,
    /// Read the other objects from the hub of the kubeconfig; nothing is written to it.
    #[arg(long)]
    pub live: bool,
    /// Leave out files and folders that match this pattern, such as `vendor` or `apps/*/generated`. Repeatable.
    ///
    /// A pattern without a slash counts in every folder. The file `.tidegateignore` has patterns as well, one per line.
    #[arg(long, value_name = "PATTERN")]
    pub exclude: Vec<String>,
    /// Accept a path with nothing to validate: a folder without manifests, a file without objects.
    #[arg(long)]
    pub allow_empty: bool,
    /// Validate again whenever a file changes, until interrupted.
    #[arg(long, conflicts_with = "base")]
    pub watch: bool,
    /// Which hub.
    #[command(flatten)]
    pub hub: HubArgs,
    /// Validate changes instead of objects: compare with the files at this git revision, or with the hub (`live`).
    ///
    /// An unchanged error that existed before is a warning, as at admission. With `live`, the other objects are read from the hub, too.
    #[arg(long, value_name = "REF")]
    pub base: Option<String>,
    /// Time at which the files will be applied, such as 2026-11-20T08:00:00Z, for policies that use the time (default: now).
    #[arg(long, value_name = "TIME")]
    pub now: Option<Timestamp>,
    /// How to handle findings that depend on missing objects: omit them, show them, or fail.
    #[arg(long, value_enum, value_name = "MODE", default_value_t = MissingFactsArg::Warn)]
    pub missing_facts: MissingFactsArg,
    /// Lowest severity of a finding for which the exit status is 1.
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t = FailOn::Error)]
    pub fail_on: FailOn,
    /// Report: table, json, yaml, sarif, junit or github; `=FILE` writes the report to that file. Or `jsonpath=TEMPLATE` as in
    /// kubectl. Repeatable.
    #[arg(
        short = 'o',
        long = "output",
        value_name = "FORMAT[=FILE]",
        default_value = "table"
    )]
    pub outputs: Vec<Output>,
    /// In table output, also show what the webhook would add to the objects. Other formats that support it always show it.
    #[arg(long)]
    pub diff: bool,
    /// Settings of the webhook.
    #[command(flatten)]
    pub gate: GateArgs,
    /// Permissions that agents may have on the hub.
    #[command(flatten)]
    pub rights: RightsArgs,
    /// Where the hub's controllers publish their settings, for --live.
    #[command(flatten)]
    pub settings: SettingsArgs,
}

/// How to handle findings that depend on missing objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum MissingFactsArg {
    /// Omit them.
    Skip,
    /// Show them.
    Warn,
    /// Show them, and exit with status 1.
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

/// Lowest severity of a finding for which the exit status is 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum FailOn {
    /// Errors: findings that the webhook would reject.
    Error,
    /// Errors and warnings.
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

/// A report and its output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// Format.
    pub format: Format,
    /// How the JSON document is written, if not as JSON.
    pub document: Option<OutputFormat>,
    /// Output file; standard output without it.
    pub file: Option<PathBuf>,
}

const FORMATS: [(&str, Format); 6] = [
    ("table", Format::Table),
    ("json", Format::Json),
    (YAML, Format::Json),
    ("sarif", Format::Sarif),
    ("junit", Format::Junit),
    ("github", Format::Github),
];

const YAML: &str = "yaml";

impl FromStr for Output {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(template) = text.strip_prefix(JSON_PATH) {
            let template = Template::parse(template)?;
            return Ok(Self {
                format: Format::Json,
                document: Some(OutputFormat::json_path(Box::leak(Box::new(template)))),
                file: None,
            });
        }
        let (word, file) = text
            .split_once('=')
            .map_or((text, None), |(word, file)| (word, Some(file)));
        let known = FORMATS.into_iter().find(|(name, _)| *name == word);
        let (_, format) = known.ok_or_else(|| {
            let near = kubernetes::field::nearest(word, FORMATS.map(|(name, _)| name));
            let near = near.map_or_else(String::new, |near| format!("; did you mean {near}?"));
            format!("must be table, json, yaml, sarif, junit, github or jsonpath=TEMPLATE{near}")
        })?;
        if file.is_some_and(str::is_empty) {
            return Err(format!("write {word} alone for standard output, or {word}=FILE"));
        }
        Ok(Self {
            format,
            document: (word == YAML).then_some(OutputFormat::Yaml),
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
        let yaml: Output = "yaml=report.yaml".parse().expect("a form and a file");
        assert_eq!(
            (yaml.format, yaml.document),
            (Format::Json, Some(OutputFormat::Yaml))
        );
        let path: Output = "jsonpath={.summary}".parse().expect("a template");
        assert!(matches!(path.document, Some(OutputFormat::JsonPath(_))) && path.file.is_none());
        assert!("jsonpath={.summary".parse::<Output>().is_err());
    }
}
