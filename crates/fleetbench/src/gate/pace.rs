//! Questions at a fixed rate, whatever the answers do.
//!
//! Decides when each question is due: the first one now, each next one a fixed time later. What is measured is the time from
//! that moment to the answer, so that waiting for a free connection counts.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use super::caller::Caller;
use super::questions::Question;

/// What became of the questions of a rate.
#[derive(Debug, Default)]
pub(super) struct Answers {
    /// From due (or from when the runtime woke the caller up) to answered, sorted.
    pub(super) times: Vec<Duration>,
    /// Answers that were not as they have to be.
    pub(super) wrong: u64,
    /// Questions without an answer.
    pub(super) lost: u64,
    /// What was wrong or lost first.
    pub(super) first_trouble: Option<String>,
}

/// Asks `count` questions at `rate` a second over these callers, which are given back.
pub(super) async fn keep(
    callers: Vec<Caller>,
    questions: &Arc<[Question]>,
    (rate, count): (u32, u64),
) -> (Vec<Caller>, Answers) {
    let next = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let mut tasks = JoinSet::new();
    for mut caller in callers {
        let (next, questions) = (Arc::clone(&next), Arc::clone(questions));
        tasks.spawn(async move {
            let mut answers = Answers::default();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= count {
                    return (caller, answers);
                }
                let due = begun + due(number, rate);
                let since = wake(due).await;
                answers.ask(&mut caller, &questions, (number, since)).await;
            }
        });
    }
    let mut callers = Vec::new();
    let mut all = Answers::default();
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok((caller, answers)) => {
                callers.push(caller);
                all.add(answers);
            }
            Err(error) => all.lose(error.to_string()),
        }
    }
    all.times.sort_unstable();
    (callers, all)
}

/// Waits until a question is due; returns the moment that its time counts from. A caller that is free in time is woken up to a
/// millisecond late by the clock of the runtime, which is not the gate's fault: its time counts from then. The time of a caller
/// that is late already counts from when the question was due.
async fn wake(due: Instant) -> Instant {
    if Instant::now() >= due {
        return due;
    }
    sleep_until(due).await;
    Instant::now()
}

/// Returns when a question is due after the first one.
fn due(number: u64, rate: u32) -> Duration {
    let rate = u64::from(rate.max(1));
    let rest = (number % rate).saturating_mul(1_000_000_000) / rate;
    Duration::from_secs(number / rate).saturating_add(Duration::from_nanos(rest))
}

impl Answers {
    async fn ask(&mut self, caller: &mut Caller, questions: &[Question], (number, since): (u64, Instant)) {
        let turn = usize::try_from(number).unwrap_or_default();
        let Some(question) = questions.get(turn % questions.len().max(1)) else {
            return;
        };
        match caller.ask(question.path, question.body(number)).await {
            Ok(allowed) => {
                self.times.push(since.elapsed());
                if allowed != question.allowed {
                    self.wrong = self.wrong.saturating_add(1);
                    let words = if allowed { "let in" } else { "refused" };
                    self.first_trouble
                        .get_or_insert_with(|| format!("{} was {words}", question.about));
                }
            }
            Err(reason) => self.lose(reason),
        }
    }

    fn lose(&mut self, reason: String) {
        self.lost = self.lost.saturating_add(1);
        self.first_trouble.get_or_insert(reason);
    }

    fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.wrong = self.wrong.saturating_add(other.wrong);
        self.lost = self.lost.saturating_add(other.lost);
        self.first_trouble = self.first_trouble.take().or(other.first_trouble);
    }

    /// Returns the time that this many of a thousand answers took at most.
    pub(super) fn within(&self, of_thousand: usize) -> Duration {
        let last = self.times.len().saturating_sub(1);
        let index = last.saturating_mul(of_thousand) / 1000;
        self.times.get(index).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_due_evenly() {
        assert_eq!(due(0, 1000), Duration::ZERO);
        assert_eq!(due(1, 1000), Duration::from_millis(1));
        assert_eq!(due(2500, 1000), Duration::from_millis(2500));
        assert_eq!(due(3, 3), Duration::from_secs(1));
    }

    #[test]
    fn shares_are_taken_from_the_sorted_times() {
        let answers = Answers {
            times: (0..=1000).map(Duration::from_micros).collect(),
            ..Answers::default()
        };
        assert_eq!(answers.within(500), Duration::from_micros(500));
        assert_eq!(answers.within(990), Duration::from_micros(990));
        assert_eq!(answers.within(1000), Duration::from_millis(1));
    }
}
