//! In every state of an add-on or of a cluster upgrade, no tool reports a better state than its conditions and its placement do.
//!
//! All combinations of facts are generated; the controllers' planner computes the conditions, and every tool prints its line
//! and its exit status. The rule is in `faults`, with a test that it finds a tool that reports a better state. A failure prints the
//! table of all rows.

mod addons;
mod upgrades;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use insight::cockpit::{HealthState, Line, Phase, Picture, Tone, list, status, summary};
use insight::offline::Hub;
use operate::doctor::{Finding, Fleet, HubFacts, Reading, Severity, examine};
use serde_json::{Value, json};
use store::{Kind, ObjectKey};

use crate::kit::world::World;
use crate::pure::kstatus::{Health, kstatus};

/// What is seen of one rollout.
#[expect(clippy::struct_excessive_bools, reason = "each fact is asserted for itself")]
#[derive(Clone, Debug)]
struct Row {
    /// What was done to the hub.
    facts: String,
    /// `Ready`, `Reconciling` and `Stalled` as they are stored.
    conditions: [Stated; 3],
    /// Whether a placement that the rollout follows does not exist.
    placement_missing: bool,
    /// Whether a cluster is not reachable.
    offline: bool,
    /// Whether a cluster failed, or its agent does not work, or its registration is not applied.
    unwell: bool,
    /// What is wrong with single clusters and conditions.
    wrong: Vec<String>,
    tools: Tools,
}

/// A condition: its status and its reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stated {
    is_true: bool,
    reason: String,
}

/// What the tools report.
#[derive(Clone, Debug)]
struct Tools {
    phase: Phase,
    health: HealthState,
    /// The exit status of `rollout status`.
    exit: u8,
    /// The line of `rollout list` and of `top`, and whether its phase is painted as good.
    line: String,
    is_painted_good: bool,
    /// The first line of `rollout status`, and the line of `rollout status --watch` and of `tidegate dev`.
    status: String,
    summary: String,
    /// Whether `why` exits with 0.
    why_is_well: bool,
    /// What `doctor` reports about placements and about what is stalled.
    doctor: [Severity; 2],
    /// The kstatus of the object.
    kstatus: Health,
}

/// Returns what is wrong with a row: a tool that reports better than the conditions or the placement do.
fn faults(row: &Row) -> Vec<String> {
    let Row {
        conditions: [ready, reconciling, stalled],
        tools,
        ..
    } = row;
    let is_green = tools.health == HealthState::Healthy;
    let has_ended_well = tools.exit == 0;
    let must_act = stalled.is_true;
    let rules = [
        (is_green && !ready.is_true, "Healthy, and Ready is not True"),
        (
            is_green && reconciling.is_true,
            "Healthy, and Reconciling is True",
        ),
        (is_green && must_act, "Healthy, and Stalled is True"),
        (is_green && row.placement_missing, "Healthy without its placement"),
        (is_green && row.offline, "Healthy with a cluster that is offline"),
        (is_green && row.unwell, "Healthy with a cluster that is not"),
        (
            tools.is_painted_good && !is_green,
            "green in the list, and not Healthy",
        ),
        (has_ended_well && must_act, "exit status 0, and Stalled is True"),
        (
            has_ended_well && reconciling.is_true,
            "exit status 0, and Reconciling is True",
        ),
        (
            must_act && row.placement_missing && tools.exit != 1,
            "a missing placement does not end with 1",
        ),
        (
            has_ended_well && row.placement_missing,
            "exit status 0 without its placement",
        ),
        (
            must_act && tools.health != HealthState::Degraded,
            "Stalled is True, and the health is not Degraded",
        ),
        (
            tools.why_is_well && must_act,
            "why ends well, and Stalled is True",
        ),
        (
            tools.doctor[0] == Severity::Ok && row.placement_missing,
            "doctor finds no fault with placements",
        ),
        (
            tools.doctor[1] == Severity::Ok && (must_act || row.placement_missing),
            "doctor finds nothing that is stalled",
        ),
        (
            (tools.kstatus == Health::Failed) != must_act,
            "kstatus and Stalled differ",
        ),
        (
            is_green && tools.kstatus != Health::Current,
            "Healthy, and kstatus waits",
        ),
        (
            !tools.line.contains(tools.health.word()),
            "the list does not show the health",
        ),
        (
            row.offline && ready.is_true && !tools.line.contains("offline"),
            "the list does not show who is offline",
        ),
        (
            row.offline && ready.is_true && !tools.summary.contains("offline"),
            "the summary does not show who is offline",
        ),
        (
            row.offline && ready.is_true && !tools.status.contains("offline"),
            "the status does not show who is offline",
        ),
        (
            has_ended_well != (tools.phase == Phase::Done),
            "the exit status is not that of the phase",
        ),
    ];
    let found = rules.into_iter().filter(|(broken, _)| *broken);
    let found = found.map(|(_, words)| words.to_owned());
    found
        .chain(row.wrong.iter().cloned())
        .map(|words| format!("{}: {words}", row.facts))
        .collect()
}

/// Returns what the tools report of a picture.
fn tools(picture: &Picture, object: &Value, fleet: Fleet, why_is_well: bool) -> Tools {
    let now = picture.at;
    let page: Vec<Line> = list(std::slice::from_ref(&picture.without_clusters()), 160, false, now);
    let row = page.last().expect("a line");
    let is_painted_good = row
        .0
        .iter()
        .any(|piece| piece.tone == Tone::Good && piece.text.trim() == picture.phase.word());
    let head = status(picture, 160, now);
    let facts = HubFacts {
        fleet,
        ..HubFacts::default()
    };
    let findings = examine(&facts).findings;
    let worst = |id: &str| {
        let own = findings.iter().filter(|one: &&Finding| one.id == id);
        own.map(|one| one.severity).max().unwrap_or(Severity::Ok)
    };
    Tools {
        phase: picture.phase,
        health: picture.health.state,
        exit: picture.phase.exit_status(),
        line: row.text().trim_end().to_owned(),
        is_painted_good,
        status: head.first().map(Line::text).unwrap_or_default(),
        summary: summary(picture, now),
        why_is_well,
        doctor: [worst("clusters/placements"), worst("addons/stalled")],
        kstatus: kstatus(object),
    }
}

