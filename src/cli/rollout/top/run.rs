//! `tidegate top`: pictures and keys in, the page out.
//!
//! Decides how often the page is drawn: ten times a second at most, and once a second for what only counts down. Questions to the hub run
//! beside it.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};

use super::TopArgs;
use super::draw::{Header, draw};
use crate::cli::doctor::whoami;
use crate::cli::print::{is_coloured, is_terminal, terminal_size};
use crate::cli::rollout::hub::{settings, settings_with_notes};
use crate::cli::rollout::pulse::Pulse;
use crate::cli::rollout::run::{Steering, remembered_lines, steered};
use crate::cli::rollout::write::Request;
use crate::cli::{CliError, RolloutHubArgs, connect, live, signals};
use crate::controllers::Lens;
use insight::cockpit::{
    Effect, Gallery, Key, Line, OBJECT_KINDS, Page, Pictures, Rollouts, Target, TargetKind, Tone,
    VerbRequest, View, find, object_tables,
};
use kubernetes::field::{Listing, Shown};

/// Columns of a terminal whose size is not known.
const NARROW: usize = 80;
/// The shortest time between two pages.
const SHORTEST: Duration = Duration::from_millis(100);
/// How often what counts down is drawn again.
const TICK: Duration = Duration::from_secs(1);
/// How often freezes, approvals, checks and profiles are read again while they are shown.
const OBJECTS_EVERY: Duration = Duration::from_secs(5);
/// How often it is looked whether the page has ended while no key comes.
const LOOK_AGAIN: Duration = Duration::from_millis(200);

/// What comes from outside of the page.
enum News {
    Key(KeyEvent),
    /// The terminal has another size.
    Resized,
    Why(Target, String, Vec<Line>),
    History(Target, Vec<Line>),
    Objects(Vec<Line>),
    Asked(VerbRequest, Result<Vec<Line>, String>),
    Done(Result<Vec<Line>, String>),
}

pub(in crate::cli) fn run(args: &TopArgs) -> Result<ExitCode, CliError> {
    if !is_terminal() {
        return Err(CliError::Refused(
            "standard output is not a terminal; use `tidegate rollout list` or `tidegate rollout status --watch`"
                .into(),
        ));
    }
    let hub_settings = settings_with_notes(&args.hub, Timestamp::now())?;
    let runtime = connect::serving_runtime()?;
    let ended = runtime.block_on(async {
        let place = &args.hub.place;
        let config = connect::config_of(place).await?;
        let url = config.cluster_url.to_string();
        let client = connect::client(config)?;
        // A hub that cannot be reached is reported before the page covers the terminal.
        client
            .apiserver_version()
            .await
            .map_err(CliError::acting("reach the hub"))?;
        let header = Header {
            hub: url
                .trim_start_matches("https://")
                .trim_end_matches('/')
                .to_owned(),
            user: whoami(&client).await,
            lost: None,
        };
        let pulse = Pulse::start(client.clone(), false);
        let mut gallery = Gallery::default();
        let lens = Lens::start(client, hub_settings, move |store, touched, now| {
            gallery.look(store, touched, now)
        });
        let mut terminal = ratatui::try_init().map_err(CliError::starting("the page"))?;
        let shown = show(&mut terminal, args, lens, pulse, header).await;
        ratatui::restore();
        shown
    });
    // A question to a hub that does not answer is not waited for.
    runtime.shutdown_background();
    ended.map(|()| ExitCode::SUCCESS)
}

