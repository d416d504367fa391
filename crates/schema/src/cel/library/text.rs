//! `replace`, guarded: its result can be far larger than its operands.
//!
//! Decides how large a result may be; the result is paid for before it is made.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use crate::cel::meter::budget_of;
use ::cel::common::types::{CelInt, CelString, DYN_TYPE, INT_TYPE, STRING_TYPE};
use ::cel::common::value::CowVal;
use ::cel::{DeclarationError, Env, ExecutionError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Adds the functions under the names that metering gives them.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let three = vec![DYN_TYPE, STRING_TYPE, STRING_TYPE, STRING_TYPE];
    env.add_overload("@replace", "@replace(string,string,string)", three, replace)?;
    let four = vec![DYN_TYPE, STRING_TYPE, STRING_TYPE, STRING_TYPE, INT_TYPE];
    env.add_overload("@replace", "@replace(string,string,string,int)", four, replace)
}

fn text<'a>(value: &'a CowVal<'_, '_>) -> Result<&'a str> {
    value
        .downcast_ref::<CelString<'_>>()
        .map(CelString::inner)
        .ok_or_else(|| super::no_overload("replace"))
}

fn replace<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let [budget, subject, from, to, rest @ ..] = args.as_slice() else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let (subject, from, to) = (text(subject)?, text(from)?, text(to)?);
    let limit = rest
        .first()
        .and_then(|limit| limit.downcast_ref::<CelInt>())
        .map_or(-1, |limit| *limit.inner());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let hits = subject.matches(from).take(limit).count();
    let size = subject.len().saturating_add(hits.saturating_mul(to.len()));
    budget_of(budget)?.charge(size as u64 / 16)?;
    Ok(CowVal::owned(CelString::from(subject.replacen(from, to, limit))))
}
