//! What must never be in a plan, told without the planner.
//!
//! Decides nothing about what should be done; a plan that breaks one of these has a fault, whatever the hub looks like.

mod counts;
mod facts;
mod order;
#[cfg(test)]
mod sim;
#[cfg(test)]
mod tests;

use plan::upgrade::Plan;
use store::upgrade::View;

use facts::Facts;

/// Returns what is wrong with a plan: the rule that is broken, and where.
pub fn check(view: &View<'_>, plan: &Plan, now: jiff::Timestamp) -> Vec<String> {
    let Some(facts) = Facts::of(view, plan, now) else {
        return order::without_a_meaning(plan);
    };
    let mut faults = order::faults(&facts);
    faults.extend(counts::faults(&facts));
    faults
}