async fn show(
    terminal: &mut ratatui::DefaultTerminal,
    args: &TopArgs,
    mut lens: Lens<Pictures>,
    mut pulse: Pulse,
    mut header: Header,
) -> Result<(), CliError> {
    let (told, mut news) = mpsc::unbounded_channel();
    listen(told.clone());
    let mut end = signals::end_requested()?;
    let mut app = Page::default();
    let mut begin = args.name.clone();
    let coloured = is_coloured();
    let mut objects_due = interval(OBJECTS_EVERY);
    objects_due.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut is_reading = false;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut drawn = Instant::now() - SHORTEST;
    let mut is_stale = true;
    loop {
        let due = drawn + SHORTEST;
        tokio::select! {
            () = sleep_until(due), if is_stale => {
                terminal
                    .draw(|frame| draw(frame, &mut app, &header, coloured, Timestamp::now()))
                    .map_err(CliError::Print)?;
                (drawn, is_stale) = (Instant::now(), false);
                continue;
            }
            () = end.requested() => return Ok(()),
            seen = lens.next() => {
                let Some(seen) = seen else { return Ok(()) };
                app.see(Vec::clone(&seen));
                if let Some(name) = begin.take() {
                    let all = Rollouts(app.pictures.iter().map(|one| one.target.clone()).collect());
                    let target = find(&all, &name);
                    app.place = View::Rollout(target.map_err(|error| CliError::Refused(Box::new(error)))?);
                }
            }
            told_now = news.recv() => {
                let Some(told_now) = told_now else { return Ok(()) };
                is_reading &= !matches!(told_now, News::Objects(_));
                match hear(&mut app, told_now) {
                    Effect::Nothing => {}
                    Effect::End => return Ok(()),
                    effect => spawn(effect, args.hub.clone(), told.clone()),
                }
            }
            _ = objects_due.tick(), if app.place == View::Objects && app.why.is_some() && !is_reading => {
                is_reading = true;
                spawn(Effect::Objects, args.hub.clone(), told.clone());
            }
            _ = pulse.changed() => {}
            _ = ticks.tick() => {}
        }
        header.lost = pulse.told();
        is_stale = true;
    }
}

fn hear(app: &mut Page, news: News) -> Effect {
    match news {
        News::Key(key) => {
            let meant = if app.takes_text() { typed(key) } else { meant(key) };
            return meant.map_or(Effect::Nothing, |key| app.press(key));
        }
        News::Resized => {}
        News::History(target, lines) => app.hear_history(&target, lines),
        News::Objects(lines) => app.hear_objects(lines),
        News::Why(target, cluster, lines) => app.hear_why(&target, &cluster, lines),
        News::Asked(request, answer) => app.hear_question(&request, answer),
        News::Done(answer) => app.hear_done(answer),
    }
    Effect::Nothing
}

/// Reads keys until the page has ended.
fn listen(told: mpsc::UnboundedSender<News>) {
    std::thread::spawn(move || {
        loop {
            match event::poll(LOOK_AGAIN) {
                Ok(true) => {}
                Ok(false) if told.is_closed() => return,
                Ok(false) => continue,
                Err(_) => return,
            }
            let news = match event::read() {
                Ok(Event::Key(key)) => Some(News::Key(key)),
                Ok(Event::Resize(..)) => Some(News::Resized),
                Ok(_) => None,
                Err(_) => return,
            };
            if news.is_some_and(|news| told.send(news).is_err()) {
                return;
            }
        }
    });
}

