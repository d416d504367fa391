//! What a verb writes, and when it is rejected.
//!
//! Decides fields and values: those that the pages of rollouts and upgrades document, and no others. Never writes; the gate
//! judges what is written as it judges every other write.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::approve::{Approve, Decision, approve};
use super::cluster::{ClusterState, ClusterView};
use super::picture::{Phase, Picture, TargetKind};
use super::settings_edit::SettingsEdit;
use super::undo::{field, undo, undo_to};
use super::writing::{Form, Writing};
use kubernetes::field::{counted, listed, nearest, quoted};
use store::Store;
use store::upgrade::marks;

pub use store::terms::CHANGE_CAUSE;

/// A command for a rollout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verb {
    /// No other cluster starts; for one placement, or for all.
    Pause(Option<String>),
    /// The rollout continues; for one placement, or for all.
    Resume(Option<String>),
    /// Soaking clusters count as done; for one placement, or for all.
    Promote(Option<String>),
    /// Approves or rejects waiting changes.
    Approve(Approve),
    /// Retries failed clusters or configurations.
    Retry,
    /// Rolls back to the last known good configuration.
    Undo,
    /// Rolls back to a revision of the history.
    UndoTo(i64),
}

impl Verb {
    /// Returns its word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Pause(_) => "pause",
            Self::Resume(_) => "resume",
            Self::Promote(_) => "promote",
            Self::Approve(wish) => match wish.decision {
                Decision::Approve => "approve",
                Decision::Reject => "reject",
            },
            Self::Retry => "retry",
            Self::Undo | Self::UndoTo(_) => "undo",
        }
    }

    /// Returns its field manager. Each verb has its own: server-side apply removes fields that a manager does not apply any more.
    pub const fn manager(&self, client: SteerClient) -> &'static str {
        use SteerClient::{CommandLine, WebPage};
        match (self, client) {
            (Self::Pause(_) | Self::Resume(_), CommandLine) => "tidegate-rollout-pause",
            (Self::Pause(_) | Self::Resume(_), WebPage) => "tidegate-web-pause",
            (Self::Promote(_), CommandLine) => "tidegate-rollout-promote",
            (Self::Promote(_), WebPage) => "tidegate-web-promote",
            (Self::Approve(_), CommandLine) => "tidegate-rollout-approve",
            (Self::Approve(_), WebPage) => "tidegate-web-approve",
            (Self::Retry, CommandLine) => "tidegate-rollout-retry",
            (Self::Retry, WebPage) => "tidegate-web-retry",
            (Self::Undo | Self::UndoTo(_), CommandLine) => "tidegate-rollout-undo",
            (Self::Undo | Self::UndoTo(_), WebPage) => "tidegate-web-undo",
        }
    }
}

/// The client of a user who runs a verb.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SteerClient {
    /// A command, or the terminal page.
    #[default]
    CommandLine,
    /// The web page.
    WebPage,
}

/// The verb cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {verb} {rollout}: {why}")]
pub struct Refusal {
    /// The verb.
    pub verb: &'static str,
    /// The rollout.
    pub rollout: String,
    /// Why.
    pub why: String,
}

/// A verb with all that it is judged by.
#[derive(Clone, Copy, Debug)]
pub struct Steer<'a> {
    /// What is to be done.
    pub verb: &'a Verb,
    /// The object as it stands on the hub.
    pub object: &'a Value,
    /// The AddOnRollout of an add-on as it stands on the hub; `null` where there is none.
    pub settings: &'a Value,
    /// The picture of its rollout.
    pub picture: &'a Picture,
    /// What is known of the hub.
    pub store: &'a Store,
    /// Why it is done, in the words of the user of the verb.
    pub reason: Option<&'a str>,
    /// The name of the user, if the hub reports it.
    pub user: Option<&'a str>,
    /// Where the user runs it.
    pub client: SteerClient,
}

