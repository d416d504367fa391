//! The report for people: every finding with its line and a caret under what is meant.
//!
//! Decides layout and colours. Colours only if requested.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use anstyle::{AnsiColor, Style as Paint};

use super::model::{Finding, Report, Severity, Spot, Unreadable};
use kubernetes::field::{counted, same_width as plain};

/// Whether colours are wanted, and how much is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Style {
    /// Whether a terminal reads this that knows colours.
    pub colour: bool,
    /// Whether the additions of the gate are shown.
    pub additions: bool,
}

/// The longest stretch of a line that is shown.
const WIDEST: usize = 160;
const RED: Paint = AnsiColor::Red.on_default().bold();
const YELLOW: Paint = AnsiColor::Yellow.on_default().bold();
const CYAN: Paint = AnsiColor::Cyan.on_default().bold();
const BLUE: Paint = AnsiColor::Blue.on_default().bold();
const GREEN: Paint = AnsiColor::Green.on_default().bold();
const BOLD: Paint = Paint::new().bold();

struct Page {
    out: String,
    style: Style,
}

pub(super) fn render(report: &Report, style: Style) -> String {
    let mut page = Page {
        out: String::new(),
        style,
    };
    for fault in &report.unreadable {
        page.unreadable(fault);
    }
    for finding in &report.findings {
        page.finding(finding);
    }
    if style.additions {
        page.additions(report);
    }
    page.summary(report);
    page.out
}

/// Returns the files that cannot be read, and the last line of the table.
pub fn summary(report: &Report, style: Style) -> String {
    let mut page = Page {
        out: String::new(),
        style,
    };
    for fault in &report.unreadable {
        page.unreadable(fault);
    }
    page.summary(report);
    page.out
}

impl Page {
    fn line(&mut self, line: &str) {
        self.out.push_str(line.trim_end());
        self.out.push('\n');
    }

    fn paint(&self, colour: Paint, text: &str) -> String {
        if self.style.colour {
            format!("{colour}{text}{colour:#}")
        } else {
            text.to_owned()
        }
    }

    fn finding(&mut self, finding: &Finding) {
        let colour = colour(finding.severity);
        let title = self.paint(
            colour,
            &format!("{}[{}]", finding.severity.word(), plain(&finding.rule)),
        );
        let message = self.paint(BOLD, &plain(&finding.message));
        self.line(&format!("{title}: {message}"));
        let path = if finding.path.is_empty() {
            "the object"
        } else {
            &finding.path
        };
        self.excerpt(&finding.spot, colour, path);
        let gutter = gutter(&finding.spot);
        let equals = self.paint(BLUE, "=");
        self.line(&format!(
            "{gutter} {equals} in {}",
            plain(&finding.subject.to_string())
        ));
        if let Some(hint) = &finding.hint {
            let word = self.paint(GREEN, "hint");
            self.line(&format!("{gutter} {equals} {word}: {}", plain(hint)));
        }
        self.line("");
    }

    fn unreadable(&mut self, fault: &Unreadable) {
        let title = self.paint(RED, "unreadable");
        let message = self.paint(BOLD, &plain(&fault.message));
        self.line(&format!("{title}: {message}"));
        self.excerpt(&fault.spot, RED, "");
        self.line("");
    }

    fn excerpt(&mut self, spot: &Spot, colour: Paint, label: &str) {
        let gutter = gutter(spot);
        let arrow = self.paint(BLUE, "-->");
        let place = if spot.line == 0 {
            plain(&spot.file)
        } else {
            format!("{}:{}:{}", plain(&spot.file), spot.line, spot.column)
        };
        self.line(&format!("{gutter}{arrow} {place}"));
        if spot.line == 0 {
            return;
        }
        let bar = self.paint(BLUE, "|");
        let (shown, lead) = cut(&plain(&spot.excerpt), spot);
        let number = self.paint(BLUE, &spot.line.to_string());
        self.line(&format!("{gutter} {bar}"));
        self.line(&format!("{number} {bar} {shown}"));
        let remaining = shown.chars().count().saturating_sub(lead).max(1);
        let length = spot.end.saturating_sub(spot.column).clamp(1, remaining);
        let caret = self.paint(colour, &format!("{} {}", "^".repeat(length), plain(label)));
        self.line(&format!("{gutter} {bar} {}{caret}", " ".repeat(lead)));
    }

