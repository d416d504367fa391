//! Writes reports to standard output and into files.
//!
//! Decides what each form may hold. The crate `lint` decides how a report looks.

use super::args::Output;
use crate::cli::CliError;
use crate::cli::print::{self, complain, document_text, print};
use crate::files::{Access, write as write_file};
use kubernetes::field::Shown;
use lint::report::{Format, Report, Style, render, summary};

/// Refuses two reports on standard output: the reader could not tell them apart.
pub(in crate::cli) fn one_report_on_standard_output(outputs: &[Output]) -> Result<(), CliError> {
    if outputs.iter().filter(|output| output.file.is_none()).count() > 1 {
        return Err(CliError::ReadFlag {
            flag: "output",
            reason: "only one report can go to standard output; write the others as FORMAT=FILE".to_owned(),
        });
    }
    Ok(())
}

/// Writes a report in every requested form; `additions` shows what the webhook would add. If all of them go to files, a summary goes to
/// standard error.
pub(in crate::cli) fn write(outputs: &[Output], additions: bool, report: &Report) -> Result<(), CliError> {
    for output in outputs {
        let style = Style {
            colour: output.file.is_none() && print::is_coloured(),
            additions,
        };
        let rendered = render(report, output.format, style);
        let text = match output.document {
            Some(format) => {
                let document = serde_json::from_str(&rendered).map_err(CliError::acting("write JSON"))?;
                document_text(&document, format)?
            }
            None => shown(&rendered, output.format, style),
        };
        match &output.file {
            Some(path) => write_file(path, text.as_str(), Access::Shared).map_err(|source| {
                let path = path.clone();
                CliError::WriteFile { path, source }
            })?,
            None => print(&text)?,
        }
    }
    if outputs.iter().all(|output| output.file.is_some()) {
        complain(&Shown::page(&summary(report, Style::default())));
    }
    Ok(())
}

/// What each form may hold.
fn shown(text: &str, format: Format, style: Style) -> Shown {
    match format {
        Format::Table if style.colour => Shown::painted(text),
        Format::Table | Format::Junit => Shown::page(text),
        Format::Json | Format::Sarif => Shown::json(text),
        Format::Github => Shown::commands(text),
    }
}