/// Returns what a verb writes, or why it cannot be executed.
pub fn steer(ask: Steer<'_>, now: Timestamp) -> Result<Writing, Refusal> {
    let of_addon = ask.picture.target.kind == TargetKind::ClusterManagementAddOn;
    let found = match (ask.picture.phase, ask.verb) {
        (Phase::NotManaged, _) => {
            Err("Tidegate does not manage it, so the command would have no effect".to_owned())
        }
        (Phase::Deleting, _) => Err("it is being deleted".to_owned()),
        (_, Verb::Pause(place)) if of_addon => pause(ask, place.as_deref()),
        (_, Verb::Resume(place)) if of_addon => resume(ask, place.as_deref()),
        (_, Verb::Promote(place)) if of_addon => promote(ask, place.as_deref()),
        (_, Verb::Approve(wish)) => approve(ask, wish),
        (_, Verb::Promote(_)) => Err(
            "only rollouts of add-ons can be promoted; the minSuccessTime of a stage ends by itself"
                .to_owned(),
        ),
        (_, Verb::Pause(Some(_)) | Verb::Resume(Some(_))) => {
            Err("an upgrade can only be paused as a whole: remove --placement".to_owned())
        }
        (_, Verb::Pause(None)) => suspend(ask, true),
        (_, Verb::Resume(None)) => suspend(ask, false),
        (_, Verb::Retry) if of_addon => retry_undone(ask),
        (_, Verb::Retry) => retry(ask, now),
        (_, Verb::Undo) if of_addon => undo(ask),
        (_, Verb::UndoTo(revision)) if of_addon => undo_to(ask, *revision),
        (_, Verb::Undo | Verb::UndoTo(_)) => Err(NO_WAY_BACK.to_owned()),
    };
    let found = found.map_err(|why| Refusal {
        verb: ask.verb.word(),
        rollout: ask.picture.target.told(),
        why,
    })?;
    let note = found.note.into_iter().chain(still_paused(ask));
    let note: Vec<String> = note.collect();
    let found = Writing {
        note: (!note.is_empty()).then(|| note.join("; ")),
        ..found
    };
    Ok(found.addressed(ask))
}

/// Returns what ends a pause under which a verb has no effect yet.
fn still_paused(ask: Steer<'_>) -> Option<String> {
    if matches!(ask.verb, Verb::Pause(_) | Verb::Resume(_)) {
        return None;
    }
    let paused = ask.picture.paused.as_ref()?;
    let is_own = ask.picture.target.kind == TargetKind::ManagedClustersUpgrade
        || setting(ask, None, "pause").is_some()
        || !paused_placements(ask).is_empty();
    let end = if is_own {
        format!("run `tidegate rollout resume {}`", ask.picture.target.told())
    } else {
        "remove spec.pause of the RolloutProfile".to_owned()
    };
    Some(format!("{paused}; to continue, {end}"))
}

const NO_RETRY: &str = "the agents of an add-on retry automatically, and a failure ends as soon as they succeed; fix the cause, which \
                        `tidegate why` shows";
const NO_WAY_BACK: &str = "an OpenShift cluster cannot be downgraded to its previous version";

impl Writing {
    /// Adds the name of the object, and the reason of the change.
    fn addressed(mut self, ask: Steer<'_>) -> Self {
        let target = &ask.picture.target;
        if self.form == Form::Apply {
            for name in ["apiVersion", "kind"] {
                *field(&mut self.body, &[name]) = ask.object.get(name).cloned().unwrap_or_default();
            }
            *field(&mut self.body, &["metadata", "name"]) = target.name.as_str().into();
            if !target.namespace.is_empty() {
                *field(&mut self.body, &["metadata", "namespace"]) = target.namespace.as_str().into();
            }
        }
        // A pause of an add-on has a field for it, and so has a decision.
        let has_field = self.form != Form::Apply && matches!(ask.verb, Verb::Pause(_) | Verb::Approve(_));
        if let Some(reason) = ask.reason.filter(|_| !has_field) {
            let mut what = ask.verb.word().to_owned();
            if let Verb::UndoTo(revision) = ask.verb {
                what = format!("{what} to revision {revision}");
            }
            let author = ask.user.map_or_else(String::new, |user| format!(" by {user}"));
            let cause = format!("{what}{author}: {reason}");
            self.says
                .push(format!("annotation {CHANGE_CAUSE}={}", quoted(&cause)));
            *field(&mut self.body, &["metadata", "annotations", CHANGE_CAUSE]) = cause.into();
        }
        self
    }
}

/// The placements of an add-on, as annotations name them.
fn placements(object: &Value) -> impl Iterator<Item = String> {
    let listed = object.pointer("/spec/installStrategy/placements");
    let each = listed.and_then(Value::as_array).into_iter().flatten();
    each.map(place_of)
}

