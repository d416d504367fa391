//! What happens on the clusters, line by line, until the user ends it.
//!
//! On a terminal a last line tells how far every rollout is, from the cockpit's picture of the hub, and is drawn again. What many clusters
//! report alike is printed once. Never decides how far a rollout is.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::{MissedTickBehavior, interval};

use super::parts::Parts;
use crate::cli::CliError;
use crate::cli::print::{is_terminal, print, print_above, terminal_size};
use crate::cli::signals::End;
use crate::controllers::{Lens, Progress};
use insight::cockpit::{Gallery, HealthState, Phase, Picture, Pictures, summary};
use kubernetes::field::{Shown, cut};
use store::Settings;

/// The longest line, in characters.
const LONGEST: usize = 500;
/// With more clusters than this, equal reports are printed once.
const MANY: usize = 20;
/// So many of them are named.
const NAMED: usize = 3;
/// How long what clusters say is gathered then, and how often the last line is drawn again.
const TICK: Duration = Duration::from_secs(1);
/// A hub with more rollouts than this tells only those that are not over.
const MOST_TOLD: usize = 3;

/// Shows what happens on so many clusters; returns when the user wishes the end.
pub(super) async fn show(
    parts: &mut Parts,
    clusters: usize,
    settings: Settings,
    end: &mut End,
) -> Result<(), CliError> {
    let terminal = is_terminal();
    let mut screen = Screen {
        terminal,
        folds: clusters > MANY,
        ..Screen::default()
    };
    let mut gallery = Gallery::default();
    let look = move |store: &_, touched: &_, now| gallery.look(store, touched, now);
    let mut lens = terminal.then(|| Lens::start(parts.client(), settings, look));
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let progress = parts.progress();
    loop {
        let seen = async {
            match &mut lens {
                Some(lens) => lens.next().await,
                None => std::future::pending().await,
            }
        };
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
            Some(pictures) = seen => {
                screen.pictures.clone_from(&pictures);
                screen.draw()?;
            }
            _ = ticks.tick() => screen.tick()?,
        }
    }
}

/// What was printed, and the progress of rollouts.
#[derive(Debug, Default)]
struct Screen {
    terminal: bool,
    /// Whether equal reports of clusters are printed once.
    folds: bool,
    pictures: Pictures,
    /// What clusters said since the last tick, by the words that they share.
    gathered: BTreeMap<String, Vec<String>>,
    /// The last line as it stands there.
    last: String,
}

impl Screen {
    fn show(&mut self, note: &Progress) -> Result<(), CliError> {
        let line = note.to_string();
        match note.cluster().filter(|_| self.folds) {
            Some(cluster) => {
                let words = line.replacen(&**cluster, "", 1).trim_start().to_owned();
                self.gathered.entry(words).or_default().push(cluster.to_string());
                Ok(())
            }
            None => self.print(&line),
        }
    }

    fn skip(&mut self, missed: u64) -> Result<(), CliError> {
        self.print(&format!("({missed} lines left out)"))
    }

    fn tick(&mut self) -> Result<(), CliError> {
        self.tell_gathered()?;
        self.draw()
    }

    fn tell_gathered(&mut self) -> Result<(), CliError> {
        for (words, clusters) in std::mem::take(&mut self.gathered) {
            self.print(&folded(&words, &clusters))?;
        }
        Ok(())
    }

    fn finish(&mut self) -> Result<(), CliError> {
        self.tell_gathered()?;
        self.print("ending")
    }

    fn print(&mut self, line: &str) -> Result<(), CliError> {
        // A cluster reports what it likes.
        let line = Shown::line(&cut(line, LONGEST));
        if self.terminal {
            self.last = self.summary(Timestamp::now());
            return print_above(&line, &Shown::line(&self.last));
        }
        print(&line)
    }

    /// Draws the last line again where it has changed.
    fn draw(&mut self) -> Result<(), CliError> {
        let line = self.summary(Timestamp::now());
        if !self.terminal || line == self.last {
            return Ok(());
        }
        self.last = line;
        print_above(&Shown::default(), &Shown::line(&self.last))
    }

    /// How far every rollout is, for the last line of a terminal.
    fn summary(&self, now: Timestamp) -> String {
        let is_well =
            |picture: &Picture| picture.phase == Phase::Done && picture.health.state == HealthState::Healthy;
        let is_open = |picture: &&Arc<Picture>| self.pictures.len() <= MOST_TOLD || !is_well(picture);
        let each = self.pictures.iter().filter(is_open);
        let parts: Vec<String> = each.map(|picture| summary(picture, now)).collect();
        let width = terminal_size().map_or(LONGEST, |(width, _)| width.saturating_sub(1));
        cut(&parts.join(" | "), width)
    }
}

/// Returns what so many clusters say alike, on one line.
fn folded(words: &str, clusters: &[String]) -> String {
    let mut sorted: Vec<&str> = clusters.iter().map(String::as_str).collect();
    sorted.sort_by(|one, other| plan::upgrade::natural_order(one, other));
    let named: Vec<&str> = sorted.into_iter().take(NAMED).collect();
    match clusters.len().saturating_sub(NAMED) {
        0 => format!("{} {words}", named.join(", ")),
        more => format!("{} and {more} more {words}", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::reason::Reason;

    fn done(cluster: &str, words: &str) -> Progress {
        Progress::Stuck {
            addon: "hello".into(),
            cluster: cluster.into(),
            reason: Reason::InvalidVersion,
            message: words.to_owned(),
        }
    }

    #[test]
    fn what_many_clusters_say_alike_is_reported_once() {
        let mut screen = Screen {
            folds: true,
            ..Screen::default()
        };
        for number in 1..=5 {
            screen
                .show(&done(&format!("c{number}"), "no v3"))
                .expect("nothing is printed");
        }
        screen.show(&done("c9", "no v4")).expect("nothing is printed");
        let told: Vec<String> = screen
            .gathered
            .iter()
            .map(|(words, clusters)| folded(words, clusters))
            .collect();
        assert_eq!(
            told,
            [
                "c1, c2, c3 and 2 more hello: InvalidVersion: no v3",
                "c9 hello: InvalidVersion: no v4"
            ]
        );
    }
}
