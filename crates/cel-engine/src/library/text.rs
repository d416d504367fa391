//! `replace`, `join`, `indexOf` and `lastIndexOf`, guarded: they can do far more work than their operands weigh.
//!
//! Decides how large a result may be; the result is paid for before it is made. Positions count code points.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use crate::cost::budget_of;
use ::cel::common::types::{CelInt, CelList, CelString, DYN_TYPE, INT_TYPE, LIST_TYPE, STRING_TYPE, Type};
use ::cel::common::value::CowVal;
use ::cel::{DeclarationError, Env, ExecutionError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Adds the functions under the names that metering gives them.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let with = |rest: &[Type]| {
        let mut args = vec![DYN_TYPE];
        args.extend(rest.iter().map(Type::to_owned));
        args
    };
    env.add_overload(
        "@replace",
        "@replace(string,string,string)",
        with(&[STRING_TYPE, STRING_TYPE, STRING_TYPE]),
        replace,
    )?;
    env.add_overload(
        "@replace",
        "@replace(string,string,string,int)",
        with(&[STRING_TYPE, STRING_TYPE, STRING_TYPE, INT_TYPE]),
        replace,
    )?;
    env.add_overload("@join", "@join(list)", with(&[LIST_TYPE]), join)?;
    env.add_overload(
        "@join",
        "@join(list,string)",
        with(&[LIST_TYPE, STRING_TYPE]),
        join,
    )?;
    let two = || with(&[STRING_TYPE, STRING_TYPE]);
    let three = || with(&[STRING_TYPE, STRING_TYPE, INT_TYPE]);
    env.add_overload("@indexOf", "@indexOf(string,string)", two(), index_of)?;
    env.add_overload("@indexOf", "@indexOf(string,string,int)", three(), index_of)?;
    env.add_overload(
        "@lastIndexOf",
        "@lastIndexOf(string,string)",
        two(),
        last_index_of,
    )?;
    env.add_overload(
        "@lastIndexOf",
        "@lastIndexOf(string,string,int)",
        three(),
        last_index_of,
    )
}

fn text<'a>(value: &'a CowVal<'_, '_>, function: &str) -> Result<&'a str> {
    value
        .downcast_ref::<CelString<'_>>()
        .map(CelString::inner)
        .ok_or_else(|| super::errors::no_overload(function))
}

fn number(value: Option<&CowVal<'_, '_>>) -> Option<i64> {
    value?.downcast_ref::<CelInt>().map(|number| *number.inner())
}

fn replace<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let [budget, subject, from, to, rest @ ..] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let name = "replace";
    let (subject, from, to) = (text(subject, name)?, text(from, name)?, text(to, name)?);
    let limit = number(rest.first()).unwrap_or(-1);
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let hits = subject.matches(from).take(limit).count();
    let size = subject.len().saturating_add(hits.saturating_mul(to.len()));
    budget_of(budget)?.charge(size as u64 / 16)?;
    Ok(CowVal::owned(CelString::from(subject.replacen(from, to, limit))))
}

fn join<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let [budget, list, rest @ ..] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let separator = rest.first().map_or(Ok(""), |value| text(value, "join"))?;
    let list = list
        .downcast_ref::<CelList<'_>>()
        .ok_or_else(|| super::errors::no_overload("join"))?;
    let parts = list.inner().iter().map(|part| {
        part.downcast_ref::<CelString<'_>>()
            .map(CelString::inner)
            .ok_or_else(|| super::errors::no_overload("join"))
    });
    let parts: Vec<&str> = parts.collect::<Result<_>>()?;
    let between = separator.len().saturating_mul(parts.len());
    let size = parts
        .iter()
        .map(|part| part.len())
        .fold(between, usize::saturating_add);
    budget_of(budget)?.charge(size as u64 / 16)?;
    Ok(CowVal::owned(CelString::from(parts.join(separator))))
}

fn out_of_range(function: &str, at: i64) -> ExecutionError {
    ExecutionError::function_error(function, format!("index out of range: {at}"))
}

/// Returns the byte where a code point starts; the end of the text counts as one.
fn byte_at(subject: &str, at: usize) -> Option<usize> {
    let starts = subject.char_indices().map(|(byte, _)| byte);
    starts.chain([subject.len()]).nth(at)
}

fn code_points(subject: &str, byte: usize) -> i64 {
    let before = subject.get(..byte).unwrap_or(subject);
    i64::try_from(before.chars().count()).unwrap_or(i64::MAX)
}

fn found<'b, 'v>(at: Option<i64>) -> CowVal<'b, 'v> {
    CowVal::owned(CelInt::from(at.unwrap_or(-1)))
}

fn index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let [_, subject, wanted, rest @ ..] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let (subject, wanted) = (text(subject, "indexOf")?, text(wanted, "indexOf")?);
    let offset = number(rest.first()).unwrap_or(0);
    let Ok(from) = usize::try_from(offset) else {
        return Err(out_of_range("indexOf", offset));
    };
    let length = subject.chars().count();
    if wanted.is_empty() {
        return Ok(found(i64::try_from(from.min(length)).ok()));
    }
    let Some(start) = byte_at(subject, from).filter(|_| from < length) else {
        return Err(out_of_range("indexOf", offset));
    };
    let rest = subject.get(start..).unwrap_or_default();
    Ok(found(
        rest.find(wanted).map(|byte| code_points(subject, start + byte)),
    ))
}

fn last_index_of<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let [_, subject, wanted, rest @ ..] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let (subject, wanted) = (text(subject, "lastIndexOf")?, text(wanted, "lastIndexOf")?);
    let Some(offset) = number(rest.first()) else {
        return Ok(found(
            subject.rfind(wanted).map(|byte| code_points(subject, byte)),
        ));
    };
    let Ok(last) = usize::try_from(offset) else {
        return Err(out_of_range("lastIndexOf", offset));
    };
    let length = subject.chars().count();
    if wanted.is_empty() {
        return Ok(found(i64::try_from(last.min(length)).ok()));
    }
    let Some(start) = byte_at(subject, last).filter(|_| last < length) else {
        return Err(out_of_range("lastIndexOf", offset));
    };
    // The last hit may start at `last`, so it ends within the length of what is wanted after that.
    let end = start.saturating_add(wanted.len()).min(subject.len());
    let end = (0..=end)
        .rev()
        .find(|end| subject.is_char_boundary(*end))
        .unwrap_or(0);
    let head = subject.get(..end).unwrap_or_default();
    Ok(found(head.rfind(wanted).map(|byte| code_points(subject, byte))))
}
