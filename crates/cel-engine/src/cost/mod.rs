//! Table of contents of what an evaluation costs: a budget, what is charged to it, and where programs are made to pay.

mod budget;
mod charge;
mod meter;

pub use budget::Budget;
pub(crate) use budget::{EXPRESSION_UNITS, budget_of, overdrawn};
pub(crate) use charge::{PAIRS_PER_UNIT, register, sorted_keys, weight};
pub(crate) use meter::metered;
