//! RolloutApprovals: one for each decision group of an add-on, or stage of an upgrade, before which changes wait.
//!
//! Decides when one is created, what its status shows, and when it is deleted. Who waits is decided in `rollout/approvals`; the decision of
//! a person is in the spec, which is never written.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::rollout::{AskedGroup, Placed};
use super::types::{Action, Revision};
use super::{owners, rollout_notifications};
use api::{ApprovalDecision, RolloutApprovalSpec};
use store::{ApprovalRecord, Kind, Name, ObjectKey, PlacementUse, Progression, RollUps, View};

/// So many approved contents are remembered: a change back to one of them needs no new approval.
const REMEMBERED: usize = 10;

/// Returns the writes that make the approvals of an add-on what they should be.
pub(super) fn managed(
    view: &View<'_>,
    placed: &[(&PlacementUse, &Placed)],
    progressions: Option<&[Progression]>,
    now: Timestamp,
) -> Vec<Action> {
    if view.settings().roll_ups != RollUps::InOwnKind || !view.shows_approvals() {
        return Vec::new();
    }
    let addon = &view.addon.name;
    let mut wanted = Vec::new();
    for (by, one) in placed {
        let Some(asked) = &one.asked else { continue };
        let place = format!("{}/{}", by.namespace, by.name);
        let mut progressions = progressions.into_iter().flatten();
        let progression = progressions.find(|one| one.namespace == by.namespace && one.name == by.name);
        let changes = progression.map(changes).unwrap_or_default();
        wanted.extend(asked.groups.iter().map(|group| Wanted {
            spec: RolloutApprovalSpec {
                addon: addon.to_string(),
                placement: place.clone(),
                group: group.name.to_string(),
                ..RolloutApprovalSpec::default()
            },
            hash: &asked.hash,
            group,
            changes: changes.clone(),
        }));
    }
    let known = view.approvals().map(|(place, record)| (&place.1, record));
    let owners = json!([owners::of_addon(view.addon, true)]);
    writes(&known.collect(), &wanted, Some(&owners), now)
}

/// An approval that a group or a stage needs.
pub(crate) struct Wanted<'a> {
    /// What it is about.
    pub(crate) spec: RolloutApprovalSpec,
    /// The hash of the present content.
    pub(crate) hash: &'a str,
    /// How the group or the stage stands.
    pub(crate) group: &'a AskedGroup,
    /// What changes.
    pub(crate) changes: Vec<String>,
}

/// Returns the writes that make the known approvals what they should be: one is created when clusters wait for it, and deleted when it is not
/// needed any more.
pub(crate) fn writes(
    known: &BTreeMap<&Name, &ApprovalRecord>,
    wanted: &[Wanted<'_>],
    owners: Option<&Value>,
    now: Timestamp,
) -> Vec<Action> {
    let mut actions = Vec::new();
    let mut needed = BTreeSet::new();
    for one in wanted {
        let name = Name::from(one.spec.object_name());
        match known.get(&name) {
            None if one.group.waiting > 0 => actions.push(create(&name, one, owners)),
            None => {}
            Some(record) => actions.extend(status(&name, record, one, now)),
        }
        needed.insert(name);
    }
    let surplus = known
        .iter()
        .filter(|(name, record)| !needed.contains(**name) && !record.meta.deleting);
    actions.extend(surplus.map(|(name, record)| Action::Delete {
        before: Revision::from(&record.meta),
        object: key(name),
        why: "changes do not wait before this decision group any more",
    }));
    actions
}

fn key(name: &Name) -> ObjectKey {
    ObjectKey::new(Kind::Approval, "", name.clone())
}

fn create(name: &Name, wanted: &Wanted<'_>, owners: Option<&Value>) -> Action {
    let mut metadata = Map::from_iter([("name".to_owned(), Value::from(&**name))]);
    metadata.extend(owners.map(|owners| ("ownerReferences".to_owned(), owners.clone())));
    let body = json!({
        "apiVersion": Kind::Approval.api_version(),
        "kind": Kind::Approval.address().kind,
        "metadata": metadata,
        "spec": wanted.spec,
    });
    Action::Create {
        object: key(name),
        body: body.into(),
        why: "clusters wait for approval",
    }
}

fn status(name: &Name, record: &ApprovalRecord, one: &Wanted<'_>, now: Timestamp) -> Option<Action> {
    if record.meta.deleting {
        return None;
    }
    let group = one.group;
    let state = match (group.rejected, group.approved, group.waiting) {
        (true, _, _) => "Rejected",
        (false, true, _) => "Approved",
        (false, false, 0) => "Idle",
        (false, false, _) => "Waiting",
    };
    let mut wanted = Map::from_iter([
        ("state".to_owned(), Value::from(state)),
        ("content".to_owned(), Value::from(one.hash)),
        ("clusters".to_owned(), json!(group.waiting)),
    ]);
    if !one.changes.is_empty() {
        wanted.insert("changes".to_owned(), json!(one.changes));
    }
    let approved = remembered(record);
    if !approved.is_empty() {
        wanted.insert("approved".to_owned(), json!(approved));
    }
    if record.status == wanted {
        return None;
    }
    let news = rollout_notifications::of_approval(record, state, one.hash, group, &one.changes, now);
    let gone = record.status.keys().filter(|field| !wanted.contains_key(*field));
    let gone: Vec<(String, Value)> = gone.map(|field| (field.clone(), Value::Null)).collect();
    wanted.extend(gone);
    Some(Action::Status {
        object: key(name),
        before: Revision::from(&record.meta),
        patch: json!({"status": wanted}).into(),
        notes: Vec::new(),
        notifications: news.into_iter().collect(),
    })
}

/// The contents that were approved, the newest first.
fn remembered(record: &ApprovalRecord) -> Vec<ApprovalDecision> {
    let new = record
        .decision
        .iter()
        .filter(|decision| decision.result == "Approved");
    let mut all: Vec<ApprovalDecision> = new.cloned().collect();
    for old in &record.approved {
        // What was rejected later is not approved any more.
        let is_rejected = record.rejects(&old.content).is_some();
        if !is_rejected && !all.iter().any(|one| one.content == old.content) {
            all.push(old.clone());
        }
    }
    all.truncate(REMEMBERED);
    all
}

/// What changes, from the content that all clusters of the placement confirmed last.
fn changes(progression: &Progression) -> Vec<String> {
    let each = progression.references.iter().filter_map(|one| {
        let to = &one.config;
        let new = short(&one.desired);
        match &one.applied {
            Some(before) if before.hash == one.desired && before.name == to.name => None,
            Some(before) if before.name == to.name && before.namespace == to.namespace => Some(format!(
                "{} {}: {} -> {new}",
                to.of.resource,
                named(&to.namespace, &to.name),
                short(&before.hash)
            )),
            Some(before) => Some(format!(
                "{}: {} -> {}",
                to.of.resource,
                named(&before.namespace, &before.name),
                named(&to.namespace, &to.name)
            )),
            None => Some(format!(
                "{}: {} ({new})",
                to.of.resource,
                named(&to.namespace, &to.name)
            )),
        }
    });
    each.collect()
}

fn named(namespace: &Name, name: &Name) -> String {
    if namespace.is_empty() {
        return name.to_string();
    }
    format!("{namespace}/{name}")
}

fn short(hash: &str) -> &str {
    hash.get(..8).unwrap_or(hash)
}
