//! `isSorted`, `sum`, `min`, `max`, `indexOf`, `lastIndexOf`, `first` and `last` of lists.
//!
//! Decides like Kubernetes: sums start at the zero of the first item's type, and comparing needs items of one type.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use super::errors::no_overload;
use ::cel::common::types::{CelBool, CelInt, CelOptional, DYN_TYPE, Kind, LIST_TYPE};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, ExecutionError>;

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_member_overload("isSorted", "list.isSorted()", LIST_TYPE, vec![], is_sorted)?;
    env.add_member_overload("sum", "list.sum()", LIST_TYPE, vec![], sum)?;
    env.add_member_overload("min", "list.min()", LIST_TYPE, vec![], |args| {
        extreme(args, "min", Ordering::Less)
    })?;
    env.add_member_overload("max", "list.max()", LIST_TYPE, vec![], |args| {
        extreme(args, "max", Ordering::Greater)
    })?;
    env.add_member_overload("first", "list.first()", LIST_TYPE, vec![], |args| {
        end(args, false)
    })?;
    env.add_member_overload("last", "list.last()", LIST_TYPE, vec![], |args| end(args, true))?;
    let wanted = || vec![DYN_TYPE, LIST_TYPE, DYN_TYPE];
    env.add_overload("@indexOf", "@indexOf(list,dyn)", wanted(), |args| {
        position(args, false)
    })?;
    env.add_overload("@lastIndexOf", "@lastIndexOf(list,dyn)", wanted(), |args| {
        position(args, true)
    })
}

/// Takes the list out of the arguments, item by item.
pub(super) fn items<'v>(list: &CowVal<'_, 'v>) -> Result<Vec<Box<dyn Val + 'v>>> {
    let mut iter = list.as_iterable().ok_or_else(|| no_overload("list"))?.iter();
    let mut items = Vec::new();
    while let Some(item) = iter.next() {
        items.push(item.clone_as_boxed());
    }
    Ok(items)
}

fn first<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    args.into_iter()
        .next()
        .ok_or_else(ExecutionError::missing_argument_or_target)
}

fn compare(left: &dyn Val, right: &dyn Val) -> Result<Ordering> {
    left.as_comparer()
        .ok_or_else(|| no_overload("compare"))?
        .compare(right)
}

fn is_sorted<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let items = items(&first(args)?)?;
    for pair in items.windows(2) {
        if let [left, right] = pair
            && compare(left.as_ref(), right.as_ref())? == Ordering::Greater
        {
            return Ok(CowVal::owned(CelBool::from(false)));
        }
    }
    Ok(CowVal::owned(CelBool::from(true)))
}

fn sum<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let mut items = items(&first(args)?)?.into_iter();
    let Some(mut total) = items.next() else {
        return Ok(CowVal::owned(CelInt::from(0)));
    };
    let kind = total.get_type().kind();
    if !matches!(kind, Kind::Int | Kind::UInt | Kind::Double | Kind::Duration) {
        return Err(no_overload("sum"));
    }
    for item in items {
        let next = total
            .as_adder()
            .ok_or_else(|| no_overload("sum"))?
            .add(item.as_ref())?
            .into_owned();
        total = next;
    }
    Ok(CowVal::Owned(total))
}

fn extreme<'b, 'v>(args: Vec<CowVal<'b, 'v>>, name: &str, wanted: Ordering) -> Result<CowVal<'b, 'v>> {
    let mut items = items(&first(args)?)?.into_iter();
    let empty = || ExecutionError::function_error(name, format!("{name} called on empty list"));
    let mut best = items.next().ok_or_else(empty)?;
    for item in items {
        if compare(item.as_ref(), best.as_ref())? == wanted {
            best = item;
        }
    }
    Ok(CowVal::Owned(best))
}

fn position<'b, 'v>(args: Vec<CowVal<'b, 'v>>, last: bool) -> Result<CowVal<'b, 'v>> {
    let [_, list, wanted] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let items = items(list)?;
    let same = |item: &dyn Val| item.equals(wanted.as_ref());
    let at = if last {
        items.iter().rposition(|item| same(item.as_ref()))
    } else {
        items.iter().position(|item| same(item.as_ref()))
    };
    Ok(CowVal::owned(CelInt::from(
        at.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1),
    )))
}

fn end<'b, 'v>(args: Vec<CowVal<'b, 'v>>, last: bool) -> Result<CowVal<'b, 'v>> {
    let mut items = items(&first(args)?)?.into_iter();
    let found = if last { items.next_back() } else { items.next() };
    Ok(CowVal::owned(
        found.map_or_else(CelOptional::none, CelOptional::of),
    ))
}
