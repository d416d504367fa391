//! All rollouts of a hub as a table.
//!
//! Decides columns and their widths.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::approval::AskedApproval;
use super::cluster::{ClusterState, ClusterView};
use super::health::HealthState;
use super::line::{Line, Tone, WHOLE, between, padded};
use super::picture::{Phase, Picture};
use super::summary::{others, unwell, waits_for, wave_of};
use super::text::{bar, cluster_tone, tone};

/// The widest name.
const WIDEST: usize = 40;

/// Returns a table of rollouts, with a line of titles, no line of it wider than `width`; the wide one also shows what each waits for.
pub fn list(pictures: &[Picture], width: usize, is_wide: bool, now: Timestamp) -> Vec<Line> {
    let names = pictures
        .iter()
        .map(|picture| picture.target.told().chars().count());
    let widest = if width == WHOLE { usize::MAX } else { WIDEST };
    let name_width = names.max().unwrap_or_default().clamp(7, widest);
    let title = format!(
        "{}  {}  {}  {}  {}  {}",
        padded("ROLLOUT", name_width),
        padded("PHASE", 11),
        padded("HEALTH", 11),
        padded("WAVE", 7),
        padded("DONE", 11),
        "OTHERS"
    );
    let rows = pictures.iter().map(|picture| row(picture, name_width, now));
    let mut page: Vec<Line> = std::iter::once(Line::of(Tone::Faint, title))
        .chain(rows)
        .collect();
    if is_wide {
        let widest = page.iter().map(Line::width).max().unwrap_or_default();
        let details = pictures.iter().map(detail);
        let details = std::iter::once(Some("MESSAGE".to_owned())).chain(details);
        for (line, detail) in page.iter_mut().zip(details) {
            let Some(detail) = detail else { continue };
            let gap = " ".repeat(widest.saturating_sub(line.width()).saturating_add(2));
            *line = std::mem::take(line).and(Tone::Faint, format!("{gap}{detail}"));
        }
    }
    page.into_iter().map(|line| line.cut(width)).collect()
}

/// Returns the same for a narrow page: columns as wide as they need, with a bar in place of the wave.
pub fn compact_list(pictures: &[Picture], width: usize, now: Timestamp) -> Vec<Line> {
    const BAR: usize = 10;
    let widest = |text: &dyn Fn(&Picture) -> String, least: usize| {
        let widths = pictures.iter().map(|picture| text(picture).chars().count());
        widths.max().unwrap_or_default().max(least)
    };
    let done = |picture: &Picture| format!("{}/{}", picture.counts.done, picture.counts.total);
    let name_width = widest(&|picture| picture.target.told(), 7).min(WIDEST);
    let phase_width = widest(&|picture| picture.phase.word().to_owned(), 5);
    let health_width = widest(&|picture| picture.health.state.word().to_owned(), 6);
    let done_width = widest(&done, 4);
    let title = format!(
        "{}  {}  {}  {}  OTHERS",
        padded("ROLLOUT", name_width),
        padded("PHASE", phase_width),
        padded("HEALTH", health_width),
        padded("DONE", BAR.saturating_add(done_width).saturating_add(1)),
    );
    let rows = pictures.iter().map(|picture| {
        let line = Line::of(Tone::Strong, padded(&picture.target.told(), name_width))
            .and(Tone::Plain, "  ")
            .and(tone(picture), padded(picture.phase.word(), phase_width))
            .and(Tone::Plain, "  ")
            .and(
                picture.health.state.tone(),
                padded(picture.health.state.word(), health_width),
            )
            .and(Tone::Plain, "  ");
        let line = bar(line, &picture.counts, BAR);
        let next = picture.next.as_ref().filter(|next| next.at > now);
        let next = next.map_or_else(String::new, |next| {
            format!(" (next in {})", between(now, next.at))
        });
        line.and(
            Tone::Plain,
            format!(
                " {}  {}{next}",
                padded(&done(picture), done_width),
                not_done(picture)
            ),
        )
    });
    std::iter::once(Line::of(Tone::Faint, title))
        .chain(rows)
        .map(|line| line.cut(width))
        .collect()
}

/// Returns the numbers of clusters that are not done or not well, and what the rollout as a whole waits for.
fn not_done(picture: &Picture) -> String {
    let reason = waits_for(picture).map(|(reason, _)| reason.to_owned());
    let all = others(&picture.counts)
        .chain(unwell(&picture.counts, &picture.health))
        .chain(reason);
    all.collect::<Vec<_>>().join(", ")
}

