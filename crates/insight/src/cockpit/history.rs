//! The history of a rollout: what its clusters ran and run, and recent events.
//!
//! A hub keeps no more: a status has the desired, last applied and last known good configuration, and events expire after an hour.

use std::collections::{BTreeMap, BTreeSet};

use api::output::OutputDocument;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::line::{Line, Tone, WHOLE, between, padded};
use super::picture::Target;
use super::revisions::{RecordedDecision, Revision};
use super::steer::CHANGE_CAUSE;
use crate::layout::first_sorted;
use kubernetes::field::counted;
use store::{Undone, terms};

/// The heading of events that agents of clusters can have written.
const OF_CLUSTERS: &str =
    "events in namespaces of clusters (written by the controllers or by the cluster's agent)";
/// The most events that are listed.
const MOST_EVENTS: usize = 10;
/// The most clusters of an event that are named.
const MOST_NAMED: usize = 3;

/// Returns the history of a rollout from its object and the events about it: of the controllers, and in namespaces of clusters.
pub fn history(
    object: &Value,
    own: &[Value],
    of_clusters: &[Value],
    width: usize,
    now: Timestamp,
) -> Vec<Line> {
    let mut page = Vec::new();
    let annotations = object.pointer("/metadata/annotations");
    if let Some(cause) = annotations
        .and_then(|all| all.get(CHANGE_CAUSE))
        .and_then(Value::as_str)
    {
        page.push(Line::of(Tone::Faint, "last change  ").and(Tone::Plain, cause));
    }
    page.extend(progressions(object));
    page.extend(upgrade(object, width, now));
    page.extend(section("events", own, width, now));
    page.extend(section(OF_CLUSTERS, of_clusters, width, now));
    if page.is_empty() {
        page.push(Line::of(
            Tone::Faint,
            "the hub has no history of this rollout yet",
        ));
    }
    page.into_iter().map(|line| line.cut(width)).collect()
}

/// The history of a rollout.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RolloutHistory {
    /// The rollout.
    pub target: Target,
    /// Its revisions, the last first.
    pub revisions: Vec<Revision>,
    /// Decisions about changes, the last first.
    pub decisions: Vec<RecordedDecision>,
    /// The field `status.installProgressions` of the ClusterManagementAddOn; empty for an upgrade.
    #[schemars(schema_with = "api::output::objects")]
    pub install_progressions: Vec<Value>,
    /// Events about the rollout.
    #[schemars(schema_with = "api::output::objects")]
    pub events: Vec<Value>,
    /// Events in namespaces of clusters.
    #[schemars(schema_with = "api::output::objects")]
    pub cluster_events: Vec<Value>,
}

impl OutputDocument for RolloutHistory {
    const KIND: &'static str = "RolloutHistory";
}

impl RolloutHistory {
    /// Returns the history of a rollout from its object and the events about it.
    pub fn of(target: &Target, object: &Value, own: &[Value], of_clusters: &[Value]) -> Self {
        let progressions = object
            .pointer("/status/installProgressions")
            .and_then(Value::as_array);
        Self {
            target: target.clone(),
            revisions: Vec::new(),
            decisions: Vec::new(),
            install_progressions: progressions.cloned().unwrap_or_default(),
            events: own.iter().map(without_managers).collect(),
            cluster_events: of_clusters.iter().map(without_managers).collect(),
        }
    }
}

fn without_managers(event: &Value) -> Value {
    let mut event = event.clone();
    if let Some(metadata) = event.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    event
}

/// Returns events under a heading, the last first.
fn section(heading: &str, events: &[Value], width: usize, now: Timestamp) -> Vec<Line> {
    let mut told: Vec<(Timestamp, &Value)> = events
        .iter()
        .filter_map(|event| Some((time(event)?, event)))
        .collect();
    if told.is_empty() {
        return Vec::new();
    }
    told.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let told = shared(&told);
    let most = if width == WHOLE { usize::MAX } else { MOST_EVENTS };
    let more = told.len().saturating_sub(most);
    let mut page = vec![Line::of(Tone::Strong, heading)];
    let named = if width == WHOLE { usize::MAX } else { MOST_NAMED };
    page.extend(told.iter().take(most).map(|one| one.line(named, now)));
    if more > 0 {
        let text = format!("  and {more} earlier ones; all: `-o wide`");
        page.push(Line::of(Tone::Faint, text));
    }
    page
}

