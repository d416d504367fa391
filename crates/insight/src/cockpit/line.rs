//! Lines of a page, with a tone for every piece: one face paints them, another does not.
//!
//! Decides how long a line may be and how lengths of time read. Knows no terminal.

use jiff::Timestamp;

/// The width of a page on which nothing is cut and every entry of a list is shown.
pub const WHOLE: usize = usize::MAX;

/// What a piece of a line is like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Like any text.
    Plain,
    /// What names the rest.
    Strong,
    /// What matters least.
    Faint,
    /// What is as it should be.
    Good,
    /// An update in progress.
    Moving,
    /// A wait that ends without an action.
    Soaking,
    /// A problem that needs an administrator.
    Bad,
}

/// A piece of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// What it is like.
    pub tone: Tone,
    /// The text.
    pub text: String,
}

/// A line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line(pub Vec<Piece>);

impl Line {
    /// Returns a line of one piece.
    pub fn of(tone: Tone, text: impl Into<String>) -> Self {
        Self::default().and(tone, text)
    }

    /// Returns a line like any text.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::of(Tone::Plain, text)
    }

    /// Returns the line with another piece behind it; what others write stays on one line.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: impl Into<String>) -> Self {
        let text = text.into();
        if !text.is_empty() {
            self.0.push(Piece {
                tone,
                text: kubernetes::field::one_line(&text),
            });
        }
        self
    }

    /// Returns how many letters it has.
    pub fn width(&self) -> usize {
        self.0.iter().map(|piece| piece.text.chars().count()).sum()
    }

    /// Returns the line cut to so many letters, between words if a word does not fill half of it; a cut shows.
    #[must_use]
    pub fn cut(mut self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let most = width.saturating_sub(1);
        let mut begun: Vec<char> = self.text().chars().take(width).collect();
        let is_end = begun.pop().is_some_and(|next| !next.is_alphanumeric());
        let gap = begun.iter().rposition(|letter| letter.is_whitespace());
        let gap = gap.map_or(0, |gap| gap.saturating_add(1));
        let mut left = if is_end || gap < width.div_ceil(2) {
            most
        } else {
            gap
        };
        self.0.retain_mut(|piece| {
            let kept: String = piece.text.chars().take(left).collect();
            left = left.saturating_sub(kept.chars().count());
            piece.text = kept;
            !piece.text.is_empty()
        });
        self.and(Tone::Faint, "…")
    }

    /// Returns its text.
    pub fn text(&self) -> String {
        self.0.iter().map(|piece| piece.text.as_str()).collect()
    }
}

/// Returns a text filled up to a width; what is longer is cut.
pub(super) fn padded(text: &str, width: usize) -> String {
    let length = text.chars().count();
    if length > width {
        let kept: String = text.chars().take(width.saturating_sub(1)).collect();
        return format!("{kept}…");
    }
    format!("{text}{}", " ".repeat(width.saturating_sub(length)))
}

/// Returns how long there is between two times: `14s`, `2m05s`, `1h03m`, `3d04h`.
pub(super) fn between(from: Timestamp, to: Timestamp) -> String {
    length(to.as_second().saturating_sub(from.as_second()).max(0))
}

/// Returns a length of time.
pub(super) fn length(seconds: i64) -> String {
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86_400);
    match () {
        () if seconds < 60 => format!("{seconds}s"),
        () if minutes < 60 && seconds % 60 == 0 => format!("{minutes}m"),
        () if minutes < 60 => format!("{minutes}m{:02}s", seconds % 60),
        () if hours < 24 && minutes % 60 == 0 => format!("{hours}h"),
        () if hours < 24 => format!("{hours}h{:02}m", minutes % 60),
        () => format!("{days}d{:02}h", hours % 24),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_shown_in_two_units() {
        let rows = [
            (0, "0s"),
            (59, "59s"),
            (60, "1m"),
            (61, "1m01s"),
            (3600, "1h"),
            (3780, "1h03m"),
            (90_000, "1d01h"),
        ];
        for (seconds, told) in rows {
            assert_eq!(length(seconds), told);
        }
    }

    #[test]
    fn a_line_is_cut_where_the_page_ends() {
        let line = Line::of(Tone::Strong, "hello").and(Tone::Plain, " world\nagain");
        assert_eq!(line.text(), "hello world again");
        assert_eq!(line.clone().cut(8).text(), "hello …");
        assert_eq!(line.clone().cut(15).text(), "hello world …");
        assert_eq!(line.clone().cut(6).text(), "hello…");
        assert_eq!(line.cut(17).text(), "hello world again");
        assert_eq!(padded("abc", 5), "abc  ");
        assert_eq!(padded("abcdef", 4), "abc…");
    }
}