/// A placement of an add-on as `namespace/name`.
fn place_of(entry: &Value) -> String {
    let text = |key: &str| entry.get(key).and_then(Value::as_str).unwrap_or_default();
    format!("{}/{}", text("namespace"), text("name"))
}

/// Returns the placement as it is in the add-on.
pub(super) fn placement(ask: Steer<'_>, asked: &str) -> Result<String, String> {
    let known: Vec<String> = placements(ask.object).collect();
    if known.iter().any(|one| one == asked) {
        return Ok(asked.to_owned());
    }
    let by_name: Vec<&String> = known
        .iter()
        .filter(|one| one.split_once('/').is_some_and(|(_, name)| name == asked))
        .collect();
    if let [one] = by_name.as_slice() {
        return Ok((*one).clone());
    }
    let near = nearest(asked, known.iter().map(String::as_str));
    let hint = match near {
        Some(near) => format!("; did you mean {near:?}?"),
        None if known.is_empty() => "; it has no placements, so it can only be paused as a whole".to_owned(),
        None => format!("; it has {}", listed(known.iter().map(String::as_str))),
    };
    Err(format!("it has no placement {asked:?}{hint}"))
}

/// Returns a setting for all placements, or for one, as it stands.
fn setting<'a>(ask: Steer<'a>, place: Option<&str>, key: &str) -> Option<&'a Value> {
    let spec = ask.settings.get("spec")?;
    let level = match place {
        None => spec,
        Some(place) => {
            let mut listed = spec.get("placements")?.as_array()?.iter();
            listed.find(|entry| place_of(entry) == place)?
        }
    };
    level.get(key).filter(|value| !value.is_null())
}

/// The placements that are paused on their own.
fn paused_placements(ask: Steer<'_>) -> Vec<String> {
    let listed = ask.settings.pointer("/spec/placements").and_then(Value::as_array);
    let paused = listed.into_iter().flatten();
    let paused = paused.filter(|entry| entry.get("pause").is_some_and(|pause| !pause.is_null()));
    paused.map(place_of).collect()
}

fn pause(ask: Steer<'_>, place: Option<&str>) -> Result<Writing, String> {
    if setting(ask, None, "pause").is_some() {
        return Err("all placements are paused already".to_owned());
    }
    let place = place.map(|asked| placement(ask, asked)).transpose()?;
    if let Some(place) = &place
        && setting(ask, Some(place), "pause").is_some()
    {
        return Err(format!("placement {place} is paused already"));
    }
    let waiting = ask.picture.counts.waiting;
    let under_way = ask.picture.counts.moving;
    let note = match (waiting, under_way) {
        (0, 0) => "no cluster is waiting now; the next change waits until the rollout is resumed".to_owned(),
        (1, 0) => "1 cluster is waiting until the rollout is resumed".to_owned(),
        (_, 0) => format!("{waiting} clusters are waiting until the rollout is resumed"),
        (_, _) => going_on(under_way),
    };
    let reason = ask
        .reason
        .map(|reason| ("reason".to_owned(), Value::from(reason)));
    let mut edit = SettingsEdit::of(&ask.picture.target.name, ask.settings);
    edit.set(
        place.as_deref(),
        "pause",
        Value::Object(reason.into_iter().collect()),
    );
    Ok(edit.writing().noting(Some(note)))
}

fn going_on(under_way: usize) -> String {
    match under_way {
        1 => "1 cluster that is being updated finishes; no other cluster starts".to_owned(),
        more => format!("{more} clusters that are being updated finish; no other cluster starts"),
    }
}

pub(super) fn annotated(key: &str, value: &str) -> Writing {
    // The whole value: the user may have to account for what was written.
    let says = vec![format!("annotation {key}={value:?}")];
    Writing::apply(json!({"metadata": {"annotations": {key: value}}}), says)
}

fn resume(ask: Steer<'_>, place: Option<&str>) -> Result<Writing, String> {
    let is_everything = setting(ask, None, "pause").is_some();
    let paused = paused_placements(ask);
    if !is_everything && paused.is_empty() {
        // A pause that is not its own is one of a RolloutProfile.
        let of_profile = ask.picture.paused.as_deref();
        return Err(of_profile.map_or_else(
            || "it is not paused".to_owned(),
            |paused| format!("{paused}; remove spec.pause of the RolloutProfile"),
        ));
    }
    let mut edit = SettingsEdit::of(&ask.picture.target.name, ask.settings);
    match place {
        None => {
            if is_everything {
                edit.take(None, "pause");
            }
            for place in &paused {
                edit.take(Some(place), "pause");
            }
        }
        Some(asked) => {
            let place = placement(ask, asked)?;
            if is_everything {
                return Err("all placements are paused: remove --placement".to_owned());
            }
            if !paused.contains(&place) {
                return Err(format!("placement {place} is not paused"));
            }
            edit.take(Some(&place), "pause");
        }
    }
    Ok(edit.writing())
}

