//! What is being typed at a place: a name of a field, or its value.
//!
//! Decides what of a line is the unfinished word, and in which field it stands. A document that is being typed is seldom right, so a word
//! of our own is put in the place of the unfinished one, and looked for in what can be read then: the whole document, or what is above.

use super::caret::{self, Caret};
use super::sheet::Sheet;
use gen_lsp_types::Position;
use source::{Mark, read};

/// Stands for the unfinished word.
const WORD: &str = "tidegate-is-asked-here";
/// A line that is longer was not typed by hand.
const WIDEST: usize = 10_000;

/// An unfinished word.
#[derive(Debug)]
pub(super) struct Typed {
    /// Where it stands. The path of a name ends with the field that it is typed in.
    pub(super) caret: Caret,
    /// What is there of it, up to the place.
    pub(super) word: String,
    /// Whether it is a name; otherwise a value.
    pub(super) is_name: bool,
    /// Whether a colon stands behind it already.
    pub(super) has_colon: bool,
}

/// Returns what is typed at a place; nothing in a comment, or where nothing can be read.
pub(super) fn at(text: &str, position: Position) -> Option<Typed> {
    let sheet = Sheet::of(text);
    let (mark, before) = sheet.mark(position);
    let number = mark.line.checked_sub(1)?;
    let line = sheet.line(number)?;
    if line.len() > WIDEST || before.trim_start().starts_with('#') || before.contains(" #") {
        return None;
    }
    let after = line.get(before.len()..)?;
    let start = before.trim_start_matches(['\u{feff}', ' ', '\t']);
    let start = start.trim_start_matches("- ").trim_start_matches(' ');
    let is_name = start.chars().all(is_of_word);
    let word = if is_name { start } else { last_word(before) };
    let head = before.get(..before.len().checked_sub(word.len())?)?;
    // The quote that opens a value goes with it.
    let rest = after.trim_start_matches(is_of_word);
    let has_colon = rest.starts_with(':');
    let (head, rest) = match head.strip_suffix(['"', '\'']) {
        Some(bare) => (bare, rest.strip_prefix(['"', '\'']).unwrap_or(rest)),
        None => (head, rest),
    };
    let filled = match (is_name, has_colon) {
        (true, false) => format!("{head}{WORD}:"),
        (true, true) | (false, _) => format!("{head}{WORD}{rest}"),
    };
    let caret = read_with(&sheet, number, &filled)?;
    let mut caret = look(caret, is_name)?;
    if is_name {
        caret.path.pop();
    }
    Some(Typed {
        caret,
        word: word.to_owned(),
        is_name,
        has_colon,
    })
}

fn is_of_word(letter: char) -> bool {
    letter.is_alphanumeric() || matches!(letter, '.' | '-' | '_' | '/')
}

fn last_word(before: &str) -> &str {
    let start = before.rfind(|letter| !is_of_word(letter));
    let start = start.and_then(|at| {
        before
            .get(at..)?
            .chars()
            .next()
            .map(|letter| at + letter.len_utf8())
    });
    before.get(start.unwrap_or_default()..).unwrap_or_default()
}

/// Reads the document of a line with that line replaced; returns the place of our word.
fn read_with(sheet: &Sheet<'_>, number: usize, filled: &str) -> Option<Caret> {
    let is_end = |at: &usize| {
        sheet
            .line(*at)
            .is_some_and(|line| line == "---" || line.starts_with("--- "))
    };
    let first = (0..number).rev().find(is_end).map_or(0, |at| at + 1);
    let last = (number + 1..sheet.count())
        .find(is_end)
        .unwrap_or_else(|| sheet.count());
    let all = |end: usize| -> String {
        let lines = (first..end).map(|at| {
            if at == number {
                filled
            } else {
                sheet.line(at).unwrap_or_default()
            }
        });
        lines.flat_map(|line| [line, "\n"]).collect()
    };
    let column = filled
        .find(WORD)
        .and_then(|at| Some(filled.get(..at)?.chars().count() + 1))?;
    let mark = Mark {
        line: number - first + 1,
        column,
    };
    [last, number + 1].into_iter().find_map(|end| {
        let reading = read(&all(end));
        caret::at(&reading, mark)
    })
}

/// Our word is where it should be, or what was read is something else.
fn look(caret: Caret, is_name: bool) -> Option<Caret> {
    let is_ours = if is_name {
        !caret.on_value && caret.path.last().is_some_and(|name| name == WORD)
    } else {
        caret.on_value
    };
    is_ours.then_some(caret)
}
