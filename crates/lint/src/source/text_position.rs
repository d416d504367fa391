//! Where a letter of a text value is in the file.
//!
//! Decides it by going along value and file together and leaving out white space, which is all that YAML changes of a text beside
//! escapes; so blocks, folded lines and quotes are one. Where the two are not alike (an alias, for instance) there is no answer.

use super::lines::Lines;
use super::node::{Content, Mark, Node, Span};
use super::place::find;
use kubernetes::field::Path;

/// Returns the place of a letter of the text at a path; `at` counts the lines and columns of that text from 1.
pub fn text_position(root: &Node, path: &Path, at: Mark, lines: &Lines<'_>) -> Option<Span> {
    let node = find(root, path)?;
    let Content::Scalar(value) = &node.content else {
        return None;
    };
    let text = value.as_str()?;
    let (before, behind) = counted(text, at);
    let mut inked = text.chars().filter(|letter| !letter.is_whitespace());
    let mut written = Written::of(node.span, lines);
    let mut last = node.span.start;
    for _ in 0..before {
        let (mark, letter) = written.next()?;
        if inked.next() != Some(letter) {
            return None;
        }
        last = mark;
    }
    let start = match (behind, written.next()) {
        (0, Some((mark, letter))) if inked.next() == Some(letter) => mark,
        (0, _) => return None,
        // Behind the last letter, or in white space: as far from the letter before it as in the text.
        (behind, _) => Mark {
            line: last.line,
            column: last.column + behind,
        },
    };
    let end = Mark {
        line: start.line,
        column: start.column + 1,
    };
    Some(Span { start, end })
}

/// Returns how many letters that are no white space stand before a place of a text, and how far behind the last of them it is; no
/// distance when there is a letter at the place itself.
fn counted(text: &str, at: Mark) -> (usize, usize) {
    let inked = |letters: &str| letters.chars().filter(|letter| !letter.is_whitespace()).count();
    let mut above = 0;
    for (number, line) in (1..).zip(text.split('\n')) {
        if number < at.line {
            above += inked(line);
            continue;
        }
        let column = at.column.saturating_sub(1);
        let ink = |(_, letter): &(usize, char)| !letter.is_whitespace();
        if line
            .chars()
            .nth(column)
            .is_some_and(|letter| !letter.is_whitespace())
        {
            let before = line.chars().enumerate().take(column).filter(ink).count();
            return (above + before, 0);
        }
        let before = line.chars().enumerate().take(column).filter(ink);
        let last = before.clone().last().map_or(0, |(index, _)| index);
        return (above + before.count(), column.saturating_sub(last).max(1));
    }
    (above, 1)
}

/// The letters of a scalar as they are written, escapes read and white space left out.
struct Written<'t> {
    lines: &'t Lines<'t>,
    span: Span,
    quote: Option<char>,
    line: usize,
    letters: Vec<(Mark, char)>,
    next: usize,
}

impl<'t> Written<'t> {
    fn of(mut span: Span, lines: &'t Lines<'t>) -> Self {
        // An anchor and a tag stand before the text; no plain text begins like them.
        while let Some(word) = lines.from(span.start).split_inclusive(' ').next()
            && word.starts_with(['&', '!'])
        {
            span.start.column += word.chars().count();
        }
        let first = lines.from(span.start).chars().next();
        let quote = first.filter(|letter| ['"', '\''].contains(letter));
        Self {
            lines,
            span,
            quote,
            line: span.start.line,
            letters: Vec::new(),
            next: 0,
        }
    }

    fn next(&mut self) -> Option<(Mark, char)> {
        while self.next >= self.letters.len() {
            if self.line > self.span.end.line.max(self.span.start.line) {
                return None;
            }
            self.letters = self.read_line();
            self.next = 0;
            self.line += 1;
        }
        let found = self.letters.get(self.next).copied();
        self.next += 1;
        found
    }

