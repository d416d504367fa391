//! A forecast as a comment of a pull request: GitHub's and GitLab's Markdown.
//!
//! Decides layout. Whatever comes from a hub or a file is text there: no letter of it is markup, mentions a user or links
//! anywhere.

use std::fmt::Write as _;

use super::changes::Changes;
use super::changes_text::rows;
use super::course::Forecast;
use super::render::{headline, held, named, when};
use super::upgrades::{UpgradeForecast, upgrades_text};
use kubernetes::field::{Listing, counted, one_line};

/// Returns the comment: forecasts, then what changes on clusters.
pub fn markdown(
    forecasts: &[Forecast],
    same: usize,
    upgrades: &[UpgradeForecast],
    changes: &[Changes],
    listing: Listing,
) -> String {
    let mut out = String::from("### What would happen on the hub\n\n");
    for forecast in forecasts {
        one(&mut out, forecast, listing);
        if let Some(changes) = changes.iter().find(|changes| changes.addon == forecast.addon) {
            details(&mut out, changes, listing);
        }
    }
    if same > 0 {
        put(
            &mut out,
            &format!("{}: no difference.\n", counted(same, "other add-on")),
        );
    } else if forecasts.is_empty() && upgrades.is_empty() {
        put(&mut out, "Nothing: the hub has no add-on.\n");
    }
    let upgrades = upgrades_text(upgrades, listing);
    if !upgrades.is_empty() {
        put(&mut out, &fenced(&upgrades));
    }
    out
}

/// Returns text as it is, in a block that nothing in it ends.
pub fn fenced(text: &str) -> String {
    let longest = text
        .split(|letter| letter != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    let fence = "`".repeat(longest.saturating_add(1).max(3));
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

fn one(out: &mut String, forecast: &Forecast, listing: Listing) {
    put(
        out,
        &format!(
            "**{}**: {}\n",
            escaped(&forecast.addon),
            escaped(&headline(forecast))
        ),
    );
    if !forecast.waves.is_empty() {
        put(out, "| wave | when | what | clusters |\n|---:|---|---|---|");
        let mut before = None;
        for (number, wave) in (1..).zip(&forecast.waves) {
            let when = when(wave, before.replace(wave.after));
            for (word, clusters) in wave.parts() {
                let clusters = format!("{}: {}", clusters.len(), escaped(&named(clusters, listing)));
                put(out, &format!("| {number} | {when} | {word} | {clusters} |"));
            }
        }
        put(out, "");
    }
    for (word, who, why) in held(forecast, listing) {
        put(out, &format!("* {word}: {}: {}", escaped(&who), escaped(why)));
    }
    if forecast.cut {
        put(
            out,
            "* the forecast ends here: the rollout takes too long to simulate",
        );
    }
    if !forecast.held.is_empty() || forecast.cut {
        put(out, "");
    }
}

fn details(out: &mut String, changes: &Changes, listing: Listing) {
    let rows = rows(changes, listing);
    if rows.is_empty() {
        return;
    }
    let summary = format!("{} on clusters", counted(rows.len(), "change"));
    put(
        out,
        &format!(
            "<details><summary>{summary}</summary>\n\n| who | what | before | after |\n|---|---|---|---|"
        ),
    );
    for row in rows {
        let cells = [row.who, row.what, row.old, row.new].map(|cell| escaped(&cell));
        put(out, &format!("| {} |", cells.join(" | ")));
    }
    put(out, "\n</details>\n");
}

/// Letters that could be markup, a mention, a reference or a link become references to themselves, which are text to every reader.
fn escaped(text: &str) -> String {
    let mut safe = String::new();
    for letter in one_line(text).chars() {
        if letter.is_ascii_punctuation() && !"-.,/()+=%'\"; ".contains(letter) {
            let _written = write!(safe, "&#{};", u32::from(letter)).is_ok();
        } else {
            safe.push(letter);
        }
    }
    safe
}

fn put(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_of_a_hub_is_markup() {
        let evil = "a|b `c` **d** <img> @everyone #12 https://e [f](g) _h_\n* i";
        let safe = escaped(evil);
        for mark in ["|", "`", "*", "<", "@", "[", "_", "://", "\n"] {
            assert!(!safe.contains(mark), "{mark} in {safe}");
        }
        // The number sign and the ampersand stand in references alone.
        let rest = safe.replace("&#", "");
        assert!(!rest.contains('#') && !rest.contains('&'), "{safe}");
    }

    #[test]
    fn nothing_in_a_block_ends_it() {
        let text = fenced("a\n````\nb");
        assert!(
            text.starts_with("`````text\n") && text.ends_with("\n`````\n"),
            "{text}"
        );
        assert!(fenced("plain").starts_with("```text\n"));
    }
}
