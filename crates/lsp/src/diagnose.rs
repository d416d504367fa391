//! From a report of the check to what an editor underlines.
//!
//! Decides how a finding reads there, and how far the line under it goes. Never decides what is a finding.

use std::collections::BTreeMap;

use gen_lsp_types::{Diagnostic, DiagnosticSeverity, Position, Range};

use super::sheet::Sheet;
use check::File;
use field::one_line;
use report::{Finding, Report, Severity, Spot, Unreadable};
use source::Mark;

/// Who says it.
const SOURCE: &str = "tidegate";
/// The most that is underlined in a file: more is not read, and makes some editors stand still.
const MOST: usize = 1_000;

/// The most letters of a word that are underlined.
const WIDEST: usize = 200;

/// Returns what is to be underlined, by file: those that are named, whether anything is wrong there or not, and all where something is.
pub(super) fn by_file<'f>(
    report: &Report,
    files: impl Iterator<Item = &'f File>,
    named: impl Iterator<Item = String>,
) -> BTreeMap<String, Vec<Diagnostic>> {
    let mut sheets: BTreeMap<&str, Sheet<'_>> = BTreeMap::new();
    let wanted: BTreeMap<&str, &str> = files
        .map(|file| (file.path.as_str(), file.text.as_str()))
        .collect();
    let mut found: BTreeMap<String, Vec<Diagnostic>> = named.map(|name| (name, Vec::new())).collect();
    let mut add = |spot: &Spot, told: &dyn Fn(Range) -> Diagnostic| {
        let Some((path, text)) = wanted.get_key_value(spot.file.as_str()) else {
            // What is no text has no lines: it is told at its beginning.
            found
                .entry(spot.file.clone())
                .or_default()
                .push(told(Range::default()));
            return;
        };
        let sheet = sheets.entry(path).or_insert_with(|| Sheet::of(text));
        let all = found.entry(spot.file.clone()).or_default();
        if all.len() < MOST {
            all.push(told(range(sheet, spot)));
        }
    };
    for fault in &report.unreadable {
        add(&fault.spot, &|range| unreadable(fault, range));
    }
    for finding in &report.findings {
        add(&finding.spot, &|range| told(finding, range));
    }
    found
}

/// The stretch of a spot; where its end is unknown, the word that begins there.
fn range(sheet: &mut Sheet<'_>, spot: &Spot) -> Range {
    let line = spot.line;
    let start = sheet.position(Mark {
        line,
        column: spot.column,
    });
    if spot.end > spot.column {
        let end = sheet.position(Mark {
            line,
            column: spot.end,
        });
        return Range::new(start, end);
    }
    let word = sheet.rest().chars().take_while(|letter| !letter.is_whitespace());
    let width: usize = word.take(WIDEST).map(char::len_utf16).sum();
    let width = u32::try_from(width.max(1)).unwrap_or(1);
    Range::new(
        start,
        Position::new(start.line, start.character.saturating_add(width)),
    )
}

fn told(finding: &Finding, range: Range) -> Diagnostic {
    let severity = match finding.severity {
        Severity::Error => DiagnosticSeverity::Error,
        Severity::Warning => DiagnosticSeverity::Warning,
        Severity::Unknown => DiagnosticSeverity::Information,
    };
    let mut message = String::new();
    if !finding.path.is_empty() {
        message.push_str(&finding.path);
        message.push_str(": ");
    }
    message.push_str(&finding.message);
    if let Some(hint) = &finding.hint {
        message.push_str("; hint: ");
        message.push_str(hint);
    }
    Diagnostic {
        code: Some(finding.rule.clone().into()),
        ..plain(severity, &message, range)
    }
}

fn unreadable(fault: &Unreadable, range: Range) -> Diagnostic {
    plain(DiagnosticSeverity::Error, &fault.message, range)
}

fn plain(severity: DiagnosticSeverity, message: &str, range: Range) -> Diagnostic {
    Diagnostic {
        range,
        severity: Some(severity),
        code: None,
        code_description: None,
        source: Some(SOURCE.to_owned()),
        message: one_line(message).into(),
        tags: None,
        related_information: None,
        data: None,
    }
}
