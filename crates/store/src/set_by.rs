//! The lines of the annotation in which the webhook records who set a part of an object, and when.

use std::collections::BTreeMap;
use std::fmt;

use jiff::Timestamp;

/// The part for all placements of an AddOnRollout or RolloutProfile, and for a RolloutFreeze.
pub const WHOLE: &str = "*";
/// The longest annotation that is written and read.
pub const MOST_BYTES: usize = 8 << 10;

/// One line: who set a part of an object, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SetByLine<'a> {
    /// [`WHOLE`], or `namespace/name` of a placement.
    pub part: &'a str,
    /// When, to the second.
    pub at: Timestamp,
    /// The user. It is last because the name of a user may contain spaces.
    pub user: &'a str,
}

impl<'a> SetByLine<'a> {
    /// Reads a line; nothing if it has another form.
    pub fn parse(line: &'a str) -> Option<Self> {
        let mut words = line.splitn(3, ' ');
        let (part, at, user) = (words.next()?, words.next()?, words.next()?);
        let is_part = part == WHOLE || part.contains('/');
        let is_user = !user.is_empty() && !user.contains(char::is_control);
        let at = at.parse().ok().filter(|_| is_part && is_user)?;
        Some(Self { part, at, user })
    }
}

impl fmt::Display for SetByLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at.strftime("%Y-%m-%dT%H:%M:%SZ");
        write!(f, "{} {at} {}", self.part, self.user)
    }
}

/// Returns the lines of an annotation by their part. Lines that have another form, or are behind [`MOST_BYTES`], are left out.
pub fn lines(annotation: &str) -> BTreeMap<&str, SetByLine<'_>> {
    let mut read = 0usize;
    let within = annotation.split('\n').take_while(|line| {
        read = read.saturating_add(line.len()).saturating_add(1);
        read <= MOST_BYTES.saturating_add(1)
    });
    let parsed = within.filter_map(SetByLine::parse);
    parsed.map(|line| (line.part, line)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_written_as_it_is_read() {
        for line in [
            "* 2030-01-01T00:00:00Z alice",
            "default/all 2030-01-01T00:00:00Z Alice of Team A",
        ] {
            let parsed = SetByLine::parse(line).expect("a line");
            assert_eq!(parsed.to_string(), line);
        }
    }

    #[test]
    fn other_lines_are_ignored() {
        let text = "* 2030-01-01T00:00:00Z alice\n\n* today bob\nall 2030-01-01T00:00:00Z bob\na/b 2030-01-01T00:00:00Z \na/b 2030-01-01T00:00:00Z a\tb";
        let users: Vec<&str> = lines(text).values().map(|line| line.user).collect();
        assert_eq!(users, ["alice"]);
        let long = format!(
            "a/b 2030-01-01T00:00:00Z {}\n* 2030-01-01T00:00:00Z alice",
            "x".repeat(MOST_BYTES)
        );
        assert!(lines(&long).is_empty());
    }
}
