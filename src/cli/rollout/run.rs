//! `tidegate rollout`: picks the verb.
//!
//! Decides exit statuses; what is shown and written is decided by `cockpit`.

use std::collections::BTreeSet;
use std::process::ExitCode;
use std::time::Duration;

use jiff::Timestamp;
use kube::Client;

use super::args::{
    ApproveArgs, HistoryArgs, RolloutArgs, RolloutCommand, RolloutFormat, RolloutHubArgs, StatusArgs,
    SteerArgs,
};
use super::hub::{Events, Source, events, gone, meant, raw, settings, stored_settings};
use super::show::{painted, width};
use super::status::watch;
use super::write::{Outcome, Request, put};
use super::{freeze, list};
use crate::cli::doctor::user_name;
use crate::cli::print::{OutputFormat, document, print, print_document};
use crate::cli::{CliError, connect, live};
use insight::cockpit::{
    Approve, Decision, Line, Picture, Revision, RolloutHistory, RolloutList, RolloutRevision, Steer,
    Stopwatch, Target, Tone, Verb, decision_lines, decisions, history, revision_lines, revisions, status,
    steer, written,
};
use kubernetes::field::Shown;
use serde_json::Value;
use store::{Settings, Store};

pub(in crate::cli) fn run(args: &RolloutArgs) -> Result<ExitCode, CliError> {
    match &args.command {
        RolloutCommand::List(args) => list::run(args),
        RolloutCommand::Status(args) if args.watch => connect::serving_runtime()?.block_on(watch(args)),
        RolloutCommand::Status(args) => some(args),
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
        RolloutCommand::Undo(args) => {
            let verb = args.to_revision.map_or(Verb::Undo, Verb::UndoTo);
            told(&args.steer, &verb)
        }
        RolloutCommand::Freeze(args) => freeze::freeze(args),
        RolloutCommand::Unfreeze(args) => freeze::unfreeze(args),
        RolloutCommand::History(args) => remembered(args),
    }
}

/// Returns the name of a rollout as it is looked for: an upgrade may be named with its namespace beside it.
pub(super) fn full_name(name: &str, namespace: Option<&str>) -> String {
    match (namespace, name.split_once('/')) {
        (Some(namespace), Some((kind, name))) if !name.contains('/') => format!("{kind}/{namespace}/{name}"),
        (Some(namespace), None) => format!("mcu/{namespace}/{name}"),
        (_, _) => name.to_owned(),
    }
}

pub(super) fn value(picture: &Picture) -> Result<Value, CliError> {
    document(picture)
}

fn some(args: &StatusArgs) -> Result<ExitCode, CliError> {
    let source = Source::read(&args.ask)?;
    let is_one = args.names.len() == 1;
    let mut items = Vec::new();
    let mut wrong = Vec::new();
    // A status of 3 is the least, for it needs no action.
    let mut worst = 0;
    for name in &args.names {
        match source.picture(&full_name(name, args.namespace.as_deref())) {
            Ok(picture) => {
                let status = picture.phase.exit_status();
                worst = if worst == 1 || status == 0 { worst } else { status };
                items.push(picture);
            }
            Err(error) => wrong.push(error),
        }
    }
    let output = args.ask.output;
    match output {
        RolloutFormat::Json | RolloutFormat::Yaml | RolloutFormat::JsonPath(_) => {
            let page = match (is_one, items.first()) {
                (true, Some(one)) => Some(value(one)?),
                (true, None) => None,
                (false, _) => Some(document(&RolloutList {
                    items,
                    left_out: None,
                })?),
            };
            if let Some(page) = page {
                print_document(&page, output.document())?;
            }
        }
        RolloutFormat::Name => {
            for picture in &items {
                print(&Shown::line(&picture.target.told()))?;
            }
        }
        RolloutFormat::Text | RolloutFormat::Wide => {
            for (at, picture) in items.iter().enumerate() {
                if at > 0 {
                    print(&Shown::line(""))?;
                }
                print(&painted(&status(picture, width(args.ask.is_whole()), source.now)))?;
            }
        }
    }
    if let Some(error) = several(wrong) {
        return Err(error);
    }
    Ok(ExitCode::from(worst))
}

/// Returns all errors as one.
fn several(mut errors: Vec<CliError>) -> Option<CliError> {
    match errors.len() {
        0 | 1 => errors.pop(),
        _ => Some(CliError::Several(errors)),
    }
}

