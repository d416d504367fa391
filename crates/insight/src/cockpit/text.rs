//! The picture of a rollout as a page: a line a wave with a bar, and below it its clusters, folded by what they do.
//!
//! Decides layout only; every number is the picture's. Stays short whatever the number of clusters is, and never wider than it may be.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::approval::AskedApproval;
use super::cluster::{ClusterState, ClusterView, Counts};
use super::health::{HealthState, is_done_unwell};
use super::line::{Line, Tone, WHOLE, between, length, padded};
use super::picture::{Change, Content, Phase, Picture, TargetKind};
use super::summary::{others, unwell, waits_for, wave_of};
use super::wave::{Wave, WaveState};

/// The most reasons of one kind of a wave.
const MOST_REASONS: usize = 4;
/// Letters of a bar.
const BAR: usize = 20;
/// So many clusters are named on a narrow page.
const FEWEST_NAMED: usize = 3;
/// The widest name of a wave.
const WIDEST_NAME: usize = 24;

/// Returns the tone of a whole rollout: what is done is good only where it is healthy.
pub(super) const fn tone(picture: &Picture) -> Tone {
    match picture.phase {
        Phase::Done if matches!(picture.health.state, HealthState::Healthy) => Tone::Good,
        Phase::Progressing => Tone::Moving,
        Phase::Done | Phase::Waiting | Phase::Paused | Phase::Unapproved | Phase::Deleting => Tone::Soaking,
        Phase::Stopped | Phase::Failed => Tone::Bad,
        Phase::Empty | Phase::NotManaged => Tone::Faint,
    }
}

/// Returns the tone of a cluster.
pub(super) fn cluster_tone(cluster: &ClusterView) -> Tone {
    if is_done_unwell(cluster) {
        return Tone::Bad;
    }
    tone_of(cluster.state)
}

const fn tone_of(state: ClusterState) -> Tone {
    match state {
        ClusterState::Failed | ClusterState::TimedOut | ClusterState::Stalled => Tone::Bad,
        ClusterState::Moving => Tone::Moving,
        ClusterState::Finishing | ClusterState::Soaking | ClusterState::Leaving => Tone::Soaking,
        ClusterState::Held | ClusterState::Waiting => Tone::Faint,
        ClusterState::Kept | ClusterState::Done => Tone::Good,
    }
}

/// Returns the page of a rollout, no line of it wider than `width`; [`WHOLE`] leaves nothing out.
pub fn status(picture: &Picture, width: usize, now: Timestamp) -> Vec<Line> {
    let mut page = head(picture, width, now);
    let mut before = None;
    for (at, wave) in picture.waves.iter().enumerate() {
        if before != Some(&wave.placement) {
            let title = if wave.placement.is_empty() {
                String::new()
            } else {
                format!("placement {}", wave.placement)
            };
            page.extend((!title.is_empty()).then(|| Line::of(Tone::Strong, title)));
            before = Some(&wave.placement);
        }
        let next = picture.waves.get(at.saturating_add(1));
        let is_last = next.is_none_or(|next| next.placement != wave.placement);
        put_wave(&mut page, picture, at, wave, is_last, width, now);
    }
    if picture.waves.is_empty() {
        let own: Vec<&ClusterView> = picture.clusters.iter().collect();
        put_clusters(&mut page, picture, &own, "", width, now);
    }
    page.into_iter().map(|line| line.cut(width)).collect()
}

/// Returns the first line of a rollout.
pub fn status_line(picture: &Picture, now: Timestamp) -> Line {
    let mut line = Line::of(Tone::Strong, picture.target.told())
        .and(Tone::Plain, "  ")
        .and(tone(picture), picture.phase.word().to_uppercase());
    if let Some((current, total)) = wave_of(picture).filter(|(_, total)| *total > 1) {
        line = line.and(Tone::Plain, format!("  wave {current}/{total}"));
    }
    if picture.counts.total == 0 {
        return line.and(Tone::Plain, format!("  {}", picture.message));
    }
    line = line.and(
        Tone::Plain,
        format!("  {} of {} done", picture.counts.done, picture.counts.total),
    );
    for part in others(&picture.counts) {
        line = line.and(Tone::Plain, format!(" · {part}"));
    }
    for part in unwell(&picture.counts, &picture.health) {
        line = line.and(Tone::Bad, format!(" · {part}"));
    }
    let next = picture.next.as_ref().filter(|next| next.at > now);
    match next {
        Some(next) => line.and(Tone::Faint, format!("  next in {}", between(now, next.at))),
        None => line,
    }
}

