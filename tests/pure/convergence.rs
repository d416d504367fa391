//! The convergence simulator: a hub, a manager, agents and a user in one seeded order of events with all kinds of faults; the final state
//! must be the same as without faults.
//!
//! `TIDEGATE_TESTS=full` and `CONVERGENCE_SEEDS=100000` run more seeds, `CONVERGENCE_SEED=17` one. tests/pure/convergence/README.md tells what is modelled.

mod agents;
mod case;
mod dice;
mod ended;
mod hub;
mod manager;
mod memos;
mod mutant;
mod script;
mod settled;
mod shrink;
mod sim;
mod spec;
mod tables;
mod told;
mod undone;
mod user;
mod watchdog;

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use case::Case;
use mutant::Mutant;
use sim::Sim;
use user::Ending;

use crate::kit::search::amount;

/// Seeds of a usual and of a full run (`kit::search`).
const SEEDS: [u64; 2] = [400, 2_000];
/// The same with the words and rules of OCM's manager.
const OCM_SEEDS: [u64; 2] = [20, 60];
/// The same of changes that fail.
const UNDO_SEEDS: [u64; 2] = [40, 150];
/// Seeds within which a bug that was put in must be found.
const MUTANT_SEEDS: u64 = 400;

/// Why a case failed.
#[derive(Debug, Clone)]
pub(crate) struct Failure {
    /// Sort and story, in one sentence.
    pub(crate) sentence: String,
    /// What happened last.
    trail: Vec<String>,
}

/// Runs a case to its end.
pub(crate) fn run(case: &Case) -> Result<usize, Failure> {
    let mut sim = Sim::new(case);
    let judged = catch_unwind(AssertUnwindSafe(|| {
        sim.run()?;
        sim.restart()?;
        ended::judge(&sim.hub, &sim.agents)?;
        // What a story leaves broken or kept depends on when it happened.
        if case.ending == Ending::Well && ended::is_plain(&sim.hub) {
            settled::compare(&sim.hub, case)?;
        }
        Ok(())
    }));
    let verdict = judged.unwrap_or_else(|_| Err("panic: the planner or the simulator panicked".to_owned()));
    let writes = sim.writes;
    verdict.map(|()| writes).map_err(|sentence| Failure {
        sentence,
        trail: sim.trail.into(),
    })
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

/// Returns the number of seeds that the variable asks for, or that of this run.
fn seeds(variable: &str, [usual, full]: [u64; 2]) -> u64 {
    number(variable).unwrap_or_else(|| amount(usual, full))
}

/// Runs seeds on all processors and returns the first that fails, in the order of their numbers.
fn first_failure(seeds: std::ops::Range<u64>, mutant: Mutant) -> Option<(Case, Failure)> {
    first_failure_of(seeds, |seed| Case::new(seed, mutant))
}

/// The same for cases that are made of seeds in whatever way.
fn first_failure_of(
    seeds: std::ops::Range<u64>,
    of_seed: impl Fn(u64) -> Case + Sync,
) -> Option<(Case, Failure)> {
    let (next, found) = (AtomicU64::new(seeds.start), Mutex::new(None::<(Case, Failure)>));
    let threads = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    let over = found
                        .lock()
                        .is_ok_and(|found| found.as_ref().is_some_and(|(case, _)| case.seed < seed));
                    if seed >= seeds.end || over {
                        return;
                    }
                    let case = of_seed(seed);
                    let Err(failure) = run(&case) else { continue };
                    let mut found = found.lock().expect("no thread panics while it holds the result");
                    if found.as_ref().is_none_or(|(known, _)| seed < known.seed) {
                        *found = Some((case, failure));
                    }
                }
            });
        }
    });
    found
        .into_inner()
        .expect("no thread panics while it holds the result")
}

fn report(case: &Case, failure: Failure) -> String {
    let seed = case.seed;
    let whole = case.steps.len();
    let (smallest, failure) = shrink::shrink(case, failure);
    let mut text = format!("seed {seed} fails: {}\n", failure.sentence);
    writeln!(
        text,
        "smallest script ({} of {whole} steps):\n{}",
        smallest.steps.len(),
        smallest.script()
    )
    .expect("text");
    writeln!(text, "what happened last:\n  {}", failure.trail.join("\n  ")).expect("text");
    writeln!(
        text,
        "again: CONVERGENCE_SEED={seed} cargo test --workspace --test suite convergence::"
    )
    .expect("text");
    text
}

