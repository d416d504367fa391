//! `tidegate rollout list`: all rollouts of a hub, or some, once or whenever something changes.
//!
//! Decides which rollouts are listed and how a change is printed; the table is the cockpit's.

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use kube::api::{DynamicObject, ListParams};
use kube::{Api, Client};
use tokio::time::{MissedTickBehavior, interval};

use super::args::{ListArgs, RolloutFormat};
use super::hub::{Source, require_crds, settings_to_watch};
use super::pulse::Pulse;
use super::show::{painted, width};
use crate::cli::error::reading_kind;
use crate::cli::print::{Redrawn, document, is_terminal, print, print_document, print_next, terminal_size};
use crate::cli::{CliError, connect, signals};
use crate::controllers::{Lens, resource};
use insight::cockpit::{
    Gallery, Line, Picture, Pictures, RolloutList, Rollouts, Target, Tone, find, list, summary,
};
use kubernetes::field::Shown;
use store::{Kind, ObjectKey};

/// How often countdowns are drawn again.
const TICK: Duration = Duration::from_secs(1);
/// The kinds that are rolled out.
const KINDS: [Kind; 2] = [Kind::AddOn, Kind::Upgrade];

/// Lists rollouts.
pub(super) fn run(args: &ListArgs) -> Result<ExitCode, CliError> {
    if args.watch {
        return connect::serving_runtime()?.block_on(watch(args));
    }
    let source = Source::read(&args.ask)?;
    let wanted = Wanted::of(args, &Rollouts::of(&source.store), |selector| {
        let all = source.hub.objects().iter();
        let fitting =
            all.filter(|(key, object)| KINDS.contains(&key.kind) && selector.matches_object(object));
        Ok(fitting.map(|(key, _)| target(key)).collect())
    })?;
    let pictures: Vec<Picture> = source
        .pictures()
        .into_iter()
        .filter(|picture| wanted.has(&picture.target))
        .collect();
    show(args, &pictures, source.now)?;
    Ok(ExitCode::SUCCESS)
}

fn target(key: &ObjectKey) -> Target {
    if key.kind == Kind::Upgrade {
        Target::upgrade(&*key.namespace, &*key.name)
    } else {
        Target::addon(&*key.name)
    }
}

/// Which rollouts are listed.
struct Wanted {
    names: Option<BTreeSet<Target>>,
    labelled: Option<BTreeSet<Target>>,
    namespace: Option<String>,
}

impl Wanted {
    fn of(
        args: &ListArgs,
        known: &Rollouts,
        labelled: impl FnOnce(&kubernetes::labels::Selector) -> Result<BTreeSet<Target>, CliError>,
    ) -> Result<Self, CliError> {
        let named = args.names.iter().map(|name| find(known, name));
        let named: Result<BTreeSet<Target>, _> = named.collect();
        let named = named.map_err(|unknown| CliError::Refused(Box::new(unknown)))?;
        Ok(Self {
            names: (!args.names.is_empty()).then_some(named),
            labelled: args
                .selector
                .as_ref()
                .map(|query| labelled(&query.selector))
                .transpose()?,
            namespace: args.namespace.clone(),
        })
    }

    fn has(&self, target: &Target) -> bool {
        let is_among = |all: &Option<BTreeSet<Target>>| all.as_ref().is_none_or(|all| all.contains(target));
        let is_there = self
            .namespace
            .as_ref()
            .is_none_or(|wanted| *wanted == target.namespace);
        is_among(&self.names) && is_among(&self.labelled) && is_there
    }
}

fn show(args: &ListArgs, pictures: &[Picture], now: Timestamp) -> Result<(), CliError> {
    match args.ask.output {
        RolloutFormat::Json | RolloutFormat::Yaml | RolloutFormat::JsonPath(_) => {
            // A list shows the progress of each; `status` shows its clusters.
            let items = pictures.iter().map(Picture::without_clusters).collect();
            let page = RolloutList {
                items,
                left_out: None,
            };
            print_document(&document(&page)?, args.ask.output.document())
        }
        RolloutFormat::Name => {
            for picture in pictures {
                print(&Shown::line(&picture.target.told()))?;
            }
            Ok(())
        }
        RolloutFormat::Text | RolloutFormat::Wide => print(&painted(&page(args, pictures, now))),
    }
}

fn page(args: &ListArgs, pictures: &[Picture], now: Timestamp) -> Vec<Line> {
    if pictures.is_empty() {
        let is_filtered = !args.names.is_empty() || args.selector.is_some() || args.namespace.is_some();
        let text = if is_filtered {
            "no rollouts match"
        } else {
            "no rollouts: the hub has no add-on and no cluster upgrade"
        };
        return vec![Line::plain(text)];
    }
    let is_wide = args.ask.output == RolloutFormat::Wide;
    list(pictures, width(args.ask.all || is_wide), is_wide, now)
}

