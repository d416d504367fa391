//! The revisions of an add-on: the contents that are kept of its configurations, and the one that is rolled out now.
//!
//! Decides order and words. What is kept is decided by the controllers, which write it into ControllerRevisions.

use std::collections::BTreeMap;

use api::output::OutputDocument;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::line::{Line, Tone, padded};
use super::picture::{Target, TargetKind};
use super::steer::{SteerClient, Verb};
use super::text::called;
use crate::forecast::Difference;
use crate::forecast::of_configs;
use store::{Config, ConfigRef, Kind, Store, View};

/// The most changed fields that a list shows of a revision.
pub(super) const MOST_FIELDS: usize = 6;

/// One content of a configuration of an add-on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Revision {
    /// Its number; absent for content that is rolled out now and that not all clusters have run successfully.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revision: Option<i64>,
    /// Type of the configuration, as `resource.group`.
    pub what: String,
    /// The object, as `namespace/name` or `name`.
    pub object: String,
    /// Hash of its spec, "" if no content was kept.
    pub hash: String,
    /// When the content was written or, if this is not known, kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub at: Option<Timestamp>,
    /// The field manager that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub author: Option<String>,
    /// The annotation `kubernetes.io/change-cause` of the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// When and by which field manager the object got this older content again, such as by an undo.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restored: Option<Restored>,
    /// Whether clusters should run it now.
    pub desired: bool,
    /// Whether it is the last known good content.
    pub known_good: bool,
    /// What differs from the revision before it of the same object.
    pub changes: Vec<Difference>,
    /// Why no content was kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_kept: Option<String>,
}

/// The edit that restored an older content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Restored {
    /// When.
    #[schemars(with = "String")]
    pub at: Timestamp,
    /// The field manager.
    pub by: String,
}

/// One revision and its content.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RolloutRevision<'a> {
    /// The revision.
    #[serde(flatten)]
    pub revision: &'a Revision,
    /// The object that was kept, or null.
    pub content: Value,
}

impl OutputDocument for RolloutRevision<'_> {
    const KIND: &'static str = "RolloutRevision";
}

/// A decision about a change, as a RolloutApproval has it. The webhook records the user and the time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RecordedDecision {
    /// The placement, as `namespace/name`; "" for an upgrade.
    pub placement: String,
    /// The decision group, or the stage of an upgrade.
    pub group: String,
    /// `Approved` or `Rejected`.
    pub result: String,
    /// Hash of the content.
    pub content: String,
    /// Why, or "".
    pub reason: String,
    /// The user.
    pub by: String,
    /// When.
    pub at: String,
}

/// Returns the revisions of a rollout, the last first; none for an upgrade of clusters.
pub fn revisions(store: &Store, target: &Target) -> Vec<Revision> {
    let Some(view) = store
        .view(&target.name)
        .filter(|_| target.kind == TargetKind::ClusterManagementAddOn)
    else {
        return Vec::new();
    };
    let mut all: Vec<Revision> = Vec::new();
    let mut kept: Vec<_> = view.all_kept().map(|(_, kept)| kept).collect();
    kept.sort_by_key(|kept| kept.revision);
    let mut last: BTreeMap<ConfigRef, &Config> = BTreeMap::new();
    for kept in kept {
        match &kept.content {
            Ok((config, content)) => {
                let before = last.insert(config.clone(), content);
                let mut one = of(&view, config, content, before);
                one.revision = Some(kept.revision);
                one.at = one.at.or(kept.kept_at);
                one.restored = restored(&view, config, content);
                all.push(one);
            }
            Err(why) => all.push(Revision {
                revision: Some(kept.revision),
                what: String::new(),
                object: String::new(),
                hash: String::new(),
                at: kept.kept_at,
                author: None,
                cause: None,
                restored: None,
                desired: false,
                known_good: false,
                changes: Vec::new(),
                not_kept: Some(why.to_string()),
            }),
        }
    }
    // What is rolled out now is kept once clusters have run it.
    for (config, hash) in desired(&view) {
        let is_known = all
            .iter()
            .any(|one| one.object == object(&config) && one.hash == *hash);
        let found = view.config(&config).filter(|found| *found.hash == *hash);
        let is_own = Kind::of_config(&config.of.group, &config.of.resource).is_some();
        if let Some(found) = found.filter(|_| !is_known && is_own) {
            let good = good(&view, &config).or_else(|| last.get(&config).copied());
            all.push(of(&view, &config, found, good));
        }
    }
    all.reverse();
    all
}

