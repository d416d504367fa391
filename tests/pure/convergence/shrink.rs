//! The smallest scenario that still fails in the same way: steps and faults are removed one by one.

use super::case::Case;
use super::{Failure, run};

/// Attempts at most; every one is a whole run.
const ATTEMPTS: usize = 400;

/// Returns a smaller case that fails in the same way, with its failure.
pub(crate) fn shrink(case: &Case, failure: Failure) -> (Case, Failure) {
    let mut best = (case.clone(), failure);
    let mut attempts = 0;
    let mut chunk = best.0.steps.len().div_ceil(2);
    while chunk > 0 && attempts < ATTEMPTS {
        let mut from = 0;
        while from < best.0.steps.len() && attempts < ATTEMPTS {
            attempts += 1;
            let mut smaller = best.0.clone();
            smaller.steps.drain(from..(from + chunk).min(smaller.steps.len()));
            if !keep(&mut best, smaller) {
                from += chunk;
            }
        }
        chunk /= 2;
    }
    for fault in best.0.faults.clone() {
        let mut smaller = best.0.clone();
        smaller.faults.retain(|one| *one != fault);
        keep(&mut best, smaller);
    }
    best
}

fn keep(best: &mut (Case, Failure), smaller: Case) -> bool {
    let sort = |failure: &Failure| failure.sentence.split(':').next().map(ToOwned::to_owned);
    match run(&smaller) {
        Err(failure) if sort(&failure) == sort(&best.1) => {
            *best = (smaller, failure);
            true
        }
        Ok(_) | Err(_) => false,
    }
}