/// Returns what a rollout waits for, or what is wrong with it.
fn detail(picture: &Picture) -> Option<String> {
    let approvals = picture.approvals.iter().map(AskedApproval::told);
    let approvals: Vec<String> = approvals.collect();
    let is_unwell = picture.health.state == HealthState::Degraded;
    let health = Some(&picture.health.message).filter(|text| is_unwell && !text.is_empty());
    picture
        .paused
        .clone()
        .or_else(|| (!approvals.is_empty()).then(|| approvals.join("; ")))
        .or_else(|| picture.notices.first().cloned())
        .or_else(|| waits_for(picture).map(|(_, message)| message.to_owned()))
        .or_else(|| health.cloned())
        .or_else(|| (picture.phase == Phase::Waiting).then(|| waiting(picture).to_owned()))
}

/// Returns what most of the waiting clusters wait for; the condition of the rollout where the picture is without its clusters.
fn waiting(picture: &Picture) -> &str {
    let mut messages: BTreeMap<&str, usize> = BTreeMap::new();
    for cluster in &picture.clusters {
        if matches!(cluster.state, ClusterState::Waiting | ClusterState::Held) {
            let count = messages.entry(&cluster.message).or_default();
            *count = count.saturating_add(1);
        }
    }
    let most = messages.into_iter().max_by_key(|(_, count)| *count);
    most.map_or(&*picture.health.message, |(message, _)| message)
}

fn row(picture: &Picture, name_width: usize, now: Timestamp) -> Line {
    let wave =
        wave_of(picture).map_or_else(|| "-".to_owned(), |(current, total)| format!("{current}/{total}"));
    let done = format!("{}/{}", picture.counts.done, picture.counts.total);
    let line = Line::of(Tone::Strong, padded(&picture.target.told(), name_width))
        .and(Tone::Plain, "  ")
        .and(tone(picture), padded(picture.phase.word(), 11))
        .and(Tone::Plain, "  ")
        .and(
            picture.health.state.tone(),
            padded(picture.health.state.word(), 11),
        )
        .and(
            Tone::Plain,
            format!("  {}  {}  ", padded(&wave, 7), padded(&done, 11)),
        )
        .and(Tone::Plain, not_done(picture));
    let next = picture.next.as_ref().filter(|next| next.at > now);
    match next {
        Some(next) => line.and(Tone::Faint, format!(" (next in {})", between(now, next.at))),
        None => line,
    }
}

/// Returns a table of some clusters of a rollout, with a line of titles.
pub fn rows(picture: &Picture, clusters: &[&ClusterView], width: usize, now: Timestamp) -> Vec<Line> {
    let names = picture
        .clusters
        .iter()
        .map(|cluster| cluster.name.chars().count());
    let widest = if width == WHOLE { usize::MAX } else { WIDEST };
    let name_width = names.max().unwrap_or_default().clamp(7, widest);
    let title = format!(
        "{}  {}  {}  {}  {}",
        padded("CLUSTER", name_width),
        padded("STATE", 10),
        padded("FOR", 7),
        padded("ENDS IN", 7),
        "WHY"
    );
    let each = clusters.iter().map(|cluster| {
        let age = |at: Option<Timestamp>, from: bool| match at {
            None => "-".to_owned(),
            Some(at) if from => between(at, now),
            Some(at) => between(now, at),
        };
        let until = cluster.until.filter(|until| *until > now);
        let ends = until.filter(|_| cluster.state == ClusterState::Soaking);
        let deadline = until.filter(|_| ends.is_none());
        let deadline = deadline.map(|until| format!("deadline in {}", between(now, until)));
        let why = match (cluster.message.is_empty(), cluster.percent) {
            (true, Some(percent)) => format!("{percent} %"),
            (true, None) => cluster.reason.clone(),
            (false, _) => cluster.message.clone(),
        };
        let why = [Some(why).filter(|why| !why.is_empty()), deadline];
        let why = why.into_iter().flatten().collect::<Vec<_>>().join(", ");
        Line::of(Tone::Plain, padded(&cluster.name, name_width))
            .and(Tone::Plain, "  ")
            .and(cluster_tone(cluster), padded(cluster.state.told(), 10))
            .and(
                Tone::Plain,
                format!(
                    "  {}  {}  {why}",
                    padded(&age(cluster.since, true), 7),
                    padded(&age(ends, false), 7)
                ),
            )
    });
    std::iter::once(Line::of(Tone::Faint, title))
        .chain(each)
        .map(|line| line.cut(width))
        .collect()
}