fn of(view: &View<'_>, config: &ConfigRef, content: &Config, before: Option<&Config>) -> Revision {
    let references = || {
        view.addon
            .progressions
            .iter()
            .flatten()
            .flat_map(|one| &one.references)
    };
    let is_desired = references().any(|one| one.config == *config && one.desired == content.hash);
    let is_good = references().any(|one| {
        let good = one.known_good.as_ref();
        let is_it = good.is_some_and(|good| {
            good.namespace == config.namespace && good.name == config.name && good.hash == content.hash
        });
        one.config.of == config.of && is_it
    });
    Revision {
        revision: None,
        what: config.of.to_string(),
        object: object(config),
        hash: content.hash.to_string(),
        at: content.edit.as_ref().map(|edit| edit.at),
        author: content.edit.as_ref().map(|edit| edit.manager.to_string()),
        cause: content.cause.as_ref().map(ToString::to_string),
        restored: None,
        desired: is_desired,
        known_good: is_good,
        changes: before.map_or_else(Vec::new, |before| {
            of_configs(&before.object(config), &content.object(config))
        }),
        not_kept: None,
    }
}

/// Returns the edit of the object that restored a kept content. An edit of labels by the same field manager is none.
fn restored(view: &View<'_>, config: &ConfigRef, content: &Config) -> Option<Restored> {
    let present = view
        .config(config)
        .filter(|present| present.hash == content.hash)?;
    let edit = present.edit.as_ref()?;
    let clients = [SteerClient::CommandLine, SteerClient::WebPage];
    let is_undo = clients
        .iter()
        .any(|client| *edit.manager == *Verb::Undo.manager(*client));
    let mut others = view.all_kept().filter_map(|(_, kept)| kept.content.as_ref().ok());
    let is_replaced = others.any(|(of, other)| {
        let since = other.edit.as_ref().map(|edit| edit.at);
        of == config
            && since.is_some_and(|at| content.edit.as_ref().is_some_and(|edit| at > edit.at) && at <= edit.at)
    });
    (content.edit.as_ref() != Some(edit) && (is_undo || is_replaced)).then(|| Restored {
        at: edit.at,
        by: edit.manager.to_string(),
    })
}

/// Returns what the clusters of an add-on should run, each once.
fn desired(view: &View<'_>) -> BTreeMap<ConfigRef, String> {
    let all = view.addon.progressions.iter().flatten();
    let references = all.flat_map(|one| &one.references);
    references
        .map(|one| (one.config.clone(), one.desired.to_string()))
        .collect()
}

/// Returns the last known good content of an object.
fn good<'s>(view: &View<'s>, config: &ConfigRef) -> Option<&'s Config> {
    let references = view
        .addon
        .progressions
        .iter()
        .flatten()
        .flat_map(|one| &one.references);
    let mut good = references
        .filter(|one| one.config == *config)
        .filter_map(|one| one.known_good.as_ref());
    let hash = &good.next()?.hash;
    view.kept_content(config, hash).map(|(.., content)| content)
}

fn object(config: &ConfigRef) -> String {
    if config.namespace.is_empty() {
        config.name.to_string()
    } else {
        format!("{}/{}", config.namespace, config.name)
    }
}

/// Returns revisions as a table; each with the first fields that it changed, or with all of them.
pub fn revision_lines(revisions: &[Revision], is_whole: bool, width: usize) -> Vec<Line> {
    if revisions.is_empty() {
        return Vec::new();
    }
    let authors = revisions.iter().map(|one| author(one).chars().count());
    let author_width = authors.max().unwrap_or_default().clamp(2, 30);
    let states = revisions.iter().map(|one| state(one).chars().count());
    let state_width = states.max().unwrap_or_default().max(5);
    let title = format!(
        "{}  {}  {}  {}  CONTENT",
        padded("REVISION", 8),
        padded("CHANGED", 20),
        padded("BY", author_width),
        padded("STATE", state_width),
    );
    let mut page = vec![Line::of(Tone::Faint, title)];
    for one in revisions {
        let number = one
            .revision
            .map_or_else(|| "-".to_owned(), |number| number.to_string());
        let at = one.at.map_or_else(|| "-".to_owned(), time);
        let what = match &one.not_kept {
            Some(why) => format!("not kept: {why}"),
            None => format!("{} {}", called(&one.what), one.object),
        };
        page.push(
            Line::of(Tone::Strong, padded(&number, 8))
                .and(
                    Tone::Plain,
                    format!("  {}  {}  ", padded(&at, 20), padded(author(one), author_width)),
                )
                .and(Tone::Good, padded(state(one), state_width))
                .and(Tone::Plain, format!("  {what}")),
        );
        page.extend(
            one.cause.iter().map(|cause| {
                Line::of(Tone::Faint, format!("{INSET}cause: ")).and(Tone::Plain, cause.as_str())
            }),
        );
        page.extend(one.restored.iter().map(|restored| {
            Line::of(Tone::Faint, format!("{INSET}restored: "))
                .and(Tone::Plain, format!("{} by {}", time(restored.at), restored.by))
        }));
        let most = if is_whole { usize::MAX } else { MOST_FIELDS };
        let number = one
            .revision
            .map_or_else(String::new, |number| format!(" (--revision {number})"));
        page.extend(changed_lines(&one.changes, most, INSET, &number));
    }
    page.into_iter().map(|line| line.cut(width)).collect()
}

