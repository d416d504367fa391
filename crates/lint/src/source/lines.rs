//! The lines of a text.
//!
//! Decides where a line and a column lie in it, in a time that depends neither on the length of the text nor on that of the
//! line: a text of one line asks as often as one of many.

use super::node::Mark;

/// Letters between two remembered places.
const STRIDE: usize = 256;

/// A text whose lines are known.
#[derive(Clone, Debug, Default)]
pub struct Lines<'t> {
    text: &'t str,
    /// Where each line begins: in bytes, and in letters.
    starts: Vec<(usize, usize)>,
    /// The byte at which every `STRIDE`th letter begins.
    strides: Vec<usize>,
}

impl<'t> Lines<'t> {
    /// Returns the lines of a text. A mark of the byte order is no part of it, and moves no column.
    pub fn of(text: &'t str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut starts = vec![(0, 0)];
        let mut strides = Vec::new();
        for (letters, (byte, letter)) in text.char_indices().enumerate() {
            if letters % STRIDE == 0 {
                strides.push(byte);
            }
            if letter == '\n' {
                starts.push((byte + 1, letters + 1));
            }
        }
        Self {
            text,
            starts,
            strides,
        }
    }

    /// Returns the text.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// Returns what stands from a place to the end of its line; nothing when the text has no such place.
    pub(super) fn from(&self, place: Mark) -> &'t str {
        let end = self.end(place.line);
        let start = self.byte(place);
        let rest = start.and_then(|start| self.text.get(start..end?.max(start)));
        rest.unwrap_or_default()
    }

    /// Returns the line of a place, and the column of its first letter: of a line of more than `most` letters only a part
    /// around the place, half of them before it.
    pub fn around(&self, place: Mark, most: usize) -> (&'t str, usize) {
        let whole = Mark {
            line: place.line,
            column: 1,
        };
        let line = self.from(whole);
        // As many bytes are at least as many letters.
        if line.len() <= most {
            return (line, 1);
        }
        let first = place.column.saturating_sub(most / 2).max(1);
        let rest = self.from(Mark {
            line: place.line,
            column: first,
        });
        let end = rest.char_indices().nth(most).map_or(rest.len(), |(end, _)| end);
        (rest.get(..end).unwrap_or_default(), first)
    }

    fn byte(&self, place: Mark) -> Option<usize> {
        let (start, before) = self.starts.get(place.line.checked_sub(1)?)?;
        let column = place.column.saturating_sub(1);
        let letters = before + column;
        let stride = *self.strides.get(letters / STRIDE)?;
        // A place in the first stride of a line is nearer to the start of the line.
        let (from, more) = if stride < *start {
            (*start, column)
        } else {
            (stride, letters % STRIDE)
        };
        let rest = self.text.get(from..)?;
        let inside = rest.char_indices().nth(more).map_or(rest.len(), |(byte, _)| byte);
        Some(from + inside)
    }

    /// Where the letters of a line end, its break left out.
    fn end(&self, line: usize) -> Option<usize> {
        let Some((next, _)) = self.starts.get(line) else {
            return Some(self.text.len());
        };
        let line = self.text.get(..next.checked_sub(1)?)?;
        Some(line.strip_suffix('\r').unwrap_or(line).len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_place_is_found_as_by_counting() {
        let long = "äb€d".repeat(300);
        for text in ["", "a", "a\nb\r\n\nä€\n", &long, &format!("x\n{long}\n{long}")] {
            let lines = Lines::of(text);
            for (number, line) in (1..).zip(text.lines()) {
                for column in 1..=line.chars().count() {
                    let counted: String = line.chars().skip(column - 1).collect();
                    assert_eq!(lines.from(Mark { line: number, column }), counted);
                }
            }
            for (line, column) in [(0, 0), (0, 1), (9, 1), (1, 99_999)] {
                assert_eq!(lines.from(Mark { line, column }), "", "{line}:{column}");
            }
        }
    }

    #[test]
    fn of_a_long_line_only_the_part_around_a_place_is_shown() {
        let text = format!("a\n{}HERE{}\n", "ä".repeat(5000), "b".repeat(5000));
        let lines = Lines::of(&text);
        let (shown, first) = lines.around(
            Mark {
                line: 2,
                column: 5001,
            },
            100,
        );
        assert_eq!(shown.chars().count(), 100);
        assert!(
            shown
                .chars()
                .skip(5001 - first)
                .collect::<String>()
                .starts_with("HERE")
        );
        assert_eq!(lines.around(Mark { line: 1, column: 1 }, 100), ("a", 1));
    }
}
