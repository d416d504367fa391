//! How a forecast reads: for people and for programs.
//!
//! Decides layout; clusters that share a reason stand together.

use std::collections::BTreeMap;

use api::output::OutputDocument;
use schemars::JsonSchema;
use serde::Serialize;

use super::changes_text::AddOnChanges;
use super::course::{Forecast, Wave};
use super::upgrades::PlannedUpgrade;
use crate::layout::{first_sorted, line};
use kubernetes::field::{Listing, counted};

/// The most clusters that are listed by name.
const MOST_NAMED: usize = 12;

/// Returns forecasts for people; `same` add-ons have no difference.
pub fn text(forecasts: &[Forecast], same: usize, listing: Listing) -> String {
    let mut out = String::new();
    for forecast in forecasts {
        one(&mut out, forecast, listing);
    }
    if forecasts.is_empty() && same == 0 {
        line(&mut out, "the hub has no add-on");
    } else if same > 0 {
        let others = counted(same, "add-on");
        line(&mut out, &format!("{others}: no difference"));
    }
    out
}

/// What changes in all, and when the last of it begins.
pub(super) fn headline(forecast: &Forecast) -> String {
    let sum =
        |part: fn(&Wave) -> &Vec<String>| forecast.waves.iter().map(|wave| part(wave).len()).sum::<usize>();
    let (installed, moved, removed) = (
        sum(|wave| &wave.installed),
        sum(|wave| &wave.moved),
        sum(|wave| &wave.removed),
    );
    let clusters = counted(forecast.clusters, "cluster");
    let (counted_as_moved, _) = forecast.moved();
    let blocked = match forecast.blocked() {
        0 => String::new(),
        blocked if counted_as_moved > moved.saturating_add(removed) => {
            format!("; {blocked} blocked (--max-moved counts {counted_as_moved})")
        }
        blocked => format!("; {blocked} blocked"),
    };
    if forecast.waves.is_empty() {
        format!("nothing would change{blocked}; {clusters}")
    } else {
        let last = forecast.waves.last().filter(|wave| wave.after > 0);
        let over = last.map_or_else(String::new, |wave| format!(", the last {}", begins(wave)));
        format!(
            "{installed} installed, {moved} updated, {removed} removed in {}{over}{blocked}; {clusters} at the end",
            counted(forecast.waves.len(), "wave"),
        )
    }
}

fn one(out: &mut String, forecast: &Forecast, listing: Listing) {
    let what = headline(forecast);
    line(out, &format!("{}: {what}", forecast.addon));
    let mut before = None;
    for (number, wave) in (1..).zip(&forecast.waves) {
        let after = when(wave, before.replace(wave.after));
        for (word, clusters) in wave.parts() {
            let clusters = named(clusters, listing);
            line(out, &format!("  wave {number:<3} {after:12} {word:8} {clusters}"));
        }
    }
    for (word, who, why) in held(forecast, listing) {
        line(out, &format!("  {word:8} {who}: {why}"));
    }
    if forecast.cut {
        line(
            out,
            "  the forecast ends here: the rollout takes too long to simulate",
        );
    }
    line(out, "");
}

/// What is not updated, blocked or started without completing: the clusters, or the add-on; and why.
pub(super) fn held(forecast: &Forecast, listing: Listing) -> Vec<(&'static str, String, &str)> {
    let mut reasons: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
    for held in &forecast.held {
        let clusters = reasons.entry((held.moved, &held.why)).or_default();
        clusters.extend(held.cluster.clone());
    }
    let each = reasons.into_iter().map(|((moved, why), clusters)| {
        // The update of a cluster in a wave does not complete; it is not blocked.
        let word = if moved { "stops" } else { "blocked" };
        let who = if clusters.is_empty() {
            "the add-on".to_owned()
        } else {
            named(&clusters, listing)
        };
        (word, who, why)
    });
    each.collect()
}

/// When a wave begins; one at the time of the wave before begins as soon as the agents of that one have answered.
pub(super) fn when(wave: &Wave, before: Option<i64>) -> String {
    if before == Some(wave.after) {
        "then".to_owned()
    } else if wave.after == 0 {
        "at once".to_owned()
    } else {
        begins(wave)
    }
}

/// How long a wave waits; with the time if that is more than a day.
fn begins(wave: &Wave) -> String {
    let after = format!("after {}", length(wave.after));
    if wave.after < 86_400 {
        return after;
    }
    format!("{after} ({})", wave.at.strftime("%Y-%m-%d %H:%M:%SZ"))
}

pub(super) fn named(clusters: &[String], listing: Listing) -> String {
    first_sorted(clusters, listing.most(MOST_NAMED))
}

pub(super) fn length(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    let parts = [(hours, "h"), (minutes, "m"), (rest, "s")];
    let shown = parts.iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown.map(|(count, unit)| format!("{count}{unit}")).collect();
    shown.concat()
}

/// What would happen on a hub.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ChangePlan<'a> {
    /// The add-ons for which something would happen, or would be different because of the change.
    pub addons: &'a [Forecast],
    /// Number of add-ons that the change does not affect.
    pub without_difference: usize,
    /// Upgrades of clusters.
    pub upgrades: Vec<PlannedUpgrade<'a>>,
    /// Changes on clusters, with `--diff`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changes: Option<Vec<AddOnChanges<'a>>>,
}

impl OutputDocument for ChangePlan<'_> {
    const KIND: &'static str = "ChangePlan";
}
