//! How a forecast reads: for people and for programs.
//!
//! Decides layout; clusters that share a reason stand together.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::course::{Forecast, HeldCluster, Wave};
use kubernetes::field::{Listing, counted, natural, one_line};

/// The most clusters that are listed by name.
const MOST_NAMED: usize = 12;

/// Returns forecasts for people; `same` add-ons go on as they would anyway.
pub fn text(forecasts: &[Forecast], same: usize, listing: Listing) -> String {
    let mut out = String::new();
    for forecast in forecasts {
        one(&mut out, forecast, listing);
    }
    if forecasts.is_empty() && same == 0 {
        line(&mut out, "there is no add-on");
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
    if forecast.waves.is_empty() {
        format!("nothing would change; {clusters}")
    } else {
        let last = forecast.waves.last().map_or(0, |wave| wave.after);
        let over = if last > 0 {
            format!(", the last after {}", length(last))
        } else {
            String::new()
        };
        format!(
            "{installed} installed, {moved} moved, {removed} removed in {}{over}; {clusters} at the end",
            counted(forecast.waves.len(), "wave"),
        )
    }
}

fn one(out: &mut String, forecast: &Forecast, listing: Listing) {
    let what = headline(forecast);
    line(out, &format!("{}: {what}", forecast.addon));
    let mut before = None;
    for (number, wave) in (1..).zip(&forecast.waves) {
        let after = if before.replace(wave.after) == Some(wave.after) {
            // As soon as the agents of the wave before have answered.
            "then".to_owned()
        } else if wave.after == 0 {
            "at once".to_owned()
        } else {
            format!("after {}", length(wave.after))
        };
        for (word, clusters) in [
            ("install", &wave.installed),
            ("move", &wave.moved),
            ("remove", &wave.removed),
        ] {
            if !clusters.is_empty() {
                line(
                    out,
                    &format!(
                        "  wave {number:<3} {after:12} {word:8} {}",
                        named(clusters, listing)
                    ),
                );
            }
        }
    }
    for ((moved, why), clusters) in reasons(&forecast.held) {
        // A cluster that a wave has moved stops on its way; it is not held.
        let word = if moved { "stops" } else { "held" };
        let who = if clusters.is_empty() {
            "the add-on".to_owned()
        } else {
            named(&clusters, listing)
        };
        line(out, &format!("  {word:8} {who}: {why}"));
    }
    if forecast.cut {
        line(
            out,
            "  the forecast ends here: the hub would go on for a long time",
        );
    }
    line(out, "");
}

pub(super) fn reasons(held: &[HeldCluster]) -> BTreeMap<(bool, &str), Vec<String>> {
    let mut reasons: BTreeMap<(bool, &str), Vec<String>> = BTreeMap::new();
    for held in held {
        reasons
            .entry((held.moved, &held.why))
            .or_default()
            .extend(held.cluster.clone());
    }
    reasons
}

pub(super) fn named(clusters: &[String], listing: Listing) -> String {
    let most = listing.most(MOST_NAMED);
    let mut named: Vec<&str> = clusters.iter().map(String::as_str).collect();
    named.sort_by(|one, other| natural(one, other));
    named.truncate(most);
    let more = clusters.len().saturating_sub(most);
    let more = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    format!("{}{more}", named.join(" "))
}

pub(super) fn length(seconds: i64) -> String {
    let (hours, minutes, rest) = (seconds / 3600, seconds % 3600 / 60, seconds % 60);
    let parts = [(hours, "h"), (minutes, "m"), (rest, "s")];
    let shown = parts.iter().filter(|(count, _)| *count > 0);
    let shown: Vec<String> = shown.map(|(count, unit)| format!("{count}{unit}")).collect();
    shown.concat()
}

pub(super) fn line(out: &mut String, text: &str) {
    writeln!(out, "{}", one_line(text).trim_end()).expect("writing to a string cannot fail");
}

/// Returns forecasts for programs.
pub fn json(forecasts: &[Forecast], same: usize) -> Value {
    let each = forecasts.iter().map(|forecast| {
        let waves = forecast.waves.iter().map(|wave| {
            json!({"afterSeconds": wave.after, "installed": wave.installed, "moved": wave.moved,
                "removed": wave.removed})
        });
        let held = forecast
            .held
            .iter()
            .map(|held| json!({"cluster": held.cluster, "moved": held.moved, "why": held.why}));
        json!({
            "addon": forecast.addon,
            "clusters": forecast.clusters,
            "waves": waves.collect::<Vec<_>>(),
            "held": held.collect::<Vec<_>>(),
            "cut": forecast.cut,
        })
    });
    json!({"addons": each.collect::<Vec<_>>(), "withoutDifference": same})
}