fn head(picture: &Picture, width: usize, now: Timestamp) -> Vec<Line> {
    let mut rows = vec![("health", picture.health.state.tone(), picture.health.told())];
    let changes = picture.changes.iter().map(changed);
    rows.extend(changes.map(|text| ("change", Tone::Plain, text)));
    rows.extend(
        picture
            .paused
            .iter()
            .map(|why| ("paused", Tone::Soaking, why.clone())),
    );
    let asked = picture.approvals.iter().map(AskedApproval::told);
    rows.extend(asked.map(|asked| ("approve", Tone::Soaking, asked)));
    rows.extend(
        waits_for(picture)
            .map(|(reason, message)| ("waiting", Tone::Soaking, format!("{reason}: {message}"))),
    );
    let next = picture.next.as_ref().filter(|next| next.at > now);
    rows.extend(next.map(|next| {
        let text = format!("in {}: {}", between(now, next.at), next.what);
        ("next", Tone::Plain, text)
    }));
    rows.extend(picture.eta.as_ref().map(|eta| {
        let about = if eta.at_least { "in at least" } else { "in about" };
        let text = format!("{about} {} ({})", between(now, eta.at), eta.basis);
        ("ETA", Tone::Plain, text)
    }));
    let unknown = picture.eta_unknown.iter();
    rows.extend(unknown.map(|why| ("ETA", Tone::Soaking, format!("unknown: {why}"))));
    rows.extend(
        picture
            .notices
            .iter()
            .map(|notice| ("notice", Tone::Bad, notice.clone())),
    );
    let mut page = vec![status_line(picture, now)];
    for (name, tone, text) in rows {
        for (at, text) in folded(&text, width.saturating_sub(10)).into_iter().enumerate() {
            let name = if at == 0 { name } else { "" };
            page.push(Line::of(Tone::Faint, format!("  {}", padded(name, 8))).and(tone, text));
        }
    }
    page
}