/// Returns the decisions about changes of a rollout, as its RolloutApprovals have them, the last first.
pub fn decisions<'v>(approvals: impl Iterator<Item = &'v Value>, target: &Target) -> Vec<RecordedDecision> {
    let (field, name) = match target.kind {
        TargetKind::ClusterManagementAddOn => ("/spec/addon", target.name.clone()),
        TargetKind::ManagedClustersUpgrade => {
            ("/spec/upgrade", format!("{}/{}", target.namespace, target.name))
        }
    };
    let mut found: Vec<RecordedDecision> = approvals
        .filter(|approval| text(approval, field) == name)
        .filter(|approval| approval.pointer("/spec/decision").is_some_and(Value::is_object))
        .map(|approval| {
            let of = |pointer: &str| text(approval, pointer).to_owned();
            RecordedDecision {
                placement: of("/spec/placement"),
                group: of("/spec/group"),
                result: of("/spec/decision/result"),
                content: of("/spec/decision/content"),
                reason: of("/spec/decision/reason"),
                by: of("/spec/decision/by"),
                at: of("/spec/decision/at"),
            }
        })
        .collect();
    found.sort_by(|one, other| other.at.cmp(&one.at));
    found
}

/// Returns decisions under a heading.
pub fn decision_lines(decisions: &[RecordedDecision], width: usize) -> Vec<Line> {
    let each = decisions.iter().map(|one| {
        let tone = if one.result == "Approved" {
            Tone::Good
        } else {
            Tone::Bad
        };
        let hash: String = one.content.chars().take(8).collect();
        let place = match one.placement.as_str() {
            "" => String::new(),
            place => format!(" of placement {place}"),
        };
        let reason = match one.reason.as_str() {
            "" => String::new(),
            reason => format!(": {reason}"),
        };
        let told = format!(" {hash} by {} in group {}{place}{reason}", one.by, one.group);
        Line::of(Tone::Faint, format!("  {}  ", padded(&one.at, 20)))
            .and(tone, one.result.as_str())
            .and(Tone::Plain, told)
            .cut(width)
    });
    let heading = (!decisions.is_empty()).then(|| Line::of(Tone::Strong, "decisions"));
    heading.into_iter().chain(each).collect()
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// What stands before the lines below a revision.
const INSET: &str = "          ";

fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

fn author(one: &Revision) -> &str {
    one.author.as_deref().unwrap_or("-")
}

fn state(one: &Revision) -> &'static str {
    match (one.desired, one.known_good) {
        (true, true) => "current, good",
        (true, false) => "current",
        (false, true) => "good",
        (false, false) => "-",
    }
}

/// Returns the first changed fields; `all` is what shows the others.
pub(super) fn changed_lines(changes: &[Difference], most: usize, inset: &str, all: &str) -> Vec<Line> {
    let value = |side: &Option<Value>| match side {
        Some(value) => value.to_string(),
        None => "absent".to_owned(),
    };
    let each = changes.iter().take(most).map(|change| {
        Line::of(Tone::Faint, format!("{inset}{}: ", change.path))
            .and(Tone::Bad, value(&change.old))
            .and(Tone::Faint, " -> ")
            .and(Tone::Good, value(&change.new))
    });
    let more = changes.len().saturating_sub(most);
    let rest = (more > 0).then(|| Line::of(Tone::Faint, format!("{inset}and {more} more fields{all}")));
    each.chain(rest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn decisions_of_a_rollout_are_listed_with_their_users_the_last_first() {
        let approval = |addon: &str, by: &str, at: &str| {
            json!({"spec": {"addon": addon, "placement": "default/all", "group": "prod", "decision": {
                "result": "Approved", "content": "0123456789abcdef", "by": by, "at": at, "reason": "CHG-7"}}})
        };
        let all = [
            approval("hello", "ann", "2030-01-01T00:00:00Z"),
            approval("other", "eve", "2030-01-02T00:00:00Z"),
            approval("hello", "bob", "2030-01-03T00:00:00Z"),
            json!({"spec": {"addon": "hello", "group": "dev"}}),
        ];
        let found = decisions(all.iter(), &Target::addon("hello"));
        let page: Vec<String> = decision_lines(&found, usize::MAX)
            .iter()
            .map(Line::text)
            .collect();
        assert_eq!(
            page,
            [
                "decisions",
                "  2030-01-03T00:00:00Z  Approved 01234567 by bob in group prod of placement default/all: CHG-7",
                "  2030-01-01T00:00:00Z  Approved 01234567 by ann in group prod of placement default/all: CHG-7",
            ]
        );
    }
}
