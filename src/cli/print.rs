//! Standard output and standard error: the only place that writes to them.
//!
//! Decides nothing about pages. Takes only text that is safe to show.

use std::io::{IsTerminal as _, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anstream::{AutoStream, ColorChoice};

use super::CliError;
use super::format::DocumentFormat;
use anstyle::{AnsiColor, Style};
use api::output::OutputDocument;
use kubernetes::field::{Listing, Shown, folded};
use kubernetes::json_path::Template;
use serde_json::Value;

pub(super) fn print(page: &Shown) -> Result<(), CliError> {
    put(&mut std::io::stdout().lock(), page.as_str()).map_err(CliError::Print)
}

/// Prints a line above a last line that is redrawn.
#[cfg(feature = "dev")]
pub(super) fn print_above(line: &Shown, last: &Shown) -> Result<(), CliError> {
    let text = format!("\r\u{1b}[K{}{}", line.as_str(), last.as_str().trim_end());
    put(&mut std::io::stdout().lock(), &text).map_err(CliError::Print)
}

/// A page that is redrawn in place.
#[derive(Debug, Default)]
pub(super) struct Redrawn {
    /// Number of lines on the terminal.
    lines: usize,
}

impl Redrawn {
    /// Draws a page of this many lines over the last one.
    pub(super) fn draw(&mut self, page: &Shown, lines: usize) -> Result<(), CliError> {
        let up = match self.lines {
            0 => String::new(),
            lines => format!("\u{1b}[{lines}A"),
        };
        self.lines = lines;
        // In one piece, and each line cleared behind what is new: otherwise it would flicker.
        let text = page.as_str().replace('\n', "\u{1b}[K\n");
        put(&mut std::io::stdout().lock(), &format!("{up}\r{text}\u{1b}[J")).map_err(CliError::Print)
    }
}

/// Returns width and height of the terminal on standard output.
pub(super) fn terminal_size() -> Option<(usize, usize)> {
    let (width, height) = terminal_size::terminal_size_of(std::io::stdout())?;
    Some((usize::from(width.0), usize::from(height.0)))
}

/// Prints a page to standard error. A write error is ignored.
pub(super) fn complain(page: &Shown) {
    put(&mut std::io::stderr().lock(), page.as_str()).unwrap_or_default();
}

fn put(out: &mut dyn Write, text: &str) -> std::io::Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush())
}

/// Returns whether standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    std::io::stdout().is_terminal()
}

/// Returns whether standard error is a terminal.
pub(super) fn is_watched() -> bool {
    std::io::stderr().is_terminal()
}

/// Returns whether standard output may have colors.
pub(super) fn is_coloured() -> bool {
    AutoStream::choice(&std::io::stdout()) != ColorChoice::Never
}

/// Returns whether standard error may have colors.
pub(super) fn complaints_are_coloured() -> bool {
    AutoStream::choice(&std::io::stderr()) != ColorChoice::Never
}

/// Prints a page that may have colors.
pub(super) fn print_painted(text: &str) -> Result<(), CliError> {
    print(&if is_coloured() {
        Shown::painted(text)
    } else {
        Shown::unpainted(text)
    })
}

/// Prints a page whose lines are wrapped on a narrow terminal; lines that end with one of the marks are highlighted.
pub(super) fn print_folded(text: &str, marks: &[&str]) -> Result<(), CliError> {
    print_painted(&marked(text, width(), marks))
}

/// Wraps the lines of a page. All pieces of a line that ends with a mark are highlighted, and the mark is not split.
fn marked(text: &str, width: Option<usize>, marks: &[&str]) -> String {
    let fold = |line: &str| width.map_or_else(|| format!("{line}\n"), |width| folded(line, width));
    let lines = text.lines().map(|line| {
        let ends = |mark: &&&str| line.trim_end().ends_with(**mark);
        let Some(mark) = marks.iter().find(ends) else {
            return fold(line);
        };
        let whole = mark.replace(' ', TIE);
        let pieces = fold(&line.trim_end().replace(*mark, &whole)).replace(TIE, " ");
        let loud = pieces.lines().map(|piece| format!("{LOUD}{piece}{LOUD:#}\n"));
        loud.collect()
    });
    lines.collect()
}

/// A space at which no line is wrapped.
const TIE: &str = "\u{a0}";

