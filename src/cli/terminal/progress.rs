//! What a verb is busy with, told on a terminal once it takes longer than a second.
//!
//! Decides when something is told. Writes to standard error only, and only where a terminal shows it: never into a file or a pipe.

use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::cli::print::is_watched;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kubernetes::field::one_line;

/// What takes less is not worth a word.
const QUIET: Duration = Duration::from_secs(1);
const TICK: Duration = Duration::from_millis(120);

/// Something that goes on; it is over when this is dropped.
#[derive(Debug)]
pub(in crate::cli) struct Progress {
    bar: ProgressBar,
    /// Dropped to end the wait for the first second.
    over: Option<Sender<()>>,
    waiting: Option<JoinHandle<()>>,
}

impl Progress {
    pub(in crate::cli) fn begin(what: &str) -> Self {
        let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::hidden());
        bar.set_style(style());
        bar.set_message(one_line(what));
        if !is_watched() {
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

    /// Tells what goes on now.
    pub(in crate::cli) fn now(&self, what: &str) {
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
