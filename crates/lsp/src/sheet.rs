//! A text as editors count it: lines from 0, columns in units of UTF-16 from 0.
//!
//! Decides where a line ends (`\n`, `\r\n` or `\r`, as the protocol and YAML have it), and what a place means that lies behind an end.

use gen_lsp_types::Position;
use source::Mark;

/// A mark of the byte order: part of what an editor counts, and of no document.
const ORDER: char = '\u{feff}';

/// A text whose lines are known.
#[derive(Debug)]
pub(super) struct Sheet<'t> {
    lines: Vec<&'t str>,
    /// Where the last answer was: what comes in order is found without beginning anew.
    last: Place,
}

/// A place in a line, in all three ways of counting.
#[derive(Clone, Copy, Debug, Default)]
struct Place {
    line: usize,
    letters: usize,
    units: usize,
    bytes: usize,
}

impl<'t> Sheet<'t> {
    /// Returns the lines of a text.
    pub(super) fn of(text: &'t str) -> Self {
        let mut lines = Vec::new();
        let mut rest = text;
        while let Some(end) = rest.find(['\n', '\r']) {
            let (line, behind) = rest.split_at_checked(end).unwrap_or((rest, ""));
            lines.push(line);
            let behind = behind.strip_prefix("\r\n").or_else(|| behind.get(1..));
            rest = behind.unwrap_or_default();
        }
        lines.push(rest);
        Self {
            lines,
            last: Place::default(),
        }
    }

    /// Returns a line, without its end.
    pub(super) fn line(&self, number: usize) -> Option<&'t str> {
        self.lines.get(number).copied()
    }

    /// Returns how many lines there are.
    pub(super) fn count(&self) -> usize {
        self.lines.len()
    }

    /// Returns where a mark is to an editor. Marks in the order of the text are found in the time that reading it takes.
    pub(super) fn position(&mut self, mark: Mark) -> Position {
        let number = mark.line.saturating_sub(1);
        let letters = mark.column.saturating_sub(1);
        let text = self.line(number).unwrap_or_default();
        let wanted = letters + usize::from(number == 0 && text.starts_with(ORDER));
        let mut place = if self.last.line == number && self.last.letters <= wanted {
            self.last
        } else {
            Place {
                line: number,
                ..Place::default()
            }
        };
        let rest = text.get(place.bytes..).unwrap_or_default();
        for letter in rest.chars().take(wanted - place.letters) {
            place.letters += 1;
            place.units += letter.len_utf16();
            place.bytes += letter.len_utf8();
        }
        self.last = place;
        Position::new(short(number), short(place.units))
    }

    /// Returns what stands behind the last mark that was asked about, to the end of its line.
    pub(super) fn rest(&self) -> &'t str {
        let text = self.line(self.last.line).unwrap_or_default();
        text.get(self.last.bytes..).unwrap_or_default()
    }

    /// Returns the mark of a place, and the letters before it in its line; a place behind the end of a line is its end.
    pub(super) fn mark(&self, position: Position) -> (Mark, &'t str) {
        let number = usize::try_from(position.line).unwrap_or(usize::MAX);
        let text = self.line(number).unwrap_or_default();
        let wanted = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut units = 0;
        let mut bytes = 0;
        let mut letters = 0;
        for letter in text.chars() {
            // A place inside of a letter of two units is before it.
            if units + letter.len_utf16() > wanted {
                break;
            }
            units += letter.len_utf16();
            bytes += letter.len_utf8();
            letters += usize::from(letter != ORDER);
        }
        let mark = Mark {
            line: number.saturating_add(1),
            column: letters + 1,
        };
        (mark, text.get(..bytes).unwrap_or_default())
    }
}

/// Returns how many units of UTF-16 a text has.
pub(super) fn units(text: &str) -> u32 {
    short(text.chars().map(char::len_utf16).sum())
}

fn short(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position::new(line, character)
    }

    #[test]
    fn letters_of_two_units_count_twice_and_every_end_of_a_line_is_one() {
        let mut sheet = Sheet::of("a: \u{1f30a} b\r\nc: d\re\n");
        assert_eq!(sheet.count(), 4);
        assert_eq!(sheet.position(Mark { line: 1, column: 6 }), at(0, 6));
        assert_eq!(sheet.position(Mark { line: 1, column: 1 }), at(0, 0));
        assert_eq!(sheet.position(Mark { line: 2, column: 4 }), at(1, 3));
        assert_eq!(sheet.rest(), "d");
        assert_eq!(
            sheet.mark(at(0, 6)),
            (Mark { line: 1, column: 6 }, "a: \u{1f30a} ")
        );
        assert_eq!(
            sheet.mark(at(0, 4)).0.column,
            4,
            "inside of a letter is before it"
        );
        assert_eq!(sheet.mark(at(2, 1)), (Mark { line: 3, column: 2 }, "e"));
    }

    #[test]
    fn a_place_that_is_not_there_is_the_next_that_is() {
        let mut sheet = Sheet::of("ab");
        assert_eq!(sheet.mark(at(0, 99)).0, Mark { line: 1, column: 3 });
        assert_eq!(sheet.mark(at(u32::MAX, u32::MAX)).1, "");
        assert_eq!(sheet.position(Mark { line: 0, column: 0 }), at(0, 0));
        assert_eq!(sheet.position(Mark { line: 9, column: 9 }), at(8, 0));
        assert_eq!(sheet.position(Mark { line: 1, column: 99 }), at(0, 2));
    }

    #[test]
    fn a_mark_of_the_byte_order_moves_what_the_editor_counts_and_not_the_document() {
        let mut sheet = Sheet::of("\u{feff}kind: A");
        assert_eq!(sheet.position(Mark { line: 1, column: 7 }), at(0, 7));
        assert_eq!(sheet.mark(at(0, 7)).0, Mark { line: 1, column: 7 });
    }

    #[test]
    fn marks_in_order_are_found_in_one_reading_of_a_long_line() {
        let text = "x".repeat(4_000_000);
        let mut sheet = Sheet::of(&text);
        for column in (1..4_000_000).step_by(100) {
            let found = sheet.position(Mark { line: 1, column });
            assert_eq!(usize::try_from(found.character), Ok(column - 1));
        }
    }
}