/// Retries what was rolled back until now, not what is rolled back later.
fn retry_undone(ask: Steer<'_>) -> Result<Writing, String> {
    let undone = &ask.picture.undone;
    let Some(last) = undone.iter().filter_map(|one| one.since).max() else {
        return Err(NO_RETRY.to_owned());
    };
    let at = Timestamp::from_second(last.as_second().saturating_add(1)).unwrap_or(last);
    let mut edit = SettingsEdit::of(&ask.picture.target.name, ask.settings);
    for one in undone {
        edit.set(Some(&one.placement), "retriedAt", at.to_string().into());
    }
    let note = match ask.picture.counts.moving {
        0 => "the configuration that was rolled back is rolled out again, and rolled back again if too many clusters fail".to_owned(),
        moving => format!(
            "the configuration that was rolled back is rolled out again; a cluster counts as failed until its rollback \
             is complete (now {})",
            counted(moving, "cluster")
        ),
    };
    Ok(edit.writing().noting(Some(note)))
}

/// Ends the soak time of the clusters that soak now. Promotions of other placements stay.
fn promote(ask: Steer<'_>, place: Option<&str>) -> Result<Writing, String> {
    let place = place.map(|asked| placement(ask, asked)).transpose()?;
    let is_meant = |cluster: &&ClusterView| {
        let wave = ask.picture.waves.get(cluster.wave);
        let is_there = wave.is_some_and(|wave| place.as_ref().is_none_or(|place| wave.placement == *place));
        cluster.state == ClusterState::Soaking && is_there
    };
    let soaking: Vec<&ClusterView> = ask.picture.clusters.iter().filter(is_meant).collect();
    // Only those that were seen: a cluster that succeeds from now on soaks.
    let Some(last) = soaking.iter().filter_map(|cluster| cluster.since).max() else {
        let mut why = "no cluster is in its soak time (minSuccessTime)".to_owned();
        if !ask.picture.approvals.is_empty() {
            let name = &ask.picture.target.name;
            why = format!("{why}; the change is waiting for approval: tidegate rollout approve {name}");
        }
        return Err(why);
    };
    let at = Timestamp::from_second(last.as_second().saturating_add(1)).unwrap_or(last);
    let mut edit = SettingsEdit::of(&ask.picture.target.name, ask.settings);
    edit.set(place.as_deref(), "promotedAt", at.to_string().into());
    let note = format!("the soak time of {} ends now", counted(soaking.len(), "cluster"));
    Ok(edit.writing().noting(Some(note)))
}

fn suspend(ask: Steer<'_>, suspend: bool) -> Result<Writing, String> {
    let is_suspended = ask.object.pointer("/spec/suspend").and_then(Value::as_bool) == Some(true);
    match (suspend, is_suspended) {
        (true, true) => return Err("it is suspended already".to_owned()),
        (false, false) => return Err("it is not suspended".to_owned()),
        (true, false) | (false, true) => {}
    }
    // A cluster whose pre-upgrade action runs does not go on to the upgrade while it is suspended.
    let is_going = |one: &&ClusterView| {
        one.state == ClusterState::Moving && one.reason != plan::upgrade::Phase::PreAction.word()
    };
    let under_way = ask.picture.clusters.iter().filter(is_going).count();
    let note = (suspend && under_way > 0).then(|| going_on(under_way));
    let says = vec![format!("spec.suspend={suspend}")];
    Ok(Writing::apply(json!({"spec": {"suspend": suspend}}), says).noting(note))
}

fn retry(ask: Steer<'_>, now: Timestamp) -> Result<Writing, String> {
    let failures = ask.picture.counts.failures();
    if failures == 0 {
        return Err("no cluster has failed".to_owned());
    }
    let word = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
    let note = format!(
        "retried, within the free slots (maxConcurrency): {}",
        counted(failures, "cluster")
    );
    Ok(annotated(marks::RETRY, &word).noting(Some(note)))
}
