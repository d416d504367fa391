//! Forecast of upgrades of clusters: the waves, and the end.
//!
//! The planner of the controllers simulates the course. A duration that was not observed is shown as an assumption.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::Serialize;

use super::render::{length, named};
use crate::layout::line;
use crate::offline::Hub;
use kubernetes::field::{Listing, counted};
use plan::upgrade::Course;
use store::{Name, Settings};

/// What would happen to one upgrade.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UpgradeForecast {
    /// Its namespace and name.
    pub upgrade: String,
    /// Its course.
    pub course: Course,
}

impl UpgradeForecast {
    /// Returns how many clusters start.
    pub fn starts(&self) -> usize {
        self.course.waves.iter().map(|wave| wave.clusters.len()).sum()
    }
}

/// Returns what would happen to every upgrade of a hub that is not being deleted, sorted by namespace and name.
pub fn upgrades(hub: &Hub, settings: Settings, now: Timestamp) -> Vec<UpgradeForecast> {
    let store = hub.store(settings);
    let each = store.upgrades().filter_map(|owner| {
        let view = store.upgrade_view(&owner)?;
        (!view.upgrade.deleting).then(|| UpgradeForecast {
            upgrade: format!("{}/{}", owner.namespace, owner.name),
            course: plan::upgrade::forecast(&view, now),
        })
    });
    each.collect()
}

fn seconds(duration: std::time::Duration) -> i64 {
    i64::try_from(duration.as_secs()).unwrap_or(i64::MAX)
}

fn texts(names: &[Name]) -> Vec<String> {
    names.iter().map(ToString::to_string).collect()
}

/// Returns forecasts of upgrades for people.
pub fn upgrades_text(forecasts: &[UpgradeForecast], listing: Listing) -> String {
    let mut out = String::new();
    for forecast in forecasts {
        one(&mut out, forecast, listing);
    }
    out
}

fn one(out: &mut String, forecast: &UpgradeForecast, listing: Listing) {
    let course = &forecast.course;
    let started: usize = course.waves.iter().map(|wave| wave.clusters.len()).sum();
    let waves = counted(course.waves.len(), "wave");
    let upgrade = &forecast.upgrade;
    let phase = if course.stalled.is_empty() {
        format!("; {} at the end", course.phase)
    } else {
        String::new()
    };
    line(
        out,
        &format!("ManagedClustersUpgrade {upgrade}: {started} start in {waves}{phase}"),
    );
    for (number, wave) in (1..).zip(&course.waves) {
        let after = match seconds(wave.after) {
            0 => "at once".to_owned(),
            after => format!("after {}", length(after)),
        };
        let stage = match wave.stage.as_str() {
            "" => String::new(),
            stage => format!("stage {stage}: "),
        };
        line(
            out,
            &format!(
                "  wave {number:<3} {after:12} upgrade  {stage}{}",
                named(&texts(&wave.clusters), listing)
            ),
        );
    }
    for ((reason, message), clusters) in &course.held {
        line(
            out,
            &format!(
                "  blocked  {}: {reason}: {message}",
                named(&texts(clusters), listing)
            ),
        );
    }
    for (hold, clusters) in &course.waiting {
        line(
            out,
            &format!(
                "  waiting  {}: {}",
                named(&texts(clusters), listing),
                hold.sentence()
            ),
        );
    }
    line(out, &format!("  {}", end(course, listing)));
    line(out, "");
}

fn end(course: &Course, listing: Listing) -> String {
    let each = length(seconds(course.basis.each));
    let basis = match course.basis.observed {
        0 => format!("no cluster upgrade has completed yet; each is assumed to take {each}"),
        1 => format!("one cluster of this upgrade took {each}"),
        count => format!("{count} clusters of this upgrade took {each} on average"),
    };
    if !course.stalled.is_empty() {
        let verb = if course.stalled.len() == 1 {
            "requires"
        } else {
            "require"
        };
        let clusters = named(&texts(&course.stalled), listing);
        return format!("the end is not known: {clusters} {verb} an administrator");
    }
    // It can take any time until what holds them changes.
    let waiting: usize = course.waiting.values().map(Vec::len).sum();
    if waiting > 0 {
        let verb = if waiting == 1 { "is" } else { "are" };
        return format!(
            "the end is not known: {} {verb} waiting",
            kubernetes::field::counted(waiting, "cluster")
        );
    }
    match course.ends_after.map(seconds) {
        None => format!("the forecast ends here: there are more waves than are shown ({basis})"),
        Some(0) => "no cluster is left to upgrade".to_owned(),
        Some(after) => format!("ETA after {} ({basis})", length(after)),
    }
}

/// Forecast of an upgrade, for programs.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PlannedUpgrade<'a> {
    /// The ManagedClustersUpgrade, as `namespace/name`.
    pub upgrade: &'a str,
    /// The waves.
    pub waves: Vec<UpgradeWave<'a>>,
    /// Clusters that do not start.
    pub held: Vec<HeldUpgrades<'a>>,
    /// Clusters that wait for something else than their turn.
    pub waits: Vec<WaitingUpgrades>,
    /// The phase.
    pub phase: &'a str,
    /// Clusters that need an administrator.
    pub stalled: Vec<String>,
    /// Seconds until the end, if it is known.
    pub ends_after_seconds: Option<i64>,
    /// What the times are based on.
    pub basis: UpgradeBasis,
}

/// Clusters that start at one time.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeWave<'a> {
    /// Seconds after the start.
    pub after_seconds: i64,
    /// The clusters.
    pub clusters: Vec<String>,
    /// The stage; absent for an upgrade without stages.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub stage: &'a str,
}

/// Clusters that do not start for one reason.
#[derive(Debug, Serialize, JsonSchema)]
pub struct HeldUpgrades<'a> {
    /// The reason.
    pub reason: &'a str,
    /// Its message.
    pub message: &'a str,
    /// The clusters.
    pub clusters: Vec<String>,
}

/// Clusters that wait for the same.
#[derive(Debug, Serialize, JsonSchema)]
pub struct WaitingUpgrades {
    /// What they wait for.
    pub why: String,
    /// The clusters.
    pub clusters: Vec<String>,
}

/// What the times of a forecast are based on.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeBasis {
    /// Number of clusters whose upgrades were observed.
    pub observed_clusters: usize,
    /// Seconds that one cluster takes.
    pub seconds_each: i64,
}

/// Returns forecasts of upgrades for programs.
pub fn planned_upgrades(forecasts: &[UpgradeForecast]) -> Vec<PlannedUpgrade<'_>> {
    let each = forecasts.iter().map(|forecast| {
        let course = &forecast.course;
        let waves = course.waves.iter().map(|wave| UpgradeWave {
            after_seconds: seconds(wave.after),
            clusters: texts(&wave.clusters),
            stage: &wave.stage,
        });
        let held = course
            .held
            .iter()
            .map(|((reason, message), clusters)| HeldUpgrades {
                reason,
                message,
                clusters: texts(clusters),
            });
        let waits = course.waiting.iter().map(|(hold, clusters)| WaitingUpgrades {
            why: hold.sentence().into_owned(),
            clusters: texts(clusters),
        });
        PlannedUpgrade {
            upgrade: &forecast.upgrade,
            waves: waves.collect(),
            held: held.collect(),
            waits: waits.collect(),
            phase: &course.phase,
            stalled: texts(&course.stalled),
            ends_after_seconds: course.ends_after.map(seconds),
            basis: UpgradeBasis {
                observed_clusters: course.basis.observed,
                seconds_each: seconds(course.basis.each),
            },
        }
    });
    each.collect()
}