/// Style of a highlighted line.
const LOUD: Style = AnsiColor::Red.on_default().bold();

/// Returns how much of a list is printed: on a terminal the first entries, unless `--all` is set; elsewhere all of it.
pub(super) fn listing(all: bool) -> Listing {
    if all || !is_terminal() {
        Listing::Whole
    } else {
        Listing::Short
    }
}

/// Number of columns of a terminal; unlimited for other outputs.
pub(super) fn width() -> Option<usize> {
    let (terminal_size::Width(columns), _) = terminal_size::terminal_size_of(std::io::stdout())?;
    is_terminal().then(|| usize::from(columns).max(NARROWEST))
}

/// Narrower output is not readable.
const NARROWEST: usize = 40;

/// Output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum OutputFormat {
    /// Readable text.
    Text,
    /// Machine-readable (`docs/reference/output.md`).
    Json,
    /// The same as YAML.
    Yaml,
    /// What a template selects from the document.
    #[value(skip)]
    JsonPath(&'static Template),
}

impl DocumentFormat for OutputFormat {
    fn json_path(template: &'static Template) -> Self {
        Self::JsonPath(template)
    }
}

/// Returns a document with its version and kind.
pub(super) fn document<D: OutputDocument>(body: &D) -> Result<Value, CliError> {
    api::output::document(body).map_err(CliError::acting("write JSON"))
}

/// Prints a document for programs.
pub(super) fn print_document(document: &Value, format: OutputFormat) -> Result<(), CliError> {
    print(&document_text(document, format)?)
}

/// Returns a document for programs.
pub(super) fn document_text(document: &Value, format: OutputFormat) -> Result<Shown, CliError> {
    Ok(match format {
        OutputFormat::Yaml => {
            let text = serde_saphyr::to_string(document).map_err(CliError::serving("the YAML writer"))?;
            Shown::page(&format!("---\n{text}"))
        }
        OutputFormat::JsonPath(template) => Shown::tabbed(&selected(template, document)?),
        OutputFormat::Json | OutputFormat::Text => Shown::json(&format!("{document:#}\n")),
    })
}

/// Prints the next document of a watch: a line, or a document in YAML.
pub(super) fn print_next(document: &Value, format: OutputFormat) -> Result<(), CliError> {
    match format {
        OutputFormat::Yaml => print_document(document, format),
        OutputFormat::JsonPath(template) => {
            let text = selected(template, document)?;
            print(&Shown::tabbed(&format!("{}\n", text.trim_end_matches('\n'))))
        }
        OutputFormat::Json | OutputFormat::Text => print(&Shown::json(&format!("{document}\n"))),
    }
}

fn selected(template: &Template, document: &Value) -> Result<String, CliError> {
    let text = template.render(document);
    text.map_err(|why| CliError::ReadFlag {
        flag: "output",
        reason: why,
    })
}

/// Whether `--quiet` was given.
static IS_QUIET: AtomicBool = AtomicBool::new(false);

/// Leaves out notes and progress from now on.
pub(super) fn be_quiet() {
    IS_QUIET.store(true, Ordering::Relaxed);
}

/// Returns whether notes and progress are left out.
pub(super) fn is_quiet() -> bool {
    IS_QUIET.load(Ordering::Relaxed)
}

/// Prints a note to standard error, unless `--quiet` was given.
pub(super) fn note(text: &str) {
    if !is_quiet() {
        complain(&Shown::line(&format!("tidegate: {text}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_the_line_that_matters_is_loud_and_its_mark_stays_whole() {
        let text = "one two three four   <- here\nfive\n";
        let wide = marked(text, None, &["<- here"]);
        assert_eq!(
            wide,
            format!("{LOUD}one two three four   <- here{LOUD:#}\nfive\n")
        );
        let narrow = marked(text, Some(13), &["<- here"]);
        let lines: Vec<&str> = narrow.lines().collect();
        let (last, loud) = lines.split_last().expect("lines");
        assert_eq!(*last, "five");
        assert!(loud.len() > 1, "it is folded: {loud:?}");
        for line in loud {
            assert!(line.starts_with(&LOUD.to_string()), "{line:?}");
        }
        assert!(narrow.contains("<- here"), "{narrow:?}");
        assert_eq!(marked("a <- there\n", Some(40), &["<- here"]), "a <- there\n");
    }
}