    fn read_line(&self) -> Vec<(Mark, char)> {
        let is_first = self.line == self.span.start.line;
        let opening = usize::from(is_first && self.quote.is_some());
        let first = if is_first {
            self.span.start.column + opening
        } else {
            1
        };
        let from = Mark {
            line: self.line,
            column: first,
        };
        let mut read = Vec::new();
        let mut letters = (first..).zip(self.lines.from(from).chars());
        while let Some((column, letter)) = letters.next() {
            let mark = Mark {
                line: self.line,
                column,
            };
            let letter = match (self.quote, letter) {
                (Some('"'), '\\') => escaped(&mut letters),
                (Some('\''), '\'') => letters.next().map(|(_, letter)| letter),
                (Some(_) | None, letter) => Some(letter),
            };
            let letter = letter.filter(|letter| !letter.is_whitespace());
            read.extend(letter.map(|letter| (mark, letter)));
        }
        read
    }
}

/// Reads what stands behind a backslash; white space, and what is no letter, is nothing.
fn escaped(letters: &mut impl Iterator<Item = (usize, char)>) -> Option<char> {
    let (_, name) = letters.next()?;
    let digits = match name {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        'n' | 't' | 'r' | 'v' | 'f' | 'N' | '_' | 'L' | 'P' => return None,
        '0' => return Some('\0'),
        'a' => return Some('\u{7}'),
        'b' => return Some('\u{8}'),
        'e' => return Some('\u{1b}'),
        letter => return Some(letter),
    };
    let number: String = letters.take(digits).map(|(_, digit)| digit).collect();
    u32::from_str_radix(&number, 16).ok().and_then(char::from_u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::read;

    const TEXT: &str = "\
plain: a.b && c.d
folded in place: a.b &&
  c.d
quoted: \"a.b \\u0026\\u0026 \\\"x\\\" c.d\"  # why not
single: 'a.b == ''x'' c.d'
block: |
  a.b &&
    c.d
folded: >-
  a.b
  && c.d
alias: &x a.b
same: *x
";

    /// The line of a place, and what stands there.
    fn shown(name: &str, at: Mark) -> Option<String> {
        let reading = read(TEXT);
        let lines = Lines::of(TEXT);
        let span = text_position(
            &reading.documents[0],
            &Path::root().key(name.to_owned()),
            at,
            &lines,
        )?;
        let rest = lines.from(span.start);
        Some(format!("{}: {rest}", span.start.line))
    }

    /// What is in the file where the text of a name has a part for the first time.
    fn of(name: &str, wanted: &str) -> Option<String> {
        let reading = read(TEXT);
        let value = reading.documents[0].value();
        let before = value[name].as_str()?.split(wanted).next()?;
        let line = before.matches('\n').count() + 1;
        let column = before.rsplit('\n').next()?.chars().count() + 1;
        shown(name, Mark { line, column })
    }

    #[test]
    fn a_letter_is_found_however_its_text_is_written() {
        for (name, expected) in [
            ("plain", "1: c.d"),
            ("folded in place", "3: c.d"),
            ("quoted", "4: c.d\"  # why not"),
            ("single", "5: c.d'"),
            ("block", "8: c.d"),
            ("folded", "11: c.d"),
        ] {
            assert_eq!(of(name, "c.d").as_deref(), Some(expected), "{name}");
        }
        assert_eq!(of("quoted", "x").as_deref(), Some("4: x\\\" c.d\"  # why not"));
        assert_eq!(of("alias", "b").as_deref(), Some("12: b"));
        assert_eq!(of("same", "b"), None);
    }

    #[test]
    fn the_end_of_a_text_is_behind_its_last_letter() {
        let end = |column| Mark { line: 1, column };
        assert_eq!(shown("plain", end(11)).as_deref(), Some("1: "));
        assert_eq!(shown("plain", end(4)).as_deref(), Some("1:  && c.d"));
        let far = Mark { line: 9, column: 9 };
        assert_eq!(shown("block", far).as_deref(), Some("8: "));
        assert_eq!(shown("nothing", end(1)), None);
    }
}
