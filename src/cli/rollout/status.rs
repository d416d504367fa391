//! `tidegate rollout status --watch`: one rollout, until it is over.
//!
//! Decides when to draw again: on a terminal the page in its place, at most once a second when nothing but time has changed; elsewhere a line
//! whenever something has.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::args::StatusArgs;
use super::hub::{gone, meant, settings_with_notes};
use super::show::{painted, width};
use crate::cli::print::{Redrawn, is_terminal, print, terminal_size};
use crate::cli::{CliError, OutputFormat, connect, signals};
use crate::controllers::Lens;
use insight::cockpit::{Phase, Picture, Stopwatch, status, summary};
use kubernetes::field::Shown;

/// How often countdowns are drawn again.
const TICK: Duration = Duration::from_secs(1);
/// Exit status of a rollout that is not over.
const NOT_OVER: u8 = Phase::Progressing.exit_status();

/// Follows a rollout until it is over.
pub(super) async fn watch(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let hub = &args.ask.hub;
    let client = connect::client(connect::config_of(&hub.place).await?)?;
    let lease = tokio::task::spawn_blocking({
        let hub = hub.clone();
        move || settings_with_notes(&hub, Timestamp::now())
    });
    let settings = lease.await.map_err(CliError::acting("read the hub"))??;
    let name = args.name.clone();
    let mut stopwatch = Stopwatch::default();
    let mut lens = Lens::start(client, settings, move |store, _, now| {
        let seen = meant(store, &name)
            .and_then(|target| Picture::of(store, &target, &stopwatch, now).ok_or_else(|| gone(&target)));
        if let Ok(picture) = &seen {
            stopwatch.look(picture);
        }
        let next = seen.as_ref().ok().and_then(Picture::changes_at);
        (seen, next)
    });
    let mut end = signals::end_requested()?;
    let deadline = args.timeout.map(|timeout| Instant::now() + timeout);
    let mut face = Face::new(args.ask.output);
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            seen = lens.next() => {
                let Some(seen) = seen else {
                    return Err(CliError::acting("read the hub")(std::io::Error::other("the watches have ended")));
                };
                let picture = match &*seen {
                    Ok(picture) => picture,
                    Err(error) => return Err(CliError::Refused(error.one_line().into())),
                };
                face.show(picture)?;
                if !picture.phase.goes_on() {
                    face.end()?;
                    return Ok(ExitCode::from(picture.phase.exit_status()));
                }
            }
            _ = ticks.tick() => face.tick()?,
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                face.end()?;
                return Ok(ExitCode::from(NOT_OVER));
            }
            () = end.requested() => {
                face.end()?;
                return Ok(ExitCode::from(NOT_OVER));
            }
        }
    }
}

/// Where a rollout is shown.
enum Face {
    /// A page that is drawn in its place.
    Page(Redrawn, Option<Picture>),
    /// A line whenever something has changed.
    Lines(String),
    /// An object of JSON a line.
    Objects(Option<Picture>),
}

impl Face {
    fn new(output: OutputFormat) -> Self {
        match output {
            OutputFormat::Json => Self::Objects(None),
            OutputFormat::Text if is_terminal() => Self::Page(Redrawn::default(), None),
            OutputFormat::Text => Self::Lines(String::new()),
        }
    }

    fn show(&mut self, picture: &Picture) -> Result<(), CliError> {
        match self {
            Self::Page(_, shown) => {
                *shown = Some(picture.clone());
                self.tick()
            }
            Self::Lines(last) => {
                // Countdowns are no news.
                let untimed = Picture {
                    next: None,
                    ..picture.clone()
                };
                let line = summary(&untimed, picture.at);
                if *last != line {
                    print(&Shown::line(&line))?;
                    *last = line;
                }
                Ok(())
            }
            Self::Objects(last) => {
                let news = Picture {
                    at: Timestamp::UNIX_EPOCH,
                    eta: None,
                    ..picture.clone()
                };
                if last.as_ref() != Some(&news) {
                    let text = serde_json::to_string(picture).map_err(CliError::acting("read the hub"))?;
                    print(&Shown::json(&format!("{text}\n")))?;
                    *last = Some(news);
                }
                Ok(())
            }
        }
    }

    /// Draws the page again.
    fn tick(&mut self) -> Result<(), CliError> {
        let Self::Page(place, Some(picture)) = self else {
            return Ok(());
        };
        let mut lines = status(picture, width(false), Timestamp::now());
        // What does not fit cannot be drawn in its place.
        if let Some((_, height)) = terminal_size() {
            lines.truncate(height.saturating_sub(1));
        }
        place.draw(&painted(&lines), lines.len())
    }

    /// The last page stays.
    fn end(&mut self) -> Result<(), CliError> {
        match self {
            Self::Page(..) => self.tick(),
            Self::Lines(_) | Self::Objects(_) => Ok(()),
        }
    }
}
