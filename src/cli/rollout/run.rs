//! `tidegate rollout`: picks the verb.
//!
//! Decides exit statuses; what is shown and written is decided by `cockpit`.

use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;

use super::args::{
    ApproveArgs, HistoryArgs, ListArgs, RolloutArgs, RolloutCommand, RolloutHubArgs, StatusArgs, SteerArgs,
};
use super::freeze;
use super::hub::{Events, Source, events, gone, meant, raw, settings, stored_settings};
use super::show::{painted, width};
use super::status::watch;
use super::write::{Outcome, Request, put};
use crate::cli::print::{OutputFormat, print};
use crate::cli::{CliError, connect, live};
use insight::cockpit::{
    Approve, Decision, Line, Picture, Steer, Stopwatch, Target, Tone, Verb, history, history_json, list,
    status, steer, written,
};
use kubernetes::field::Shown;
use serde_json::{Value, json};
use store::{Settings, Store};

pub(in crate::cli) fn run(args: &RolloutArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        RolloutCommand::List(args) => all(args),
        RolloutCommand::Status(args) if args.watch => connect::serving_runtime()?.block_on(watch(args)),
        RolloutCommand::Status(args) => one(args),
        RolloutCommand::Pause(args) => told(&args.steer, &Verb::Pause(args.placement.clone())),
        RolloutCommand::Resume(args) => told(&args.steer, &Verb::Resume(args.placement.clone())),
        RolloutCommand::Promote(args) => told(&args.steer, &Verb::Promote(args.placement.clone())),
        RolloutCommand::Approve(args) => {
            told(&args.on.steer, &Verb::Approve(deciding(args, Decision::Approve)))
        }
        RolloutCommand::Reject(args) => {
            told(&args.on.steer, &Verb::Approve(deciding(args, Decision::Reject)))
        }
        RolloutCommand::Retry(args) => told(args, &Verb::Retry),
        RolloutCommand::Undo(args) => told(args, &Verb::Undo),
        RolloutCommand::Freeze(args) => freeze::freeze(args),
        RolloutCommand::Unfreeze(args) => freeze::unfreeze(args),
        RolloutCommand::History(args) => remembered(args),
        RolloutCommand::Schema => {
            print_json(&insight::cockpit::json_schema())?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

fn print_json(value: &Value) -> Result<(), CliError> {
    print(&Shown::json(&format!("{value:#}\n")))
}

fn value(picture: &Picture) -> Result<Value, CliError> {
    serde_json::to_value(picture).map_err(CliError::acting("read the hub"))
}

fn all(args: &ListArgs) -> Result<ExitCode, CliError> {
    let source = Source::read(&args.ask)?;
    let pictures = source.pictures();
    match args.ask.output {
        OutputFormat::Json => {
            let items: Result<Vec<Value>, CliError> = pictures
                .into_iter()
                // A list shows the progress of each; `status` shows its clusters.
                .map(|picture| value(&picture.without_clusters()))
                .collect();
            print_json(
                &json!({"apiVersion": insight::cockpit::API_VERSION, "kind": "RolloutList", "items": items?}),
            )?;
        }
        OutputFormat::Text if pictures.is_empty() => {
            print(&Shown::line(
                "no rollouts: the hub has no add-on and no cluster upgrade",
            ))?;
        }
        OutputFormat::Text => print(&painted(&list(&pictures, width(args.ask.all), source.now)))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn one(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let source = Source::read(&args.ask)?;
    let picture = source.picture(&args.name)?;
    match args.ask.output {
        OutputFormat::Json => print_json(&value(&picture)?)?,
        OutputFormat::Text => print(&painted(&status(&picture, width(args.ask.all), source.now)))?,
    }
    Ok(ExitCode::from(picture.phase.exit_status()))
}

fn remembered(args: &HistoryArgs) -> Result<ExitCode, CliError> {
    let source = Source::without_settings(&args.ask)?;
    let target = meant(&source.store, &args.name)?;
    let (object, told) = match &args.ask.facts {
        Some(_) => {
            let mut objects = source.hub.objects().iter();
            let is_it = |key: &store::ObjectKey| {
                let kinds = [store::Kind::AddOn, store::Kind::Upgrade];
                kinds.contains(&key.kind) && *key.name == *target.name && *key.namespace == *target.namespace
            };
            let found = objects
                .find(|(key, _)| is_it(key))
                .map(|(_, object)| Value::clone(object));
            // A dump has no events.
            (found.ok_or_else(|| gone(&target))?, Events::default())
        }
        None => connect::serving_runtime()?.block_on(async {
            let place = &args.ask.hub.place;
            let client = connect::client(connect::config_of(place).await?)?;
            let object = raw(&client, &target).await?;
            Ok::<_, CliError>((object, events(&client, &target).await?))
        })?,
    };
    match args.ask.output {
        OutputFormat::Json => print_json(&history_json(&target, &object, &told.own, &told.of_clusters))?,
        OutputFormat::Text => print(&painted(&history(
            &object,
            &told.own,
            &told.of_clusters,
            width(args.ask.all),
            source.now,
        )))?,
    }
    Ok(ExitCode::SUCCESS)
}

fn deciding(args: &ApproveArgs, decision: Decision) -> Approve {
    Approve {
        decision,
        placement: args.on.placement.clone(),
        group: args.group.clone(),
        contents: args.content.iter().cloned().collect(),
    }
}

/// Writes what a verb means, and prints what it wrote.
fn told(args: &SteerArgs, verb: &Verb) -> Result<ExitCode, CliError> {
    let request = Request {
        dry_run: args.dry_run,
        force: args.force,
        ..Request::default()
    };
    let page = steered(&args.hub, &args.name, verb, args.reason.as_deref(), request)?;
    print(&painted(&page))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes what a verb means, and returns what it wrote.
pub(in crate::cli) fn steered(
    hub: &RolloutHubArgs,
    name: &str,
    verb: &Verb,
    reason: Option<&str>,
    request: Request,
) -> Result<Vec<Line>, CliError> {
    let now = Timestamp::now();
    let place = &hub.place;
    let (known, notes) = match (settings(hub, now), verb) {
        // What a pause writes does not depend on them.
        (Err(error), Verb::Pause(_) | Verb::Resume(_)) => (Settings::default(), vec![error.one_line()]),
        (known, _) => known?,
    };
    let store = live::read(place)?.store(known);
    connect::serving_runtime()?.block_on(async {
        let client = connect::client(connect::config_of(place).await?)?;
        let mut page = steered_from(&client, store, name, verb, reason, request).await?;
        let notes = notes.into_iter();
        page.extend(notes.map(|note| Line::of(Tone::Faint, format!("  note: {note}"))));
        Ok(page)
    })
}

/// Writes what a verb means on a hub as it was read just now, and returns what it wrote.
pub(in crate::cli) async fn steered_from(
    client: &Client,
    store: Store,
    name: &str,
    verb: &Verb,
    reason: Option<&str>,
    request: Request,
) -> Result<Vec<Line>, CliError> {
    let now = Timestamp::now();
    let target = meant(&store, name)?;
    let picture = Picture::of(&store, &target, &Stopwatch::default(), now).ok_or_else(|| gone(&target))?;
    let mut wait = FIRST_WAIT;
    loop {
        let object = raw(client, &target).await?;
        let settings = stored_settings(client, &target).await?;
        let ask = Steer {
            verb,
            object: &object,
            settings: &settings,
            picture: &picture,
            store: &store,
            reason,
            client: request.client,
        };
        let writing = steer(ask, now).map_err(|refusal| CliError::Refused(Box::new(refusal)))?;
        match put(client, &target, (&object, &settings), verb, &writing, request).await? {
            Outcome::Written { taken_from } => {
                return Ok(written(&target, verb, writing, &taken_from, request.dry_run));
            }
            // Its controllers write its status all the time, and the gate takes its own: the request is decided again.
            Outcome::Changed(_) if wait < LAST_WAIT => {
                tokio::time::sleep(wait).await;
                wait *= 2;
            }
            Outcome::Changed(why) => return Err(restless(&target, why)),
        }
    }
}

/// How long a verb waits after its first write that came too late; twice as long after each further one.
const FIRST_WAIT: Duration = Duration::from_millis(10);
/// It gives up before it would wait so long: after ten tries in some five seconds.
const LAST_WAIT: Duration = Duration::from_secs(5);

/// The object never stood still.
#[derive(Debug, thiserror::Error)]
#[error("{0} changed during every attempt; nothing was written. Try again. The hub returned: {1}")]
struct Restless(String, String);

fn restless(target: &Target, why: String) -> CliError {
    CliError::Serve {
        part: "the change",
        source: Box::new(Restless(target.told(), why)),
    }
}
