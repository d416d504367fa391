//! What happens on the clusters, line by line, until the user ends it.
//!
//! On a terminal a last line counts how far every add-on has come and is drawn anew; elsewhere only plain lines are
//! printed. Never asks the hub: it shows what the controllers tell.

use std::collections::BTreeMap;

use tokio::sync::broadcast::error::RecvError;

use super::parts::Parts;
use crate::cli::CliError;
use crate::cli::print::{is_terminal, print, print_above};
use crate::cli::signals::End;
use crate::controllers::Progress;
use field::{Shown, cut};
use plan::Outcome;

/// The longest line, in characters.
const LONGEST: usize = 500;

/// Shows what happens; returns when the user wishes the end.
pub(super) async fn show(parts: &mut Parts, end: &mut End) -> Result<(), CliError> {
    let progress = parts.progress();
    let mut screen = Screen::new(is_terminal());
    loop {
        tokio::select! {
            () = end.requested() => return screen.finish(),
            told = progress.recv() => match told {
                Ok(note) => screen.show(&note)?,
                Err(RecvError::Lagged(missed)) => screen.skip(missed)?,
                // The controllers have ended; there is nothing to show until the user ends the rest.
                Err(RecvError::Closed) => {
                    end.requested().await;
                    return screen.finish();
                }
            },
        }
    }
}

/// How many clusters of an add-on are running, done and failed.
#[derive(Debug, Default)]
struct Screen {
    terminal: bool,
    clusters: BTreeMap<(String, String), State>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Running,
    Succeeded,
    Failed,
}

impl Screen {
    fn new(terminal: bool) -> Self {
        Self {
            terminal,
            clusters: BTreeMap::new(),
        }
    }

    fn show(&mut self, note: &Progress) -> Result<(), CliError> {
        let state = match note {
            Progress::Cluster { outcome, .. } => match outcome {
                Outcome::Running(_) => Some(State::Running),
                Outcome::Succeeded => Some(State::Succeeded),
                Outcome::Failed(_) => Some(State::Failed),
            },
            Progress::Stuck { .. } => Some(State::Failed),
            Progress::Upgrade { reason, .. } => match *reason {
                "ClusterUpgradeStarted" => Some(State::Running),
                "ClusterUpgradeCompleted" => Some(State::Succeeded),
                "ClusterUpgradeFailed" => Some(State::Failed),
                _ => None,
            },
            Progress::AddOn { .. } => None,
        };
        if let (Some(state), Some(cluster)) = (state, note.cluster()) {
            self.clusters
                .insert((note.owner().to_string(), cluster.to_string()), state);
        }
        self.print(&note.to_string())
    }

    fn skip(&self, missed: u64) -> Result<(), CliError> {
        self.print(&format!("({missed} lines left out)"))
    }

    fn finish(&self) -> Result<(), CliError> {
        self.print("ending")
    }

    fn print(&self, line: &str) -> Result<(), CliError> {
        // A cluster reports what it likes.
        let line = Shown::line(&cut(line, LONGEST));
        if self.terminal {
            return print_above(&line, &Shown::line(&self.summary()));
        }
        print(&line)
    }

    /// Counts the clusters of every add-on, for the last line of a terminal.
    fn summary(&self) -> String {
        let mut counts: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
        for ((addon, _), state) in &self.clusters {
            let [running, succeeded, failed] = counts.entry(addon).or_default();
            match state {
                State::Running => *running += 1,
                State::Succeeded => *succeeded += 1,
                State::Failed => *failed += 1,
            }
        }
        let parts: Vec<String> = counts
            .iter()
            .map(|(addon, [running, done, failed])| {
                format!("{addon}: {done} done, {running} running, {failed} failed")
            })
            .collect();
        parts.join(" · ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_line_counts_each_cluster_once_in_its_newest_state() {
        let mut screen = Screen::new(true);
        for (cluster, state) in [
            ("c1", State::Running),
            ("c1", State::Succeeded),
            ("c2", State::Failed),
            ("c3", State::Running),
        ] {
            screen
                .clusters
                .insert(("hello".to_owned(), cluster.to_owned()), state);
        }
        assert_eq!(screen.summary(), "hello: 1 done, 1 running, 1 failed");
    }
}