/// Breaks a sentence into lines.
fn folded(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(last) = lines.last_mut() else { break };
        let wide = last.chars().count().saturating_add(word.chars().count());
        if last.is_empty() {
            last.push_str(word);
        } else if wide < width.max(20) {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

fn changed(change: &Change) -> String {
    let (from, to) = (change.from.as_ref(), &change.to);
    let what = called(&change.what);
    let object = &to.object;
    let space = if object.is_empty() { "" } else { " " };
    let Some(from) = from else {
        return format!("{what}{space}{object} {}", content(to, None));
    };
    if from.object == to.object {
        return format!(
            "{what} {object}: {} -> {}",
            content(from, Some(to)),
            content(to, Some(from))
        );
    }
    format!(
        "{what} {} {} -> {object} {}",
        from.object,
        content(from, Some(to)),
        content(to, Some(from))
    )
}

/// A type of configuration by its kind, where that is known, else by its resource.
pub(super) fn called(what: &str) -> &str {
    let resource = what.split_once('.').map_or(what, |(resource, _)| resource);
    match resource {
        "addondeploymentconfigs" => "AddOnDeploymentConfig",
        "addontemplates" => "AddOnTemplate",
        "addonhubconfigs" => "AddOnHubConfig",
        other => other,
    }
}

/// The version where that tells two contents apart, else the beginning of the hash.
fn content(one: &Content, other: Option<&Content>) -> String {
    let is_telling = other.is_none_or(|other| other.version != one.version);
    if !one.version.is_empty() && is_telling {
        return one.version.clone();
    }
    let hash: String = one.hash.chars().take(8).collect();
    if hash.is_empty() {
        "unknown".to_owned()
    } else {
        hash
    }
}

fn put_wave(
    page: &mut Vec<Line>,
    picture: &Picture,
    at: usize,
    wave: &Wave,
    is_last: bool,
    width: usize,
    now: Timestamp,
) {
    let names = picture.waves.iter().map(|wave| wave.name.chars().count());
    let widest = if width == WHOLE { usize::MAX } else { WIDEST_NAME };
    let name_width = names.max().unwrap_or_default().min(widest);
    let (branch, trunk) = if is_last {
        ("└─ ", "   ")
    } else {
        ("├─ ", "│  ")
    };
    let total = wave.counts.total;
    let mut line = Line::of(Tone::Faint, branch).and(Tone::Strong, padded(&wave.name, name_width));
    line = line.and(Tone::Plain, " ");
    line = bar(line, &wave.counts, if width < 70 { BAR / 2 } else { BAR });
    line = line.and(Tone::Plain, format!(" {}/{total}", wave.counts.done));
    let failures = wave.failures;
    if failures > 0 {
        let may = wave
            .tolerated
            .map_or_else(String::new, |tolerated| format!(" (maxFailures {tolerated})"));
        line = line.and(Tone::Bad, format!(" · {failures} failed{may}"));
    }
    for fact in facts(wave, now) {
        line = line.and(Tone::Faint, format!(" · {fact}"));
    }
    page.push(line);
    let own: Vec<&ClusterView> = picture
        .clusters
        .iter()
        .filter(|cluster| cluster.wave == at)
        .collect();
    put_clusters(page, picture, &own, trunk, width, now);
}

/// What holds for a whole wave, the most important first: a narrow page cuts the end.
fn facts(wave: &Wave, now: Timestamp) -> Vec<String> {
    let mut facts = Vec::new();
    match wave.state {
        WaveState::Waiting => facts.push("waiting".to_owned()),
        WaveState::Stopped => facts.push("stopped".to_owned()),
        WaveState::Paused => facts.push("paused".to_owned()),
        WaveState::Unapproved | WaveState::Done | WaveState::Open => {}
    }
    facts.extend(wave.eta.map(|eta| {
        let bound = if eta.at_least { "≥ " } else { "" };
        format!("ETA {bound}{}", between(now, eta.at))
    }));
    if let Some(batches) = wave.batches {
        facts.push(format!("batch {} of {}", batches.current, batches.total));
    }
    if wave.mandatory {
        facts.push("mandatory".to_owned());
    }
    facts.extend(wave.approval.map(|approval| approval.told().to_owned()));
    facts.extend(wave.limit.map(|limit| format!("{limit} at once")));
    let seconds = |seconds: u64| length(i64::try_from(seconds).unwrap_or(i64::MAX));
    if wave.soak_seconds > 0 {
        facts.push(format!("soak {}", seconds(wave.soak_seconds)));
    }
    facts.extend(
        wave.deadline_seconds
            .map(|deadline| format!("deadline {}", seconds(deadline))),
    );
    if wave.state == WaveState::Waiting && !wave.waits_for.is_empty() {
        facts.push(format!("waits for {}", wave.waits_for));
    }
    facts
}

pub(super) fn bar(line: Line, counts: &Counts, width: usize) -> Line {
    let total = counts.total.max(1);
    let parts = [
        (counts.done, Tone::Good, "█"),
        (
            counts.finishing.saturating_add(counts.soaking),
            Tone::Soaking,
            "▓",
        ),
        (counts.moving, Tone::Moving, "▒"),
        (counts.failures(), Tone::Bad, "×"),
    ];
    let (mut line, mut passed, mut drawn) = (line, 0usize, 0usize);
    for (count, tone, sign) in parts {
        if count == 0 {
            continue;
        }
        passed = passed.saturating_add(count);
        let end = passed
            .saturating_mul(width)
            .checked_div(total)
            .unwrap_or_default();
        // Each part with clusters in it is seen, however few they are.
        let end = end.max(drawn.saturating_add(1)).min(width);
        line = line.and(tone, sign.repeat(end.saturating_sub(drawn)));
        drawn = end.max(drawn);
    }
    line.and(Tone::Faint, "░".repeat(width.saturating_sub(drawn)))
}

/// Clusters that do the same for the same reason stand together.
fn put_clusters(
    page: &mut Vec<Line>,
    picture: &Picture,
    own: &[&ClusterView],
    trunk: &str,
    width: usize,
    now: Timestamp,
) {
    let mut states: BTreeMap<ClusterState, Vec<&ClusterView>> = BTreeMap::new();
    for cluster in own {
        states.entry(cluster.state).or_default().push(cluster);
    }
    for (state, clusters) in states {
        let is_shared = |cluster: &ClusterView| match state {
            // Without a reason, and in an upgrade, the message is about progress.
            ClusterState::Moving => {
                picture.target.kind == TargetKind::ClusterManagementAddOn && !cluster.reason.is_empty()
            }
            ClusterState::Finishing | ClusterState::Soaking | ClusterState::Done => false,
            ClusterState::Failed
            | ClusterState::TimedOut
            | ClusterState::Stalled
            | ClusterState::Held
            | ClusterState::Waiting
            | ClusterState::Leaving
            | ClusterState::Kept => true,
        };
        let mut reasons: BTreeMap<&str, Vec<&ClusterView>> = BTreeMap::new();
        for cluster in clusters {
            let message = match cluster.message.as_str() {
                "" if is_done_unwell(cluster) => cluster.reason.as_str(),
                message if is_shared(cluster) || is_done_unwell(cluster) => message,
                _ => "",
            };
            reasons.entry(message).or_default().push(cluster);
        }
        let mut reasons: Vec<(&str, Vec<&ClusterView>)> = reasons.into_iter().collect();
        reasons.sort_by_key(|(_, clusters)| std::cmp::Reverse(clusters.len()));
        let most = if width == WHOLE { usize::MAX } else { MOST_REASONS };
        let more: usize = reasons
            .iter()
            .skip(most)
            .map(|(_, clusters)| clusters.len())
            .sum();
        for (message, clusters) in reasons.into_iter().take(most) {
            let tone = clusters.first().map_or(Tone::Plain, |first| cluster_tone(first));
            let head = Line::of(Tone::Faint, trunk).and(tone, format!("   {}", padded(state.told(), 11)));
            let free = width.saturating_sub(head.width());
            page.push(head.and(Tone::Plain, names(&clusters, free, now)));
            if !message.is_empty() {
                let inset = format!("{trunk}              ");
                let free = width.saturating_sub(inset.chars().count());
                page.extend(
                    folded(message, free)
                        .into_iter()
                        .map(|text| Line::of(Tone::Faint, inset.clone()).and(Tone::Plain, text)),
                );
            }
        }
        if more > 0 {
            let text = format!("{trunk}   and {more} {} for other reasons", state.told());
            page.push(Line::of(Tone::Faint, text));
        }
    }
}

/// Returns as many names as fit into a width.
fn names(clusters: &[&ClusterView], free: usize, now: Timestamp) -> String {
    let mut out = String::new();
    for (at, cluster) in clusters.iter().enumerate() {
        let left = clusters.len().saturating_sub(at);
        let word = named(cluster, now);
        let next = out.chars().count().saturating_add(word.chars().count());
        // The number of the other clusters must fit behind the names.
        if at >= FEWEST_NAMED && next.saturating_add(16) > free && left > 1 {
            return format!("{out} and {left} more");
        }
        if at > 0 {
            out.push_str(", ");
        }
        out.push_str(&word);
    }
    out
}

/// The step of the upgrade of a cluster: each step has its own deadline.
fn step(cluster: &ClusterView) -> &'static str {
    use plan::upgrade::Phase;
    let steps = [
        (Phase::PreAction, "pre-upgrade action, "),
        (Phase::Operators, "operators, "),
        (Phase::PostAction, "post-upgrade action, "),
    ];
    let mut steps = steps.into_iter();
    let found = steps.find(|(phase, _)| cluster.reason == phase.word());
    found.map_or("", |(_, told)| told)
}

fn named(cluster: &ClusterView, now: Timestamp) -> String {
    let name = &cluster.name;
    let until = cluster.until.filter(|until| *until > now);
    match (cluster.state, until, cluster.percent) {
        (ClusterState::Soaking, Some(until), _) => format!("{name} ({})", between(now, until)),
        (ClusterState::Moving, _, Some(percent)) => format!("{name} ({percent} %)"),
        (ClusterState::Moving | ClusterState::Finishing, Some(until), None) => {
            let step = step(cluster);
            format!("{name} ({step}deadline in {})", between(now, until))
        }
        (_, _, _) if cluster.offline => format!("{name} (offline)"),
        (_, _, _) if is_done_unwell(cluster) => format!("{name} (not healthy)"),
        (_, _, _) => name.clone(),
    }
}
