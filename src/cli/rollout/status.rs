//! `tidegate rollout status --watch`: one rollout, until it is over or needs an action.
//!
//! Decides when to draw again: on a terminal the page in its place, at most once a second when nothing but time has changed; elsewhere a line
//! whenever something has.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::args::{RolloutFormat, StatusArgs};
use super::hub::{gone, meant, require_crds, settings_to_watch};
use super::pulse::Pulse;
use super::run::{full_name, value};
use super::show::{painted, width};
use crate::cli::print::{Redrawn, is_terminal, print, print_next, terminal_size};
use crate::cli::{CliError, connect, signals};
use crate::controllers::Lens;
use insight::cockpit::{Line, Phase, Picture, Stopwatch, Tone, status, summary};
use kubernetes::field::Shown;

/// How often countdowns are drawn again.
const TICK: Duration = Duration::from_secs(1);
/// Exit status of a rollout that is not over.
const NOT_OVER: u8 = Phase::Progressing.exit_status();

/// Follows a rollout until it is over or needs an action.
pub(super) async fn watch(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let hub = &args.ask.hub;
    let client = connect::client(connect::config_of(&hub.place).await?)?;
    require_crds(&client).await?;
    let settings = settings_to_watch(hub).await?;
    let [name] = args.names.as_slice() else {
        return Err(CliError::ReadFlag {
            flag: "watch",
            reason: "one rollout can be watched; `tidegate rollout list --watch` shows several".to_owned(),
        });
    };
    let name = full_name(name, args.namespace.as_deref());
    let is_page = args.ask.output.is_text() && is_terminal();
    let mut pulse = Pulse::start(client.clone(), !is_page);
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
            lost = pulse.changed() => {
                face.lost = pulse.told();
                face.tick()?;
                if let Some(error) = lost.filter(|_| pulse.is_over()) {
                    return Err(error);
                }
            }
            _ = ticks.tick() => {
                face.lost = pulse.told();
                face.tick()?;
            }
            () = sleep_until(deadline.unwrap_or_else(Instant::now)), if deadline.is_some() => {
                face.end()?;
                return pulse.error().map_or(Ok(ExitCode::from(NOT_OVER)), Err);
            }
            () = end.requested() => {
                face.end()?;
                return pulse.error().map_or(Ok(ExitCode::from(NOT_OVER)), Err);
            }
        }
    }
}

/// What is shown of a rollout.
struct Face {
    form: Form,
    /// That the hub does not answer.
    lost: Option<String>,
}

/// Where a rollout is shown.
enum Form {
    /// A page that is drawn in its place.
    Page(Redrawn, Option<Picture>),
    /// A line whenever something has changed.
    Lines(String),
    /// A document whenever something has changed.
    Objects(RolloutFormat, Option<Picture>),
}

impl Face {
    fn new(output: RolloutFormat) -> Self {
        let form = if !output.is_text() {
            Form::Objects(output, None)
        } else if is_terminal() {
            Form::Page(Redrawn::default(), None)
        } else {
            Form::Lines(String::new())
        };
        Self { form, lost: None }
    }

    fn show(&mut self, picture: &Picture) -> Result<(), CliError> {
        match &mut self.form {
            Form::Page(_, shown) => {
                *shown = Some(picture.clone());
                return self.tick();
            }
            Form::Lines(last) => {
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
            }
            Form::Objects(output, last) => {
                let news = Picture {
                    at: Timestamp::UNIX_EPOCH,
                    eta: None,
                    ..picture.clone()
                };
                if last.as_ref() != Some(&news) {
                    print_next(&value(picture)?, output.document())?;
                    *last = Some(news);
                }
            }
        }
        Ok(())
    }

    /// Draws the page again.
    fn tick(&mut self) -> Result<(), CliError> {
        let Form::Page(place, Some(picture)) = &mut self.form else {
            return Ok(());
        };
        let mut lines = status(picture, width(false), Timestamp::now());
        // What does not fit cannot be drawn in its place.
        if let Some((_, height)) = terminal_size() {
            lines.truncate(height.saturating_sub(2));
        }
        lines.extend(
            self.lost
                .iter()
                .map(|lost| Line::of(Tone::Bad, lost.as_str()).cut(width(false))),
        );
        place.draw(&painted(&lines), lines.len())
    }

    /// The last page stays.
    fn end(&mut self) -> Result<(), CliError> {
        self.tick()
    }
}
