//! When pages are coloured.
//!
//! Decides by the flag, and without it by what terminals and users have agreed on (NO_COLOR, CLICOLOR, CLICOLOR_FORCE, TERM).

use std::ffi::OsString;

use anstream::ColorChoice;

/// When pages are coloured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum ColourArg {
    /// On a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

impl ColourArg {
    /// Makes it so for the whole program.
    pub(in crate::cli) fn choose(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Returns what a command line says of colours that may not be readable otherwise: what is wrong with it is coloured, too.
pub(in crate::cli) fn glimpsed(words: impl IntoIterator<Item = OsString>) -> ColourArg {
    let mut last = ColourArg::Auto;
    let mut words = words.into_iter().map(|word| word.to_string_lossy().into_owned());
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('=').map(str::to_owned),
            None => None,
        };
        last = match value.as_deref() {
            Some("always") => ColourArg::Always,
            Some("never") => ColourArg::Never,
            Some("auto") => ColourArg::Auto,
            Some(_) | None => last,
        };
        if word == "--" {
            break;
        }
    }
    last
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_about_colours_counts() {
        let glimpse = |line: &str| glimpsed(line.split_whitespace().map(OsString::from));
        assert_eq!(glimpse("tidegate chekc --color=never"), ColourArg::Never);
        assert_eq!(glimpse("tidegate --color always x --color auto"), ColourArg::Auto);
        assert_eq!(glimpse("tidegate --color pink"), ColourArg::Auto);
        assert_eq!(glimpse("tidegate x -- --color never"), ColourArg::Auto);
    }
}