#[test]
fn every_order_of_events_comes_to_the_same_end() {
    let seeds = match number("CONVERGENCE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..seeds("CONVERGENCE_SEEDS", SEEDS),
    };
    let failed = first_failure(seeds, Mutant::None).map(|(case, failure)| report(&case, failure));
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
}

/// OCM's vocabulary and rules block nothing: a cluster that waits for a report of its own deployer would wait indefinitely.
#[test]
fn in_ocm_words_every_order_comes_to_the_same_end_as_well() {
    let seeds = match number("CONVERGENCE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..seeds("CONVERGENCE_OCM_SEEDS", OCM_SEEDS),
    };
    let in_ocm_words = |seed| Case::new(seed, Mutant::None).in_ocm_words();
    let failed = first_failure_of(seeds, in_ocm_words).map(|(case, failure)| report(&case, failure));
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
}

#[test]
fn a_seed_means_the_same_everywhere() {
    let one = |seed| {
        (
            Case::new(seed, Mutant::None).script(),
            run(&Case::new(seed, Mutant::None)).ok(),
        )
    };
    for seed in [3, 5, 8] {
        assert_eq!(one(seed), one(seed));
    }
}

#[test]
fn bugs_that_are_put_in_are_found() {
    let bugs = [
        Mutant::IgnorePreconditions,
        Mutant::ForgetExpectations,
        Mutant::ForgetRecheck,
        Mutant::ForgetFailures,
        Mutant::ForgetAbsent,
        Mutant::PruneHandMade,
        Mutant::ForgetOwners,
        Mutant::Hurry,
    ];
    for bug in bugs {
        let Some((case, failure)) = first_failure(0..MUTANT_SEEDS, bug) else {
            panic!("{bug:?} is not found within {MUTANT_SEEDS} seeds");
        };
        let sound = run(&Case::new(case.seed, Mutant::None));
        assert!(
            sound.is_ok(),
            "without {bug:?} seed {} must not fail: {}",
            case.seed,
            failure.sentence
        );
        eprintln!(
            "{bug:?}: seed {}, {}",
            case.seed,
            failure.sentence.lines().next().unwrap_or_default()
        );
    }
}

/// The way back has failures of its own: no cluster keeps what failed all the same, and it does not start again.
#[test]
fn a_change_that_fails_is_undone_in_every_order_of_events() {
    let seeds = || 0..seeds("CONVERGENCE_UNDO_SEEDS", UNDO_SEEDS);
    let sound = |seed| Case::with_failed_change(seed, Mutant::None);
    let failed = first_failure_of(seeds(), sound).map(|(case, failure)| report(&case, failure));
    assert!(failed.is_none(), "{}", failed.unwrap_or_default());
    let is_undone = |seed: &u64| {
        let mut sim = Sim::new(&sound(*seed));
        sim.run().is_ok() && undone::stands(&sim.hub)
    };
    let undone = (0..20).filter(is_undone).count();
    assert!(undone >= 10, "only {undone} of 20 are undone");
    let forgetful = |seed| Case::with_failed_change(seed, Mutant::ForgetUndone);
    assert!(
        first_failure_of(seeds(), forgetful).is_some(),
        "the bug is not found"
    );
}

#[test]
fn a_failing_story_is_cut_down() {
    let (case, failure) = first_failure(0..MUTANT_SEEDS, Mutant::PruneHandMade).expect("the bug is found");
    let (smallest, failure) = shrink::shrink(&case, failure);
    assert!(
        smallest.steps.len() < case.steps.len() / 2,
        "{}",
        smallest.script()
    );
    assert!(
        smallest.script().contains("ManagedClusterAddOn"),
        "{}",
        smallest.script()
    );
    assert!(
        failure
            .sentence
            .starts_with("invariant: delete ManagedClusterAddOn"),
        "{}",
        failure.sentence
    );
}
