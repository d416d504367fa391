//! Text that is safe to print: the only kind that the command line prints.
//!
//! Decides, for each kind of page, what may stand in it. However it was put together, nothing in it moves a cursor, begins a
//! command of a CI system, or looks like something else; only colours of our own pass, and only where they are asked for.

use super::text::{json_escaped, lines, one_line};

/// What every terminal command of ours looks like: `ESC [ 1;31 m`.
const COLOUR: &str = "\u{1b}[";

/// A page that may be printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shown(String);

impl Shown {
    /// Returns one line, with its end.
    pub fn line(text: &str) -> Self {
        Self(format!("{}\n", tame(&one_line(text))))
    }

    /// Returns a page of lines.
    pub fn page(text: &str) -> Self {
        Self(each_line(&lines(text), tame))
    }

    /// Returns a page of lines in which tabs stay: programs read what is between them.
    pub fn tabbed(text: &str) -> Self {
        let cells: Vec<_> = text.split('\t').map(lines).collect();
        Self(each_line(&cells.join("\t"), tame))
    }

    /// Returns a page of lines in which our own colours stay.
    pub fn painted(text: &str) -> Self {
        Self::in_colours(text, |out, digits| out.extend([COLOUR, digits, "m"]))
    }

    /// Returns a page of lines that was painted, without its colours.
    pub fn unpainted(text: &str) -> Self {
        Self::in_colours(text, |_, _| {})
    }

    fn in_colours(text: &str, colour: impl Fn(&mut String, &str)) -> Self {
        let mut pieces = text.split(COLOUR);
        let mut out = lines(pieces.next().unwrap_or_default()).into_owned();
        for piece in pieces {
            let end = piece.find(|letter: char| !letter.is_ascii_digit() && letter != ';');
            match end.map(|end| piece.split_at(end)) {
                Some((digits, rest)) if rest.starts_with('m') => {
                    colour(&mut out, digits);
                    out.push_str(&lines(rest.strip_prefix('m').unwrap_or(rest)));
                }
                Some(_) | None => {
                    out.push_str(&lines(COLOUR));
                    out.push_str(&lines(piece));
                }
            }
        }
        Self(each_line(&out, tame))
    }

    /// Returns a text of JSON; it means what it meant before.
    pub fn json(text: &str) -> Self {
        Self(json_escaped(text).replace("##[", "##\\u005b"))
    }

    /// Returns lines that are commands of a CI system: each begins one, and none begins within.
    pub fn commands(text: &str) -> Self {
        Self(lines(text).into_owned())
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Puts another page behind this one.
    pub fn push(&mut self, other: &Self) {
        self.0.push_str(&other.0);
    }
}

fn each_line(text: &str, change: impl Fn(&str) -> String) -> String {
    text.split_inclusive('\n').map(change).collect()
}

/// What GitHub takes for a command is a line that begins with `::`, or `##[` anywhere.
fn tame(line: &str) -> String {
    let line = line.replace("##[", "##\\[");
    let letters = line.trim_start();
    if letters.starts_with("::") {
        let blanks = line.len() - letters.len();
        let (before, letters) = line.split_at(blanks);
        return format!("{before}\\{letters}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_of_ours_pass_where_they_are_asked_for_and_nothing_else() {
        let text = "\u{1b}[1;31mred\u{1b}[0m \u{1b}[2J\u{1b}]0;title\u{7}\u{1b}[31";
        let painted = "\u{1b}[1;31mred\u{1b}[0m \\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{1b}[31";
        assert_eq!(Shown::painted(text).as_str(), painted);
        let bare = "red \\u{1b}[2J\\u{1b}]0;title\\u{7}\\u{1b}[31";
        assert_eq!(Shown::unpainted(text).as_str(), bare);
        assert!(!Shown::page(text).as_str().contains('\u{1b}'));
    }

    #[test]
    fn no_line_of_a_page_is_a_command_of_a_ci_system() {
        assert_eq!(
            Shown::page("::add-mask::x\n  ::stop::y\n").as_str(),
            "\\::add-mask::x\n  \\::stop::y\n"
        );
        assert_eq!(Shown::line("a ##[error]b").as_str(), "a ##\\[error]b\n");
        assert_eq!(Shown::commands("::error::a\n").as_str(), "::error::a\n");
        assert_eq!(Shown::json("\"##[x]\"").as_str(), "\"##\\u005bx]\"");
    }

    #[test]
    fn tabs_stay_only_where_they_separate_columns() {
        assert_eq!(Shown::tabbed("a\tb\u{1b}\n:4\n").as_str(), "a\tb\\u{1b}\n:4\n");
        assert_eq!(Shown::page("a\tb\n").as_str(), "a b\n");
    }

    #[test]
    fn a_line_is_one_line() {
        assert_eq!(Shown::line("a\nb\u{2028}c").as_str(), "a b c\n");
    }
}
