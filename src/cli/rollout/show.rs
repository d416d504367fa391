//! Lines of the cockpit on a terminal or on a page.
//!
//! Decides colours, and that a page which no terminal shows has everything.

use insight::cockpit::{Line, Tone, WHOLE};
use kubernetes::field::Shown;

use crate::cli::print::{is_coloured, terminal_size};

/// The narrowest page that is laid out; a narrower terminal breaks its lines.
const NARROWEST: usize = 40;

/// Returns how many letters a line may have. Other outputs have no limit.
pub(in crate::cli) fn width(all: bool) -> usize {
    let terminal = terminal_size().filter(|_| !all);
    terminal.map_or(WHOLE, |(width, _)| width.max(NARROWEST))
}

/// Returns the colour of a tone.
const fn code(tone: Tone) -> &'static str {
    match tone {
        Tone::Plain => "",
        Tone::Strong => "1",
        Tone::Faint => "2",
        Tone::Good => "32",
        Tone::Moving => "36",
        Tone::Soaking => "33",
        Tone::Bad => "31",
    }
}

/// Returns lines as they may be printed, in colours where these are wanted.
pub(in crate::cli) fn painted(lines: &[Line]) -> Shown {
    if !is_coloured() {
        let texts: Vec<String> = lines.iter().map(Line::text).collect();
        let page: Vec<&str> = texts.iter().map(|text| text.trim_end()).collect();
        return Shown::page(&format!("{}\n", page.join("\n")));
    }
    let mut page = String::new();
    for line in lines {
        for piece in &line.0 {
            match code(piece.tone) {
                "" => page.push_str(&piece.text),
                code => {
                    page.push_str("\u{1b}[");
                    page.push_str(code);
                    page.push('m');
                    page.push_str(&piece.text);
                    page.push_str("\u{1b}[0m");
                }
            }
        }
        page.push('\n');
    }
    Shown::painted(&page)
}