/// Returns what a key means while a text is typed: a letter is a letter.
fn typed(key: KeyEvent) -> Option<Key> {
    // Elsewhere, they are Esc and Enter.
    if matches!(key.code, KeyCode::Left | KeyCode::Right) {
        return None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    let is_letter = key.kind != KeyEventKind::Release && !is_control;
    if let KeyCode::Char(letter) = key.code
        && is_letter
    {
        return Some(Key::Letter(letter));
    }
    meant(key)
}

fn meant(key: KeyEvent) -> Option<Key> {
    if key.kind == KeyEventKind::Release {
        return None;
    }
    let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
    Some(match key.code {
        KeyCode::Char('c' | 'd') if is_control => Key::Quit,
        KeyCode::Up | KeyCode::Char('k') => Key::Up,
        KeyCode::Down | KeyCode::Char('j') => Key::Down,
        KeyCode::PageUp => Key::PageUp,
        KeyCode::PageDown | KeyCode::Char(' ') => Key::PageDown,
        KeyCode::Home | KeyCode::Char('g') => Key::First,
        KeyCode::End | KeyCode::Char('G') => Key::Last,
        KeyCode::Enter | KeyCode::Right | KeyCode::Char('l') => Key::Open,
        KeyCode::Esc | KeyCode::Left | KeyCode::Char('h') => Key::Back,
        KeyCode::Backspace => Key::Erase,
        KeyCode::Char('q') => Key::Quit,
        KeyCode::Char(letter) => Key::Letter(letter),
        _ => return None,
    })
}

/// Reads the hub in the background of the page.
fn spawn(effect: Effect, hub: RolloutHubArgs, told: mpsc::UnboundedSender<News>) {
    tokio::task::spawn_blocking(move || {
        let news = match effect {
            Effect::Nothing | Effect::End => return,
            Effect::Why(target, cluster) => {
                let lines = why(&hub, &target, &cluster);
                News::Why(target, cluster, lines)
            }
            Effect::History(target) => {
                let lines = history(&hub, &target);
                News::History(target, lines)
            }
            Effect::Objects => News::Objects(objects(&hub)),
            Effect::Ask(wanted) => {
                let request = Request {
                    dry_run: true,
                    ..Request::default()
                };
                let answer = written(&hub, &wanted, request);
                News::Asked(wanted, answer)
            }
            Effect::Do(wanted) => News::Done(written(&hub, &wanted, Request::default())),
        };
        // Once the page has ended, it is not received.
        let _sent = told.send(news).is_ok();
    });
}

fn written(hub: &RolloutHubArgs, wanted: &VerbRequest, request: Request) -> Result<Vec<Line>, String> {
    let steering = Steering {
        name: &wanted.target.told(),
        verb: &wanted.verb,
        reason: Some(wanted.reason.as_str()).filter(|reason| !reason.is_empty()),
        request,
    };
    steered(hub, steering).map_err(|error| error.one_line())
}

fn history(hub: &RolloutHubArgs, target: &Target) -> Vec<Line> {
    remembered_lines(hub, target).unwrap_or_else(|error| vec![Line::of(Tone::Bad, error.one_line())])
}

/// Reads freezes, approvals, checks and profiles.
fn objects(args: &RolloutHubArgs) -> Vec<Line> {
    let width = terminal_size().map_or(NARROW, |(width, _)| width);
    match live::objects_of(&args.place, &OBJECT_KINDS) {
        Ok(found) => {
            let all = found.iter().map(|(kind, object)| (*kind, object));
            object_tables(all, width, Timestamp::now())
        }
        Err(error) => vec![Line::of(Tone::Bad, error.one_line())],
    }
}

fn why(hub: &RolloutHubArgs, target: &Target, cluster: &str) -> Vec<Line> {
    match answer(hub, target, cluster) {
        Ok(text) => {
            let page = Shown::page(&text);
            // What is the matter comes first, for a page may be short; the way there follows.
            let is_link = |line: &&str| {
                let words = line.trim_start();
                line.starts_with(' ') && words.starts_with(|letter: char| letter.is_ascii_digit())
            };
            let (links, rest): (Vec<&str>, Vec<&str>) = page.as_str().lines().partition(is_link);
            rest.into_iter().chain(links).map(Line::plain).collect()
        }
        Err(why) => vec![Line::of(Tone::Bad, why)],
    }
}

fn answer(args: &RolloutHubArgs, target: &Target, cluster: &str) -> Result<String, String> {
    let now = Timestamp::now();
    let hub = live::read(&args.place).map_err(|error| error.one_line())?;
    let (settings, _) = settings(args, now).map_err(|error| error.one_line())?;
    match target.kind {
        TargetKind::ClusterManagementAddOn => {
            insight::why::why(&hub, settings, &target.name, Some(cluster), now)
                .map(|answer| insight::why::text(&answer, true, Listing::Whole))
                .map_err(|error| error.to_string())
        }
        TargetKind::ManagedClustersUpgrade => {
            let name = format!("{}/{}", target.namespace, target.name);
            insight::why::why_upgrade(&hub, settings, &name, Some(cluster), now)
                .map(|answer| insight::why::upgrade_text(&answer, Listing::Whole))
                .map_err(|error| error.to_string())
        }
    }
}