/// Lists rollouts again whenever one changes, until the program is ended.
async fn watch(args: &ListArgs) -> Result<ExitCode, CliError> {
    let hub = &args.ask.hub;
    let client = connect::client(connect::config_of(&hub.place).await?)?;
    require_crds(&client).await?;
    let settings = settings_to_watch(hub).await?;
    let labelled = match &args.selector {
        Some(query) => Some(with_labels(&client, &query.text).await?),
        None => None,
    };
    let mut gallery = Gallery::default();
    let is_page = args.ask.output.is_text() && is_terminal();
    let mut pulse = Pulse::start(client.clone(), !is_page);
    let mut lens = Lens::start(client, settings, move |store, touched, now| {
        gallery.look(store, touched, now)
    });
    let mut end = signals::end_requested()?;
    let mut face = Face::default();
    let mut wanted: Option<Wanted> = None;
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            seen = lens.next() => {
                let Some(seen) = seen else {
                    return Err(CliError::acting("read the hub")(std::io::Error::other("the watches have ended")));
                };
                if wanted.is_none() {
                    let known = Rollouts(seen.iter().map(|picture| picture.target.clone()).collect());
                    let found = labelled.clone().unwrap_or_default();
                    wanted = Some(Wanted::of(args, &known, |_| Ok(found))?);
                }
                face.pictures.clone_from(&seen);
                if let Some(wanted) = &wanted {
                    face.pictures.retain(|picture| wanted.has(&picture.target));
                }
                face.draw(args, &pulse, true)?;
            }
            lost = pulse.changed() => {
                face.draw(args, &pulse, false)?;
                if let Some(error) = lost.filter(|_| pulse.is_over()) {
                    return Err(error);
                }
            }
            _ = ticks.tick() => face.draw(args, &pulse, false)?,
            () = end.requested() => return Ok(ExitCode::SUCCESS),
        }
    }
}

async fn with_labels(client: &Client, selector: &str) -> Result<BTreeSet<Target>, CliError> {
    let mut found = BTreeSet::new();
    for kind in KINDS {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &resource(kind));
        let listed = api.list(&ListParams::default().labels(selector)).await;
        let objects = listed.map_err(reading_kind(kind))?;
        found.extend(objects.items.into_iter().map(|object| {
            let name = object.metadata.name.unwrap_or_default();
            match object.metadata.namespace {
                Some(namespace) => Target::upgrade(namespace, name),
                None => Target::addon(name),
            }
        }));
    }
    Ok(found)
}

/// What was printed.
#[derive(Default)]
struct Face {
    pictures: Pictures,
    drawn: Redrawn,
    /// The last line about each rollout.
    lines: BTreeMap<Target, String>,
}

impl Face {
    fn draw(&mut self, args: &ListArgs, pulse: &Pulse, is_news: bool) -> Result<(), CliError> {
        if args.ask.output.is_text() && is_terminal() {
            return self.redraw(args, pulse);
        }
        if is_news {
            return self.changes(args.ask.output);
        }
        Ok(())
    }

    /// On a terminal, the table is drawn in its place.
    fn redraw(&mut self, args: &ListArgs, pulse: &Pulse) -> Result<(), CliError> {
        let now = Timestamp::now();
        let pictures: Vec<Picture> = self.pictures.iter().map(|one| one.without_clusters()).collect();
        let mut lines = page(args, &pictures, now);
        if let Some((_, height)) = terminal_size() {
            lines.truncate(height.saturating_sub(2));
        }
        lines.extend(pulse.told().map(|told| Line::of(Tone::Bad, told)));
        self.drawn.draw(&painted(&lines), lines.len())
    }

    /// Elsewhere, what has changed is printed.
    fn changes(&mut self, output: RolloutFormat) -> Result<(), CliError> {
        for picture in &self.pictures {
            let untimed = Picture {
                next: None,
                eta: None,
                at: Timestamp::UNIX_EPOCH,
                ..picture.without_clusters()
            };
            let line = match output {
                RolloutFormat::Text | RolloutFormat::Wide => summary(&untimed, picture.at),
                RolloutFormat::Name => picture.target.told(),
                RolloutFormat::Json | RolloutFormat::Yaml | RolloutFormat::JsonPath(_) => {
                    super::run::value(&untimed)?.to_string()
                }
            };
            if self.lines.get(&picture.target) == Some(&line) {
                continue;
            }
            match output {
                RolloutFormat::Text | RolloutFormat::Wide | RolloutFormat::Name => {
                    print(&Shown::line(&line))?;
                }
                RolloutFormat::Json | RolloutFormat::Yaml | RolloutFormat::JsonPath(_) => {
                    let value = super::run::value(&picture.without_clusters())?;
                    print_next(&value, output.document())?;
                }
            }
            self.lines.insert(picture.target.clone(), line);
        }
        let shown: BTreeSet<&Target> = self.pictures.iter().map(|picture| &picture.target).collect();
        self.lines.retain(|target, _| shown.contains(target));
        Ok(())
    }
}
