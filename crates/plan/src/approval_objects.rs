//! The RolloutApprovals of an add-on: one for each decision group before which changes wait.
//!
//! Decides when one is created, what its status shows, and when it is deleted. Who waits is decided in `rollout/approvals`; the decision of
//! a person is in the spec, which is never written.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::owners;
use super::rollout::{Asked, AskedGroup, Placed};
use super::types::{Action, Revision};
use api::{ApprovalDecision, approval_name};
use store::{ApprovalRecord, Kind, Name, ObjectKey, PlacementUse, Progression, RollUps, View};

/// So many approved contents are remembered: a change back to one of them needs no new approval.
const REMEMBERED: usize = 10;

/// Returns the writes that make the approvals of an add-on what they should be.
pub(super) fn managed(
    view: &View<'_>,
    placed: &[(&PlacementUse, &Placed)],
    progressions: Option<&[Progression]>,
) -> Vec<Action> {
    if view.settings().roll_ups != RollUps::InOwnKind || !view.shows_approvals() {
        return Vec::new();
    }
    let mut actions = Vec::new();
    let mut wanted = BTreeSet::new();
    for (by, one) in placed {
        let Some(asked) = &one.asked else { continue };
        let place = format!("{}/{}", by.namespace, by.name);
        let progression = progressions.into_iter().flatten();
        let progression = progression
            .into_iter()
            .find(|one| one.namespace == by.namespace && one.name == by.name);
        for group in &asked.groups {
            let name = approval_name(&view.addon.name, &place, &group.name);
            let key = ObjectKey::new(Kind::Approval, "", name.as_str());
            wanted.insert(key.clone());
            let known = view.approvals().find(|(at, _)| *at.1 == *name);
            match known {
                None if group.waiting > 0 => actions.push(create(view, key, &place, group)),
                None => {}
                Some((_, record)) => {
                    actions.extend(status(key, record, asked, group, progression));
                }
            }
        }
    }
    let surplus = view.approvals().filter_map(|(place, record)| {
        let key = ObjectKey::at(Kind::Approval, place);
        (!wanted.contains(&key) && !record.meta.deleting).then(|| Action::Delete {
            before: Revision::from(&record.meta),
            object: key,
            why: "changes do not wait before this decision group any more",
        })
    });
    actions.extend(surplus);
    actions
}

fn create(view: &View<'_>, key: ObjectKey, place: &str, group: &AskedGroup) -> Action {
    let body = json!({
        "apiVersion": Kind::Approval.api_version(),
        "kind": Kind::Approval.address().kind,
        "metadata": {"name": &*key.name, "ownerReferences": [owners::of_addon(view.addon, true)]},
        "spec": {"addon": &*view.addon.name, "placement": place, "group": &*group.name},
    });
    Action::Create {
        object: key,
        body: body.into(),
        why: "clusters wait for approval",
    }
}

fn status(
    key: ObjectKey,
    record: &ApprovalRecord,
    asked: &Asked,
    group: &AskedGroup,
    progression: Option<&Progression>,
) -> Option<Action> {
    if record.meta.deleting {
        return None;
    }
    let state = match (group.rejected, group.approved, group.waiting) {
        (true, _, _) => "Rejected",
        (false, true, _) => "Approved",
        (false, false, 0) => "Idle",
        (false, false, _) => "Waiting",
    };
    let mut wanted = Map::from_iter([
        ("state".to_owned(), Value::from(state)),
        ("content".to_owned(), Value::from(&*asked.hash)),
        ("clusters".to_owned(), json!(group.waiting)),
    ]);
    let changes = progression.map(changes).unwrap_or_default();
    if !changes.is_empty() {
        wanted.insert("changes".to_owned(), json!(changes));
    }
    let approved = remembered(record);
    if !approved.is_empty() {
        wanted.insert("approved".to_owned(), json!(approved));
    }
    if record.status == wanted {
        return None;
    }
    let gone = record.status.keys().filter(|field| !wanted.contains_key(*field));
    let gone: Vec<(String, Value)> = gone.map(|field| (field.clone(), Value::Null)).collect();
    wanted.extend(gone);
    Some(Action::Status {
        object: key,
        before: Revision::from(&record.meta),
        patch: json!({"status": wanted}).into(),
        notes: Vec::new(),
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