/// Events of several clusters with the same reason and message.
struct SharedEvent<'a> {
    event: &'a Value,
    /// When the last of them happened.
    at: Timestamp,
    /// The namespaces of their objects; none for objects without one.
    namespaces: BTreeSet<String>,
}

/// Puts together what several clusters report, from the last event to the first. A cluster that reports the same twice is listed twice.
fn shared<'a>(told: &[(Timestamp, &'a Value)]) -> Vec<SharedEvent<'a>> {
    let mut all: Vec<SharedEvent<'a>> = Vec::new();
    let mut known: BTreeMap<(&str, String), Vec<usize>> = BTreeMap::new();
    for (at, event) in told {
        let place = namespace(event);
        let positions = known.entry((text(event, "/reason"), message(event))).or_default();
        let is_open = |one: &SharedEvent<'_>| !place.is_empty() && !one.namespaces.contains(&place);
        let open = positions
            .iter()
            .copied()
            .find(|at| all.get(*at).is_some_and(is_open));
        if let Some(one) = open.and_then(|at| all.get_mut(at)) {
            one.namespaces.insert(place);
            continue;
        }
        positions.push(all.len());
        all.push(SharedEvent {
            event,
            at: *at,
            namespaces: Some(place)
                .filter(|place| !place.is_empty())
                .into_iter()
                .collect(),
        });
    }
    all
}

impl SharedEvent<'_> {
    fn line(&self, named: usize, now: Timestamp) -> Line {
        let is_warning = text(self.event, "/type") == "Warning";
        let tone = if is_warning { Tone::Bad } else { Tone::Plain };
        let places: Vec<String> = self.namespaces.iter().cloned().collect();
        let place = match places.as_slice() {
            [] => String::new(),
            [one] => format!("{one}: "),
            more => format!(
                "{} ({}): ",
                counted(more.len(), "cluster"),
                first_sorted(more, named)
            ),
        };
        Line::of(
            Tone::Faint,
            format!("  {}", padded(&format!("{} ago", between(self.at, now)), 12)),
        )
        .and(tone, format!("{}  ", text(self.event, "/reason")))
        .and(Tone::Plain, format!("{place}{}", message(self.event)))
    }
}

fn text<'a>(value: &'a Value, pointer: &str) -> &'a str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// What the clusters of each placement are to run, have all run, and have all run well.
fn progressions(object: &Value) -> Vec<Line> {
    let mut page = Vec::new();
    let all = object
        .pointer("/status/installProgressions")
        .and_then(Value::as_array);
    for progression in all.into_iter().flatten() {
        let (namespace, name) = (text(progression, "/namespace"), text(progression, "/name"));
        page.push(Line::of(Tone::Strong, format!("placement {namespace}/{name}")));
        page.extend(undone(progression));
        let references = progression.get("configReferences").and_then(Value::as_array);
        for reference in references.into_iter().flatten() {
            let (resource, group) = (text(reference, "/resource"), text(reference, "/group"));
            page.push(Line::plain(format!("  {resource}.{group}")));
            // The same object with the same content is listed once, with all its roles.
            let mut contents: BTreeMap<String, Vec<&str>> = BTreeMap::new();
            for (field, what) in [
                ("desiredConfig", "desired"),
                ("lastAppliedConfig", "applied last"),
                ("lastKnownGoodConfig", "known good"),
            ] {
                if let Some(told) = reference.get(field).and_then(content) {
                    contents.entry(told).or_default().push(what);
                }
            }
            page.extend(contents.into_iter().map(|(told, what)| {
                Line::of(Tone::Plain, format!("    {told}"))
                    .and(Tone::Faint, format!("  {}", what.join(", ")))
            }));
        }
    }
    page
}

