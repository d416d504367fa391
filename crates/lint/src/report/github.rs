//! The report for GitHub Actions: one workflow command a finding, which GitHub shows at its line.
//!
//! Decides the escapes of that format. Never a line more than one a finding: what a message holds cannot begin a command, nor act
//! on the terminal that the log is read in.

use super::model::{Finding, Report, Severity, Spot, Unreadable};
use kubernetes::field::lines;

pub(super) fn render(report: &Report) -> String {
    let faults = report.unreadable.iter().map(unreadable);
    faults.chain(report.findings.iter().map(finding)).collect()
}

fn unreadable(fault: &Unreadable) -> String {
    command("error", &fault.spot, "unreadable", &fault.message)
}

fn finding(finding: &Finding) -> String {
    let level = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Unknown => "notice",
    };
    let mut message = match finding.path.as_str() {
        "" => finding.message.clone(),
        path => format!("{path}: {}", finding.message),
    };
    if let Some(hint) = &finding.hint {
        message.push_str("; hint: ");
        message.push_str(hint);
    }
    let title = format!("{} ({})", finding.rule, finding.subject);
    command(level, &finding.spot, &title, &message)
}

fn command(level: &str, spot: &Spot, title: &str, message: &str) -> String {
    let file = property(&spot.file);
    let place = if spot.line == 0 {
        format!("file={file}")
    } else {
        let end = spot.end.max(spot.column + 1) - 1;
        let (line, column) = (spot.line, spot.column);
        format!("file={file},line={line},endLine={line},col={column},endColumn={end}")
    };
    format!("::{level} {place},title={}::{}\n", property(title), data(message))
}

fn data(text: &str) -> String {
    lines(text).replace('%', "%25").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
