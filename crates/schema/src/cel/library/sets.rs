//! `sets.contains`, `sets.equivalent` and `sets.intersects`.
//!
//! Decides by equality alone; the work is paid for by the size of both lists.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use super::lists::items;
use ::cel::common::types::{CelBool, LIST_TYPE};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Longest product of two list lengths that is compared item by item.
const MOST_PAIRS: usize = 1_000_000;

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let lists = || vec![LIST_TYPE, LIST_TYPE];
    env.add_overload("sets.contains", "sets.contains(list,list)", lists(), |args| {
        relate(args, contains)
    })?;
    env.add_overload("sets.equivalent", "sets.equivalent(list,list)", lists(), |args| {
        relate(args, |left, right| contains(left, right) && contains(right, left))
    })?;
    env.add_overload("sets.intersects", "sets.intersects(list,list)", lists(), |args| {
        relate(args, |left, right| {
            right.iter().any(|item| has(left, item.as_ref()))
        })
    })
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
    let [left, right] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let (left, right) = (items(left)?, items(right)?);
    if left.len().saturating_mul(right.len()) > MOST_PAIRS {
        return Err(ExecutionError::function_error(
            "sets",
            "lists are too long to be compared",
        ));
    }
    Ok(CowVal::owned(CelBool::from(relation(&left, &right))))
}