    fn additions(&mut self, report: &Report) {
        for checked in report
            .checked
            .iter()
            .filter(|checked| !checked.additions.is_empty())
        {
            let title = self.paint(CYAN, "adds");
            let spot = &checked.spot;
            let subject = plain(&checked.subject.to_string());
            self.line(&format!(
                "{title}: {subject} ({}:{})",
                plain(&spot.file),
                spot.line
            ));
            for addition in &checked.additions {
                self.line(&format!("  + {}", plain(addition)));
            }
            self.line("");
        }
    }

    fn summary(&mut self, report: &Report) {
        let counts = [
            (report.unreadable.len(), "unreadable place", RED),
            (report.count(Severity::Error), "error", RED),
            (report.count(Severity::Warning), "warning", YELLOW),
            (report.count(Severity::Unknown), "unknown", CYAN),
        ];
        let found: Vec<String> = counts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, word, colour)| {
                let text = if word == "unknown" {
                    format!("{count} unknown")
                } else {
                    counted(count, word)
                };
                self.paint(colour, &text)
            })
            .collect();
        let found = if found.is_empty() {
            self.paint(GREEN, "no findings")
        } else {
            found.join(", ")
        };
        let mut line = format!(
            "{found} in {} of {}",
            counted(report.checked.len(), "object"),
            counted(report.files, "file")
        );
        let mut lead = "; not checked: ";
        for (why, what) in &report.ignored {
            let (count, named) = (what.values().sum::<usize>(), named(what));
            write!(line, "{lead}{count} {} ({named})", plain(why)).expect("writing to a string cannot fail");
            lead = ", ";
        }
        if report.excused > 0 {
            let findings = counted(report.excused, "finding");
            write!(line, "; {findings} ignored by comments").expect("writing to a string cannot fail");
        }
        self.line(&line);
    }
}

/// The most names of what was not judged.
const MOST_NAMED: usize = 8;

fn named(what: &BTreeMap<String, usize>) -> String {
    let mut names: Vec<String> = what
        .iter()
        .take(MOST_NAMED)
        .map(|(name, count)| match count {
            1 => plain(name),
            count => format!("{count} {}", plain(name)),
        })
        .collect();
    let more = what.len().saturating_sub(MOST_NAMED);
    if more > 0 {
        names.push(format!("{more} more"));
    }
    names.join(", ")
}

fn gutter(spot: &Spot) -> String {
    " ".repeat(spot.line.to_string().len())
}

/// Cuts a long line around the column that matters; returns what is shown and how many characters stand before it.
fn cut(line: &str, spot: &Spot) -> (String, usize) {
    let (length, hidden) = (line.chars().count(), spot.begins.max(1) - 1);
    let before = spot.column.saturating_sub(1).saturating_sub(hidden);
    if length <= WIDEST && hidden == 0 {
        return (line.to_owned(), before.min(length));
    }
    let skipped = before.saturating_sub(WIDEST / 2);
    let mut shown: String = line.chars().skip(skipped).take(WIDEST).collect();
    if length > skipped + WIDEST {
        shown.push('…');
    }
    if skipped + hidden == 0 {
        return (shown, before);
    }
    (
        format!("…{shown}"),
        (before - skipped + 1).min(shown.chars().count() + 1),
    )
}

fn colour(severity: Severity) -> Paint {
    match severity {
        Severity::Error => RED,
        Severity::Warning => YELLOW,
        Severity::Unknown => CYAN,
    }
}