/// What was rolled back, and when.
fn undone(progression: &Value) -> Option<Line> {
    let conditions = progression.get("conditions").and_then(Value::as_array)?;
    let mut said = conditions
        .iter()
        .filter(|one| text(one, "/type") == terms::UNDONE && text(one, "/status") == "True");
    let said = said.next()?;
    let why = Undone::parts(text(said, "/message")).map_or("", |(_, why)| why);
    let since = text(said, "/lastTransitionTime");
    Some(Line::of(Tone::Bad, format!("  rolled back since {since}: ")).and(Tone::Plain, why))
}

fn content(config: &Value) -> Option<String> {
    let hash = text(config, "/specHash");
    if hash.is_empty() {
        return None;
    }
    let (namespace, name) = (text(config, "/namespace"), text(config, "/name"));
    let slash = if namespace.is_empty() { "" } else { "/" };
    let short: String = hash.chars().take(8).collect();
    Some(format!("{namespace}{slash}{name} {short}"))
}

/// When the clusters of an upgrade began and ended, the last first.
fn upgrade(object: &Value, width: usize, now: Timestamp) -> Vec<Line> {
    let all = object.pointer("/status/clusters").and_then(Value::as_array);
    let mut told: Vec<(Timestamp, &Value)> = all
        .into_iter()
        .flatten()
        .filter_map(|cluster| {
            let last = ["/finishedAt", "/startedAt"].map(|field| text(cluster, field).parse().ok());
            Some((last.into_iter().flatten().next()?, cluster))
        })
        .collect();
    told.sort_by_key(|(at, _)| std::cmp::Reverse(*at));
    let most = if width == WHOLE { usize::MAX } else { MOST_EVENTS };
    let each = told.into_iter().take(most).map(|(at, cluster)| {
        let began: Option<Timestamp> = text(cluster, "/startedAt").parse().ok();
        let took = match (text(cluster, "/finishedAt").is_empty(), began) {
            (false, Some(began)) => format!(" after {}", between(began, at)),
            (_, _) => String::new(),
        };
        Line::of(Tone::Faint, padded(&format!("{} ago", between(at, now)), 12))
            .and(Tone::Strong, text(cluster, "/name"))
            .and(
                Tone::Plain,
                format!("  {} {}{took}", text(cluster, "/state"), text(cluster, "/reason")),
            )
    });
    each.collect()
}

fn time(event: &Value) -> Option<Timestamp> {
    let fields = [
        "/series/lastObservedTime",
        "/eventTime",
        "/deprecatedLastTimestamp",
        "/lastTimestamp",
    ];
    fields.iter().find_map(|field| text(event, field).parse().ok())
}

fn message(event: &Value) -> String {
    [text(event, "/note"), text(event, "/message")].concat()
}

/// Returns the namespace of the object that an event is about.
fn namespace(event: &Value) -> String {
    ["/regarding/namespace", "/involvedObject/namespace"]
        .map(|field| text(event, field))
        .concat()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_several_clusters_report_is_one_line() {
        let event = |cluster: &str, second: i64, reason: &str| {
            json!({"reason": reason, "note": "done", "regarding": {"namespace": cluster},
                "eventTime": Timestamp::from_second(second).expect("a time").to_string()})
        };
        let mut events: Vec<Value> = (1..=12)
            .map(|at| event(&format!("c{at}"), at, "Installed"))
            .collect();
        // The second report of a cluster is another event.
        events.push(event("c2", 40, "Installed"));
        events.push(event("c3", 50, "Broken"));
        let now = Timestamp::from_second(60).expect("a time");
        let lines = |width| -> Vec<String> {
            let page = section("events", &events, width, now);
            page.iter().map(Line::text).collect()
        };
        let expected = [
            "events",
            "  10s ago     Broken  c3: done",
            "  20s ago     Installed  12 clusters (c1 c2 c3 and 9 more): done",
            "  58s ago     Installed  c2: done",
        ];
        assert_eq!(lines(100), expected);
        assert!(lines(WHOLE)[2].contains("c10 c11 c12"), "{:?}", lines(WHOLE));
        let own: Vec<Value> = (0..15)
            .map(|at| json!({"reason": "Ready", "eventTime": Timestamp::from_second(at).expect("a time").to_string()}))
            .collect();
        assert_eq!(section("events", &own, 100, now).len(), 12);
    }
}
