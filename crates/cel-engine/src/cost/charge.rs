//! The functions through which metered programs pay.
//!
//! Decides what a value weighs. The functions return their operand unchanged, but for loops over maps: those see the
//! keys in order, so that every result, and every message made of it, is the same each time.

use super::budget::{BUDGET_TYPE, budget_of, overdrawn};
use ::cel::common::types::{
    CelBytes, CelInt, CelList, CelMap, CelMapKey, CelOptional, CelString, DYN_TYPE, INT_TYPE,
};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, ExecutionError>;

/// Pays for the rounds of a loop and for copying its range.
pub(super) const CHARGE: &str = "@charge";
/// Pays for looking at a whole value.
pub(super) const WEIGH: &str = "@weigh";
/// Pays for a value that was just made, which costs memory too.
pub(super) const GROWN: &str = "@grown";
/// Pays nothing; fails once the budget is spent.
pub(super) const GOES_ON: &str = "@goesOn";
/// Pays for comparing with each item of a list.
pub(super) const COUNT: &str = "@count";
/// Pays for sorting a list.
pub(super) const SORTED: &str = "@sorted";
/// Pays for comparing every item of a list with every other.
pub(super) const PAIRED: &str = "@paired";
/// Pays for a list of as many items as a number says.
pub(super) const ROUNDS: &str = "@rounds";

/// Bytes of text that cost one unit.
const BYTES_PER_UNIT: u64 = 64;
/// What a new text costs more than one that is only read.
const GROWTH: u64 = 4;
/// How often sorting looks at an item, at most: lists have fewer than 2^20 items that could be paid for.
const COMPARISONS: u64 = 20;
/// Comparisons of two small items that cost one unit.
pub(crate) const PAIRS_PER_UNIT: u64 = 16;

/// Adds the metering functions.
pub(crate) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let budget = || BUDGET_TYPE.to_owned();
    env.add_overload(WEIGH, "@weigh(dyn)", vec![budget(), DYN_TYPE], |args| {
        pay(args, 1)
    })?;
    env.add_overload(GROWN, "@grown(dyn)", vec![budget(), DYN_TYPE], |args| {
        pay(args, GROWTH)
    })?;
    env.add_overload(SORTED, "@sorted(dyn)", vec![budget(), DYN_TYPE], |args| {
        pay(args, COMPARISONS)
    })?;
    env.add_overload(PAIRED, "@paired(dyn)", vec![budget(), DYN_TYPE], |args| {
        let items = args.get(1).map_or(1, |value| items_of(value.as_ref()));
        pay(args, 1 + items / PAIRS_PER_UNIT)
    })?;
    env.add_overload(ROUNDS, "@rounds(dyn)", vec![budget(), DYN_TYPE], |args| {
        let rounds = args.get(1).and_then(|value| value.downcast_ref::<CelInt>());
        let rounds = rounds.map_or(1, |rounds| u64::try_from(*rounds.inner()).unwrap_or(1));
        pay(args, rounds)
    })?;
    env.add_overload(GOES_ON, "@goesOn(dyn)", vec![budget(), DYN_TYPE], goes_on)?;
    env.add_overload(COUNT, "@count(dyn)", vec![budget(), DYN_TYPE], count)?;
    env.add_overload(
        CHARGE,
        "@charge(dyn,int)",
        vec![budget(), DYN_TYPE, INT_TYPE],
        charge,
    )?;
    env.add_overload("@keys", "@keys(dyn)", vec![DYN_TYPE], keys)
}

fn pay<'b, 'v>(args: Vec<CowVal<'b, 'v>>, factor: u64) -> Result<CowVal<'b, 'v>> {
    let mut args = args.into_iter();
    let (Some(budget), Some(value)) = (args.next(), args.next()) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let budget = budget_of(&budget)?;
    budget.charge(weight(value.as_ref(), budget.ceiling()).saturating_mul(factor))?;
    Ok(value)
}

fn goes_on<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut args = args.into_iter();
    let (Some(budget), Some(value)) = (args.next(), args.next()) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    if budget_of(&budget)?.is_spent() {
        return Err(overdrawn());
    }
    Ok(value)
}

