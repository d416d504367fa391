//! `sets.contains`, `sets.equivalent` and `sets.intersects`.
//!
//! Decides by equality alone; the work is paid for by the size of both lists.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use super::lists::items;
use crate::cost::budget_of;
use crate::cost::{PAIRS_PER_UNIT, weight};
use ::cel::common::types::{CelBool, DYN_TYPE, LIST_TYPE};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Adds the functions under the names that metering gives them.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let lists = || vec![DYN_TYPE, LIST_TYPE, LIST_TYPE];
    env.add_overload("@sets.contains", "@sets.contains(list,list)", lists(), |args| {
        relate(args, contains)
    })?;
    env.add_overload(
        "@sets.equivalent",
        "@sets.equivalent(list,list)",
        lists(),
        |args| relate(args, |left, right| contains(left, right) && contains(right, left)),
    )?;
    env.add_overload(
        "@sets.intersects",
        "@sets.intersects(list,list)",
        lists(),
        |args| {
            relate(args, |left, right| {
                right.iter().any(|item| has(left, item.as_ref()))
            })
        },
    )
}

type Items<'v> = [Box<dyn Val + 'v>];

fn has(list: &Items<'_>, wanted: &dyn Val) -> bool {
    list.iter().any(|item| item.equals(wanted))
}

fn contains(list: &Items<'_>, wanted: &Items<'_>) -> bool {
    wanted.iter().all(|item| has(list, item.as_ref()))
}

fn relate<'b, 'v>(
    args: Vec<CowVal<'b, 'v>>,
    relation: fn(&Items<'v>, &Items<'v>) -> bool,
) -> Result<CowVal<'b, 'v>> {
    let [budget, left, right] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let budget = budget_of(budget)?;
    let weigh = |list: &CowVal<'b, 'v>| weight(list.as_ref(), budget.ceiling());
    let (left_weight, right_weight) = (weigh(left), weigh(right));
    let (left, right) = (items(left)?, items(right)?);
    // Comparing two items looks at no more than the smaller one.
    let pairs = (left.len() as u64)
        .saturating_mul(right_weight)
        .min((right.len() as u64).saturating_mul(left_weight));
    budget.charge(
        left_weight
            .saturating_add(right_weight)
            .saturating_add(pairs / PAIRS_PER_UNIT),
    )?;
    Ok(CowVal::owned(CelBool::from(relation(&left, &right))))
}
