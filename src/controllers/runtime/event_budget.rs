//! Which events are written: a budget for every add-on, and one summary for all that goes beyond it.
//!
//! Decides how many, never writes. A fleet of ten thousand clusters changes at once; its events must not become a flood, and
//! warnings must not drown in good news: each grade has a purse of its own.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use api::reason::Reason;
use plan::Grade;
use store::{Name, Owner};

/// How many events of one add-on may be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventBudget {
    /// How many at once, of each grade.
    pub burst: u32,
    /// How long it takes until one more may be written.
    pub refill: Duration,
    /// How long events that go beyond the budget are gathered before one summary tells of them.
    pub summary_after: Duration,
}

impl Default for EventBudget {
    fn default() -> Self {
        Self {
            burst: 50,
            refill: Duration::from_secs(2),
            summary_after: Duration::from_secs(30),
        }
    }
}

/// The object of the event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::controllers) struct InvolvedObject {
    /// Whose plan told it.
    pub(in crate::controllers) owner: Owner,
    /// Its uid; without it nothing can be told about the owner as a whole.
    pub(in crate::controllers) uid: Option<Name>,
}

/// What becomes of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::controllers) enum Admission {
    /// It is written.
    Write,
    /// It is the first of a summary that will be due.
    First,
    /// It is counted for a summary.
    Counted,
}

/// What the budget is kept for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::controllers) enum BudgetOf {
    /// Single clusters.
    Clusters(Grade),
    /// The add-on as a whole.
    Whole,
}

#[derive(Debug, Clone, Copy)]
struct Tokens {
    left: u32,
    counted: Instant,
}

/// What was left out of one add-on's events.
#[derive(Debug)]
struct LeftOut {
    uid: Option<Name>,
    due: Instant,
    reasons: BTreeMap<Reason, u64>,
    grade: Grade,
}

/// A summary that is due.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::controllers) struct Summary {
    /// The add-on.
    pub(in crate::controllers) of: InvolvedObject,
    /// The worst of what was left out.
    pub(in crate::controllers) grade: Grade,
    /// What it says.
    pub(in crate::controllers) note: String,
}

/// The budgets of all add-ons.
#[derive(Debug)]
pub(in crate::controllers) struct EventCorrelator {
    budget: EventBudget,
    purses: BTreeMap<(Owner, BudgetOf), Tokens>,
    left_out: BTreeMap<Owner, LeftOut>,
}

impl EventCorrelator {
    pub(in crate::controllers) fn new(budget: EventBudget) -> Self {
        Self {
            budget,
            purses: BTreeMap::new(),
            left_out: BTreeMap::new(),
        }
    }

    /// Decides whether an event is written, or counted for the summary.
    pub(in crate::controllers) fn admit(
        &mut self,
        subject: &InvolvedObject,
        purse: BudgetOf,
        grade: Grade,
        reason: Reason,
        now: Instant,
    ) -> Admission {
        let budget = self.budget;
        let full = Tokens {
            left: budget.burst,
            counted: now,
        };
        let tokens = self.purses.entry((subject.owner.clone(), purse)).or_insert(full);
        *tokens = refilled(*tokens, budget, now);
        if let Some(left) = tokens.left.checked_sub(1) {
            tokens.left = left;
            return Admission::Write;
        }
        let is_first = !self.left_out.contains_key(&subject.owner);
        let left_out = self
            .left_out
            .entry(subject.owner.clone())
            .or_insert_with(|| LeftOut {
                uid: subject.uid.clone(),
                due: now + budget.summary_after,
                reasons: BTreeMap::new(),
                grade,
            });
        left_out.grade = left_out.grade.max(grade);
        let count = left_out.reasons.entry(reason).or_default();
        *count = count.saturating_add(1);
        if is_first {
            Admission::First
        } else {
            Admission::Counted
        }
    }

    /// Returns when the next summary is due.
    pub(in crate::controllers) fn due(&self) -> Option<Instant> {
        self.left_out.values().map(|left_out| left_out.due).min()
    }

    /// Takes the summaries that are due, and removes add-ons without events for a long time.
    pub(in crate::controllers) fn take_summaries(&mut self, now: Instant) -> Vec<Summary> {
        let budget = self.budget;
        self.purses
            .retain(|_, tokens| refilled(*tokens, budget, now).left < budget.burst);
        let due = self.left_out.extract_if(.., |_, left_out| left_out.due <= now);
        due.map(|(owner, left_out)| Summary {
            of: InvolvedObject {
                owner,
                uid: left_out.uid,
            },
            grade: left_out.grade,
            note: note(&left_out.reasons),
        })
        .collect()
    }
}