fn conditions(object: &Value) -> [Stated; 3] {
    ["Ready", "Reconciling", "Stalled"].map(|kind| {
        let all = object.pointer("/status/conditions").and_then(Value::as_array);
        let mut all = all.into_iter().flatten();
        all.find(|one| one["type"] == kind)
            .map(|one| Stated {
                is_true: one["status"] == "True",
                reason: one["reason"].as_str().unwrap_or_default().to_owned(),
            })
            .unwrap_or_default()
    })
}

/// The objects of a world as a hub that tools read.
fn hub(world: &World) -> Hub {
    let mut hub = Hub::default();
    for (key, object) in &world.objects {
        assert!(hub.put(whole(key, object)).is_some(), "{key}");
    }
    for kind in Kind::ALL {
        hub.complete(kind);
    }
    hub
}

fn whole(key: &ObjectKey, object: &Value) -> Value {
    let mut object = object.clone();
    object["apiVersion"] = json!(key.kind.api_version());
    object["kind"] = json!(key.kind.address().kind);
    object
}

/// What `doctor` reads of a world.
fn fleet(world: &World) -> Fleet {
    let of = |kind: Kind| {
        let own = world.objects.iter().filter(|(key, _)| key.kind == kind);
        Reading::Seen(own.map(|(key, object)| whole(key, object)).collect())
    };
    Fleet {
        clusters: of(Kind::Cluster),
        placements: of(Kind::Placement),
        decisions: of(Kind::Decision),
        addons: of(Kind::AddOn),
        upgrades: of(Kind::Upgrade),
        instances: of(Kind::Instance),
        rollouts: of(Kind::Rollout),
        works: of(Kind::Work),
        ..Fleet::default()
    }
}

/// The rows as a page: those that look the same once, with the first facts that lead there and how many others do.
fn page(rows: &[Row]) -> String {
    let mut seen: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for row in rows {
        let of = |stated: &Stated| {
            format!(
                "{} {}",
                if stated.is_true { "True" } else { "False" },
                stated.reason
            )
        };
        let [ready, reconciling, stalled] = row.conditions.each_ref().map(of);
        let tools = &row.tools;
        let text = format!(
            "  Ready={ready}, Reconciling={reconciling}, Stalled={stalled}\n  \
             list:   {}\n  status: exit {}, why: exit {}, doctor: {} {}, kstatus: {:?}\n",
            tools.line,
            tools.exit,
            u8::from(!tools.why_is_well),
            tools.doctor[0].word(),
            tools.doctor[1].word(),
            tools.kstatus,
        );
        let entry = seen.entry(text).or_insert((0, &row.facts));
        entry.0 += 1;
    }
    let mut sorted: Vec<(String, (usize, &str))> = seen.into_iter().collect();
    sorted.sort_by_key(|(_, (count, facts))| (std::cmp::Reverse(*count), *facts));
    let mut out = String::new();
    for (text, (count, facts)) in sorted {
        let more = count.saturating_sub(1);
        let more = if more == 0 {
            String::new()
        } else {
            format!(" (and {more} more)")
        };
        writeln!(out, "{facts}{more}\n{text}").expect("a string takes text");
    }
    out
}

#[test]
fn no_tool_reports_better_than_the_conditions_and_the_placement() {
    let addons = addons::rows();
    let upgrades = upgrades::rows();
    let all: Vec<Row> = addons.iter().chain(&upgrades).cloned().collect();
    let found: Vec<String> = all.iter().flat_map(faults).collect();
    let shown: Vec<&String> = found.iter().take(20).collect();
    assert!(
        found.is_empty(),
        "{} of {} rows: {shown:#?}\n\nAdd-ons\n\n{}\nUpgrades of clusters\n\n{}",
        found.len(),
        all.len(),
        page(&addons),
        page(&upgrades)
    );
}

type Change<'a> = &'a dyn Fn(&mut Row);

/// The rule is not satisfied by every row: each tool that reports better is found.
#[test]
fn a_tool_that_reports_better_is_found() {
    let sound = addons::sound();
    assert_eq!(sound.tools.health, HealthState::Healthy);
    assert_eq!(faults(&sound), Vec::<String>::new());
    let stalled = |row: &mut Row| {
        row.conditions[0].is_true = false;
        row.conditions[2].is_true = true;
        row.tools.kstatus = Health::Failed;
    };
    let changes: [(&str, Change<'_>); 6] = [
        ("health", &|row| {
            stalled(row);
            row.tools.exit = 1;
            row.tools.phase = Phase::Failed;
        }),
        ("exit status", &|row| {
            stalled(row);
            row.tools.health = HealthState::Degraded;
        }),
        ("placement", &|row| row.placement_missing = true),
        ("offline", &|row| row.offline = true),
        ("unwell", &|row| row.unwell = true),
        ("colour", &|row| {
            row.tools.health = HealthState::Degraded;
            row.tools.line = row.tools.line.replace("Healthy", "Degraded");
        }),
    ];
    for (name, change) in changes {
        let mut row = sound.clone();
        change(&mut row);
        assert_ne!(faults(&row), Vec::<String>::new(), "{name}");
    }
}