fn count<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut args = args.into_iter();
    let (Some(budget), Some(value)) = (args.next(), args.next()) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    budget_of(&budget)?.charge(items_of(value.as_ref()))?;
    Ok(value)
}

fn items_of(value: &dyn Val) -> u64 {
    value
        .downcast_ref::<CelList<'_>>()
        .map_or(1, |list| list.inner().len() as u64)
}

fn charge<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut args = args.into_iter();
    let (Some(budget), Some(range), Some(step)) = (args.next(), args.next(), args.next()) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let budget = budget_of(&budget)?;
    let rounds = range
        .as_sizer()
        .map_or(0, |sizer| u64::try_from(*sizer.size().inner()).unwrap_or(0));
    let step = step
        .downcast_ref::<CelInt>()
        .map_or(1, |step| u64::try_from(*step.inner()).unwrap_or(1));
    budget.charge(rounds.saturating_mul(step))?;
    budget.charge(weight(range.as_ref(), budget.ceiling()))?;
    Ok(match range.downcast_ref::<CelMap<'_>>() {
        Some(map) => CowVal::owned(CelList::from(sorted_keys(map))),
        None => range,
    })
}

/// Returns the indices of a list or the keys of a map.
#[expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]
fn keys<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let Some(range) = args.first() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    if let Some(list) = range.downcast_ref::<CelList<'_>>() {
        let indices = (0_i64..).take(list.inner().len());
        let indices: Vec<Box<dyn Val + 'v>> = indices
            .map(|index| -> Box<dyn Val + 'v> { Box::new(CelInt::from(index)) })
            .collect();
        return Ok(CowVal::owned(CelList::from(indices)));
    }
    let map = range
        .downcast_ref::<CelMap<'_>>()
        .ok_or_else(|| ExecutionError::no_such_overload("range", Vec::new()))?;
    Ok(CowVal::owned(CelList::from(sorted_keys(map))))
}

/// Returns the keys of a map in order: truth values, numbers, texts.
pub(crate) fn sorted_keys<'v>(map: &CelMap<'v>) -> Vec<Box<dyn Val + 'v>> {
    let mut keys: Vec<&CelMapKey<'v>> = map.inner().keys().collect();
    keys.sort_by(|left, right| order(left, right));
    keys.into_iter().map(|key| key.inner().clone_as_boxed()).collect()
}

fn order(left: &CelMapKey<'_>, right: &CelMapKey<'_>) -> Ordering {
    let rank = |key: &CelMapKey<'_>| match key {
        CelMapKey::Bool(_) => 0_u8,
        CelMapKey::Int(_) => 1,
        CelMapKey::UInt(_) => 2,
        CelMapKey::String(_) => 3,
    };
    rank(left).cmp(&rank(right)).then_with(|| left.cmp(right))
}

/// Returns the size of a value in units, or anything above `limit` once that is reached.
pub(crate) fn weight(value: &dyn Val, limit: u64) -> u64 {
    let mut total = 1_u64;
    if let Some(text) = value.downcast_ref::<CelString<'_>>() {
        total += text.inner().len() as u64 / BYTES_PER_UNIT;
    } else if let Some(bytes) = value.downcast_ref::<CelBytes<'_>>() {
        total += bytes.inner().len() as u64 / BYTES_PER_UNIT;
    } else if let Some(list) = value.downcast_ref::<CelList<'_>>() {
        for item in list.inner() {
            if total > limit {
                break;
            }
            total += weight(item.as_ref(), limit - total.min(limit));
        }
    } else if let Some(map) = value.downcast_ref::<CelMap<'_>>() {
        // Which members are weighed before the limit is reached does not matter: it is exceeded either way.
        #[expect(clippy::iter_over_hash_type, reason = "a sum does not depend on the order")]
        for (key, member) in map.inner() {
            if total > limit {
                break;
            }
            total += weight(key.inner(), limit - total.min(limit));
            total += weight(member.as_ref(), limit - total.min(limit));
        }
    } else if let Some(optional) = value.downcast_ref::<CelOptional<'_>>()
        && let Some(inner) = optional.inner()
    {
        total += weight(inner, limit);
    }
    total
}
