//! What the conditions of an instance say when nothing else does.
//!
//! Decides which of them is wrong: an instance is ready when each condition says what a ready one says. What the controllers
//! would write now counts before what stands there, for they may be behind; never guesses what was not reported.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde_json::Value;

use super::answer::Cause;
use super::causes::{self, CauseDoc};
use api::names::conditions as types;
use api::reason::{Class, Reason};
use plan::{Action, Plan};
use store::{Condition, Instance, Kind, Status};

/// What the conditions of a ready instance say, the one that tells most first.
const READY: [(&str, Status, &CauseDoc); 12] = [
    (types::MANIFEST_APPLIED, Status::True, causes::APPLY_FAILED),
    (
        types::HOSTING_MANIFEST_APPLIED,
        Status::True,
        causes::APPLY_FAILED,
    ),
    (types::HOSTING_CLUSTER_VALIDITY, Status::True, causes::CONDITION),
    (types::REGISTRATION_APPLIED, Status::True, causes::REGISTRATION),
    (
        types::TOKEN_INFRASTRUCTURE_READY,
        Status::True,
        causes::REGISTRATION,
    ),
    (types::PROGRESSING, Status::False, causes::CONDITION),
    (types::AVAILABLE, Status::True, causes::CONDITION),
    (types::DEGRADED, Status::False, causes::CONDITION),
    (types::CONFIGURED, Status::True, causes::CONDITION),
    (types::STALLED, Status::False, causes::CONDITION),
    (types::RECONCILING, Status::False, causes::CONDITION),
    (types::READY, Status::True, causes::CONDITION),
];

/// One condition.
#[derive(Clone)]
pub(super) struct PlannedCondition {
    pub(super) kind: String,
    pub(super) status: Status,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) since: Option<Timestamp>,
}

/// What the controllers would write now, by cluster.
pub(super) struct PlannedConditions {
    instances: BTreeMap<String, Vec<PlannedCondition>>,
    /// The conditions of the add-on itself; none when they stand there already.
    addon: Option<Vec<PlannedCondition>>,
}

impl PlannedConditions {
    pub(super) fn of(plan: &Plan) -> Self {
        let of_kind = |wanted: Kind| {
            plan.actions.iter().filter_map(move |action| match action {
                Action::Status { object, patch, .. } if object.kind == wanted => {
                    let patch = patch.value();
                    let conditions = patch.pointer("/status/conditions")?.as_array()?;
                    let conditions = conditions.iter().map(condition).collect();
                    Some((object.namespace.to_string(), conditions))
                }
                Action::Status { .. }
                | Action::Create { .. }
                | Action::Replace { .. }
                | Action::Delete { .. }
                | Action::Certify { .. } => None,
            })
        };
        Self {
            instances: of_kind(Kind::Instance).collect(),
            addon: of_kind(Kind::AddOn).next().map(|(_, conditions)| conditions),
        }
    }

    /// Returns why nothing of an add-on changes until an administrator acts: reason and message of its `Stalled`. What `is_theirs` only
    /// the controllers know, so that it counts as it stands there.
    pub(super) fn stalled<'c>(
        &self,
        stated: impl IntoIterator<Item = &'c Condition>,
        is_theirs: impl Fn(&str) -> bool,
    ) -> Option<(String, String)> {
        let is_stalled = |kind: &str, status: Status| kind == types::STALLED && status == Status::True;
        let stored = stated.into_iter().find(|one| is_stalled(&one.kind, one.status));
        let stored = stored.map(|one| (one.reason.to_string(), one.message.to_string()));
        let Some(planned) = &self.addon else {
            return stored;
        };
        let planned = planned.iter().find(|one| is_stalled(&one.kind, one.status));
        let planned = planned.map(|one| (one.reason.clone(), one.message.clone()));
        stored.filter(|(reason, _)| is_theirs(reason)).or(planned)
    }

    /// Returns what is wrong with an instance; `managed` when the controllers sum it up in `Ready`. One condition may be `passed`
    /// over: the one that says that the cluster is meant to keep what it has.
    pub(super) fn wrong(&self, instance: &Instance, managed: bool, passed: Option<&str>) -> Option<Cause> {
        let words = self.words(instance);
        let find = |kind: &str| words.iter().find(|word| word.kind == kind);
        if let Some(word) =
            find(types::PROGRESSING).filter(|word| Reason::word_is(&word.reason, Class::Undeployed))
        {
            return Some(cause(causes::NOT_DEPLOYED, word));
        }
        for (kind, good, doc) in READY {
            if passed == Some(kind) {
                continue;
            }
            let bad = |word: &&PlannedCondition| {
                word.status != good
                    || kind == types::PROGRESSING && Reason::word_is(&word.reason, Class::Failed)
            };
            if let Some(word) = find(kind).filter(bad) {
                return Some(cause(doc, word));
            }
        }
        // Only `Ready` sums up what other programs deploy; where the controllers do not write it, the agent has to say that it
        // works.
        let needed = if managed { types::READY } else { types::AVAILABLE };
        let detail = format!("no controller or agent has reported the condition {needed}");
        find(needed).is_none().then(|| Cause::new(causes::AGENT, detail))
    }

    /// A dump may lack the roles that permissions are judged by: what registration has said there counts as it stands.
    pub(super) fn words(&self, instance: &Instance) -> Vec<PlannedCondition> {
        let stored = instance.conditions.iter().map(|condition| PlannedCondition {
            kind: condition.kind.to_string(),
            status: condition.status,
            reason: condition.reason.to_string(),
            message: condition.message.to_string(),
            since: condition.since(),
        });
        let Some(planned) = self.instances.get(&*instance.cluster) else {
            return telling(stored.collect());
        };
        let is_registration = |kind: &str| kind == types::REGISTRATION_APPLIED;
        let planned = planned.iter().filter(|word| !is_registration(&word.kind));
        let words = planned
            .cloned()
            .chain(stored.filter(|word| is_registration(&word.kind)));
        telling(words.collect())
    }
}

/// Where `Configured` says no more than that something is not configured, as OCM's manager does, it gets the words of the roll-up.
fn telling(mut words: Vec<PlannedCondition>) -> Vec<PlannedCondition> {
    let told = [types::STALLED, types::RECONCILING].into_iter().find_map(|kind| {
        let mut each = words.iter();
        let word = each.find(|word| word.kind == kind && word.status == Status::True)?;
        Some((word.reason.clone(), word.message.clone()))
    });
    let is_mute = |word: &&mut PlannedCondition| {
        word.kind == types::CONFIGURED && *word.reason == Reason::ConfigurationsNotConfigured
    };
    if let (Some(word), Some((reason, message))) = (words.iter_mut().find(is_mute), told) {
        (word.reason, word.message) = (reason, message);
    }
    words
}

fn condition(condition: &Value) -> PlannedCondition {
    let text = |name: &str| condition.get(name).and_then(Value::as_str).unwrap_or_default();
    PlannedCondition {
        kind: text("type").to_owned(),
        status: match text("status") {
            "True" => Status::True,
            "False" => Status::False,
            _ => Status::Unknown,
        },
        reason: text("reason").to_owned(),
        message: text("message").to_owned(),
        since: text("lastTransitionTime").parse().ok(),
    }
}

fn cause(doc: &'static CauseDoc, word: &PlannedCondition) -> Cause {
    let PlannedCondition {
        kind,
        status,
        reason,
        message,
        ..
    } = word;
    let detail = format!("{kind} {} {reason}: {message}", status.as_str());
    Cause::new(doc, detail)
}