fn remembered(args: &HistoryArgs) -> Result<ExitCode, CliError> {
    let source = Source::without_settings(&args.ask)?;
    let target = meant(&source.store, &full_name(&args.name, args.namespace.as_deref()))?;
    let mut known = revisions(&source.store, &target);
    if let Some(wanted) = args.revision {
        let all = known.iter().filter_map(|one| one.revision);
        let all: Vec<String> = all.map(|number| number.to_string()).collect();
        known.retain(|one| one.revision == Some(wanted));
        if known.is_empty() {
            let reason = match all.as_slice() {
                [] => format!("no revision is kept of {}", target.told()),
                all => format!(
                    "{} has no revision {wanted}; it has {}",
                    target.told(),
                    all.join(", ")
                ),
            };
            return Err(CliError::ReadFlag {
                flag: "revision",
                reason,
            });
        }
        return one_revision(args, &source, &known);
    }
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
    let output = args.ask.output;
    let approvals = source.hub.objects().iter();
    let approvals = approvals.filter(|(key, _)| key.kind == store::Kind::Approval);
    let decided = decisions(approvals.map(|(_, object)| &**object), &target);
    match output {
        RolloutFormat::Json | RolloutFormat::Yaml | RolloutFormat::JsonPath(_) => {
            let page = RolloutHistory {
                decisions: decided,
                revisions: known,
                ..RolloutHistory::of(&target, &object, &told.own, &told.of_clusters)
            };
            print_document(&document(&page)?, output.document())?;
        }
        RolloutFormat::Name => {
            for number in known.iter().filter_map(|one| one.revision) {
                print(&Shown::line(&number.to_string()))?;
            }
        }
        RolloutFormat::Text | RolloutFormat::Wide => {
            let is_whole = args.ask.is_whole();
            let mut page = revision_lines(&known, is_whole, width(is_whole));
            page.extend(decision_lines(&decided, width(is_whole)));
            page.extend(history(
                &object,
                &told.own,
                &told.of_clusters,
                width(is_whole),
                source.now,
            ));
            print(&painted(&page))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Prints a revision with everything that it changed, and its content.
fn one_revision(args: &HistoryArgs, source: &Source, known: &[Revision]) -> Result<ExitCode, CliError> {
    let Some(one) = known.first() else {
        return Ok(ExitCode::SUCCESS);
    };
    let kept = source.hub.objects().iter().find(|(key, object)| {
        let is_it = object.get("revision").and_then(Value::as_i64) == one.revision;
        let owners = object
            .pointer("/metadata/ownerReferences")
            .and_then(Value::as_array);
        let is_of = |owner: &Value| owner.get("name").and_then(Value::as_str) == Some(args.name.as_str());
        key.kind == store::Kind::KeptContent && is_it && owners.is_some_and(|owners| owners.iter().any(is_of))
    });
    let content = kept
        .and_then(|(_, object)| object.get("data").cloned())
        .unwrap_or_default();
    let output = args.ask.output;
    if !output.is_text() {
        let page = RolloutRevision {
            revision: one,
            content,
        };
        print_document(&document(&page)?, output.document())?;
        return Ok(ExitCode::SUCCESS);
    }
    print(&painted(&revision_lines(known, true, width(true))))?;
    print_document(&content, OutputFormat::Yaml)?;
    Ok(ExitCode::SUCCESS)
}

/// Returns the history of a rollout on a hub, for a page.
#[cfg(feature = "top")]
pub(in crate::cli) fn remembered_lines(hub: &RolloutHubArgs, target: &Target) -> Result<Vec<Line>, CliError> {
    let store = live::read(&hub.place)?.store(Settings::default());
    let mut page = revision_lines(&revisions(&store, target), true, usize::MAX);
    let (object, told) = connect::serving_runtime()?.block_on(async {
        let client = connect::client(connect::config_of(&hub.place).await?)?;
        let object = raw(&client, target).await?;
        Ok::<_, CliError>((object, events(&client, target).await?))
    })?;
    page.extend(history(
        &object,
        &told.own,
        &told.of_clusters,
        usize::MAX,
        Timestamp::now(),
    ));
    Ok(page)
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
    let mut wrong = Vec::new();
    for name in &args.names {
        let name = full_name(name, args.namespace.as_deref());
        let steering = Steering {
            name: &name,
            verb,
            reason: args.reason.as_deref(),
            request,
        };
        match steered(&args.hub, steering) {
            Ok(page) => print(&painted(&page))?,
            Err(error) => wrong.push(error),
        }
    }
    match several(wrong) {
        Some(error) => Err(error),
        None => Ok(ExitCode::SUCCESS),
    }
}

/// A verb for a rollout, and how it is written.
#[derive(Clone, Copy)]
pub(in crate::cli) struct Steering<'a> {
    /// The name of the rollout, as a user writes it.
    pub(in crate::cli) name: &'a str,
    /// What is to be done.
    pub(in crate::cli) verb: &'a Verb,
    /// Why, in the words of the user.
    pub(in crate::cli) reason: Option<&'a str>,
    /// How it is written.
    pub(in crate::cli) request: Request,
}

/// Writes what a verb means, and returns what it wrote.
pub(in crate::cli) fn steered(hub: &RolloutHubArgs, steering: Steering<'_>) -> Result<Vec<Line>, CliError> {
    let now = Timestamp::now();
    let place = &hub.place;
    let (known, notes) = match (settings(hub, now), steering.verb) {
        // What a pause writes does not depend on them.
        (Err(error), Verb::Pause(_) | Verb::Resume(_)) => (Settings::default(), vec![error.one_line()]),
        (known, _) => known?,
    };
    let store = live::read(place)?.store(known);
    connect::serving_runtime()?.block_on(async {
        let client = connect::client(connect::config_of(place).await?)?;
        let mut page = steered_from(&client, store, steering).await?;
        let notes = notes.into_iter();
        page.extend(notes.map(|note| Line::of(Tone::Faint, format!("  note: {note}"))));
        Ok(page)
    })
}

/// Writes what a verb means on a hub as it was read just now, and returns what it wrote.
pub(in crate::cli) async fn steered_from(
    client: &Client,
    store: Store,
    steering: Steering<'_>,
) -> Result<Vec<Line>, CliError> {
    let Steering {
        name,
        verb,
        reason,
        request,
    } = steering;
    let now = Timestamp::now();
    let target = meant(&store, name)?;
    let picture = Picture::of(&store, &target, &Stopwatch::default(), now).ok_or_else(|| gone(&target))?;
    // Only the annotation with the reason has it.
    let user = match reason {
        Some(_) => user_name(client).await,
        None => None,
    };
    let mut wait = FIRST_WAIT;
    let mut taken_from = BTreeSet::new();
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
            user: user.as_deref(),
            client: request.client,
        };
        let writing = steer(ask, now).map_err(|refusal| CliError::Refused(Box::new(refusal)))?;
        let written_object = (&object, &settings);
        match put(
            client,
            &target,
            written_object,
            verb,
            &writing,
            request,
            &mut taken_from,
        )
        .await?
        {
            Outcome::Written => {
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
