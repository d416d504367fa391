//! A rollout on one line.
//!
//! Shows the numbers that are not zero.

use jiff::Timestamp;

use super::cluster::Counts;
use super::health::RolloutHealth;
use super::line::between;
use super::picture::{Phase, Picture};
use super::wave::WaveState;
use kubernetes::field::counted;

/// Returns the numbers of a rollout: `6 of 24 done, 6 soaking, 12 waiting`.
pub(super) fn sentence(counts: &Counts, health: &RolloutHealth) -> String {
    let head = format!("{} of {} done", counts.done, counted(counts.total, "cluster"));
    std::iter::once(head)
        .chain(others(counts))
        .chain(unwell(counts, health))
        .collect::<Vec<_>>()
        .join(", ")
}

/// The numbers of those that are not done.
pub(super) fn others(counts: &Counts) -> impl Iterator<Item = String> {
    let rows = [
        (counts.moving, "updating"),
        (counts.finishing, "finishing"),
        (counts.soaking, "soaking"),
        (counts.failed, "failed"),
        (counts.timed_out, "timed out"),
        (counts.held, "blocked"),
        (counts.waiting, "waiting"),
        (counts.leaving, "leaving"),
    ];
    rows.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
}

/// How many clusters are not well, beside those that failed: these are counted already.
pub(super) fn unwell(counts: &Counts, health: &RolloutHealth) -> impl Iterator<Item = String> {
    let rows = [
        (health.unhealthy.saturating_sub(counts.failures()), "unhealthy"),
        (health.offline, "offline"),
    ];
    rows.into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, what)| format!("{count} {what}"))
}

/// Returns the reason and the message of a wait of the rollout as a whole: no cluster waits.
pub(super) fn waits_for(picture: &Picture) -> Option<(&str, &str)> {
    let RolloutHealth { reason, message, .. } = &picture.health;
    let is_whole = picture.phase == Phase::Waiting && picture.counts.done == picture.counts.total;
    (is_whole && !reason.is_empty()).then_some((reason, message))
}

/// Returns which wave goes, and how many there are, batches counted; nothing where placements go beside each other.
pub(super) fn wave_of(picture: &Picture) -> Option<(usize, usize)> {
    let first = picture.waves.first()?;
    if picture.waves.iter().any(|wave| wave.placement != first.placement) {
        return None;
    }
    let (mut before, mut total, mut current) = (0usize, 0usize, None);
    for wave in &picture.waves {
        let (own, at) = wave
            .batches
            .map_or((1, 1), |batches| (batches.total, batches.current));
        total = total.saturating_add(own);
        if current.is_none() && wave.state != WaveState::Done {
            current = Some(before.saturating_add(at));
        }
        before = total;
    }
    Some((current.unwrap_or(total), total))
}

/// Returns a rollout on one line: `helloworld: wave 1/4 · 6 done · 18 waiting (next in 14s)`.
pub fn summary(picture: &Picture, now: Timestamp) -> String {
    let told = picture.target.told();
    if picture.phase == Phase::Done {
        let done = format!("{told}: done on {}", counted(picture.counts.total, "cluster"));
        return std::iter::once(done)
            .chain(unwell(&picture.counts, &picture.health))
            .collect::<Vec<_>>()
            .join(" · ");
    }
    if picture.phase == Phase::NotManaged || picture.phase == Phase::Empty {
        return format!("{told}: {}", picture.phase.word());
    }
    let wave = wave_of(picture).filter(|(_, total)| *total > 1);
    let wave = wave.map(|(current, total)| format!("wave {current}/{total}"));
    let word = (!matches!(picture.phase, Phase::Progressing | Phase::Waiting))
        .then(|| picture.phase.word().to_uppercase());
    let done = format!("{} of {} done", picture.counts.done, picture.counts.total);
    let parts: Vec<String> = word
        .into_iter()
        .chain(wave)
        .chain([done])
        .chain(others(&picture.counts))
        .chain(unwell(&picture.counts, &picture.health))
        .collect();
    let next = picture.next.as_ref().filter(|next| next.at > now);
    let next = next.map_or_else(String::new, |next| {
        format!(" (next in {})", between(now, next.at))
    });
    format!("{told}: {}{next}", parts.join(" · "))
}