fn refilled(tokens: Tokens, budget: EventBudget, now: Instant) -> Tokens {
    let passed = now.saturating_duration_since(tokens.counted).as_nanos();
    let each = budget.refill.as_nanos().max(1);
    let more = u32::try_from(passed / each).unwrap_or(u32::MAX);
    let left = tokens.left.saturating_add(more).min(budget.burst);
    // What has passed of the next refill counts for it.
    let rest = Duration::from_nanos(u64::try_from(passed % each).unwrap_or_default());
    Tokens {
        left,
        counted: if more == 0 {
            tokens.counted
        } else {
            now.checked_sub(rest).unwrap_or(now)
        },
    }
}

fn note(reasons: &BTreeMap<Reason, u64>) -> String {
    let total: u64 = reasons.values().sum();
    let each: Vec<String> = reasons
        .iter()
        .map(|(reason, count)| format!("{reason} {count}"))
        .collect();
    format!(
        "{total} more events are summarized here: {}; see the conditions of the ManagedClusterAddOns",
        each.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const NORMAL: BudgetOf = BudgetOf::Clusters(Grade::Normal);
    const WARNING: BudgetOf = BudgetOf::Clusters(Grade::Warning);

    fn correlator() -> EventCorrelator {
        EventCorrelator::new(EventBudget {
            burst: 3,
            refill: Duration::from_secs(10),
            summary_after: Duration::from_secs(30),
        })
    }

    fn subject(addon: &str) -> InvolvedObject {
        InvolvedObject {
            owner: Owner::addon(&addon.into()),
            uid: Some("uid".into()),
        }
    }

    fn admitted(
        correlator: &mut EventCorrelator,
        purse: BudgetOf,
        reason: Reason,
        times: usize,
        now: Instant,
    ) -> usize {
        let grade = match purse {
            BudgetOf::Clusters(grade) => grade,
            BudgetOf::Whole => Grade::Normal,
        };
        let mut admit = |_: &usize| correlator.admit(&subject("hello"), purse, grade, reason, now);
        (0..times).filter(|time| admit(time) == Admission::Write).count()
    }

    #[tokio::test]
    async fn ten_thousand_clusters_are_a_few_events_and_one_summary() {
        let (mut correlator, now) = (correlator(), Instant::now());
        assert_eq!(
            admitted(&mut correlator, NORMAL, Reason::Installing, 10_000, now),
            3
        );
        assert_eq!(
            admitted(&mut correlator, NORMAL, Reason::InstallSucceed, 10_000, now),
            0
        );
        assert_eq!(correlator.take_summaries(now), []);
        let due = correlator.due().expect("a summary");
        let [summary] = &*correlator.take_summaries(due) else {
            panic!("one summary");
        };
        assert_eq!(
            summary.note,
            "19997 more events are summarized here: InstallSucceed 10000, Installing 9997; \
             see the conditions of the ManagedClusterAddOns"
        );
        assert_eq!(
            (correlator.due(), correlator.take_summaries(due)),
            (None, Vec::new())
        );
    }

    #[tokio::test]
    async fn warnings_do_not_drown_in_good_news() {
        let (mut correlator, now) = (correlator(), Instant::now());
        admitted(&mut correlator, NORMAL, Reason::Installing, 100, now);
        assert_eq!(
            admitted(&mut correlator, WARNING, Reason::InstallFailed, 2, now),
            2
        );
        assert_eq!(
            admitted(&mut correlator, BudgetOf::Whole, Reason::Progressing, 1, now),
            1
        );
        let others = correlator.admit(&subject("other"), NORMAL, Grade::Normal, Reason::Installing, now);
        assert_eq!(others, Admission::Write, "another add-on has a budget of its own");
    }

    #[tokio::test]
    async fn the_budget_comes_back_one_by_one_up_to_its_size() {
        let (mut correlator, now) = (correlator(), Instant::now());
        admitted(&mut correlator, NORMAL, Reason::Installing, 3, now);
        let later = now + Duration::from_secs(15);
        assert_eq!(admitted(&mut correlator, NORMAL, Reason::Installing, 3, later), 1);
        assert_eq!(
            admitted(
                &mut correlator,
                NORMAL,
                Reason::Installing,
                3,
                later + Duration::from_secs(5)
            ),
            1
        );
        let much_later = later + Duration::from_mins(5);
        assert_eq!(
            admitted(&mut correlator, NORMAL, Reason::Installing, 9, much_later),
            3
        );
    }

    #[tokio::test]
    async fn silent_add_ons_are_forgotten() {
        let (mut correlator, now) = (correlator(), Instant::now());
        admitted(&mut correlator, NORMAL, Reason::Installing, 1, now);
        correlator.take_summaries(now + Duration::from_mins(1));
        assert!(correlator.purses.is_empty());
    }
}
