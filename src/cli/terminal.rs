//! Colours and progress on a terminal.
//!
//! Pages are coloured by the flag, and without it by NO_COLOR, CLICOLOR, CLICOLOR_FORCE and TERM. Progress is shown once a verb takes
//! longer than a second, on standard error, and only where a terminal shows it: never in a file or a pipe.

use std::ffi::OsString;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use anstream::ColorChoice;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kubernetes::field::one_line;

use crate::cli::print::{is_quiet, is_watched};

/// When to use colors in the output.
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
    /// Applies it to the whole program.
    pub(super) fn choose(self) {
        let choice = match self {
            Self::Auto => ColorChoice::Auto,
            Self::Always => ColorChoice::Always,
            Self::Never => ColorChoice::Never,
        };
        choice.write_global();
    }
}

/// Returns the color setting of a command line that may be invalid otherwise, so that the usage error is colored, too.
pub(super) fn glimpsed(words: impl IntoIterator<Item = OsString>) -> ColourArg {
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

/// Shorter operations print no progress.
const QUIET: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// An operation in progress; it ends when this is dropped.
#[derive(Debug)]
pub(super) struct Progress {
    bar: ProgressBar,
    /// Dropped to end the wait for the first second.
    over: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    pub(super) fn begin(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style());
        bar.set_message(one_line(what));
        if is_quiet() || !is_watched() {
            return Self {
                bar,
                over: None,
                waiting: None,
            };
        }
        let (over, ended) = mpsc::channel();
        let shown = bar.clone();
        let waiting = thread::spawn(move || {
            if ended.recv_timeout(QUIET) == Err(RecvTimeoutError::Timeout) {
                shown.set_draw_target(ProgressDrawTarget::stderr());
                shown.enable_steady_tick(TICK);
            }
        });
        Self {
            bar,
            over: Some(over),
            waiting: Some(waiting),
        }
    }

    /// Prints the current operation.
    pub(super) fn now(&self, what: &str) {
        self.bar.set_message(one_line(what));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        drop(self.over.take());
        if let Some(waiting) = self.waiting.take() {
            let _ended = waiting.join().is_ok();
        }
        self.bar.finish_and_clear();
    }
}

fn style() -> ProgressStyle {
    // The template is ours: should it ever not parse, the library's own does as well.
    ProgressStyle::with_template("{spinner} {wide_msg} {elapsed}")
        .unwrap_or_else(|_| ProgressStyle::default_spinner())
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
