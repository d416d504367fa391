//! `matches`, `find` and `findAll`, in the dialect of Go and paid for.
//!
//! Decides matches only. Compiled patterns are remembered, because rules meet the same ones again and again.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use crate::cel::meter::{Budget, budget_of};
use crate::regexp;
use ::cel::common::types::{CelBool, CelInt, CelList, CelString, DYN_TYPE, INT_TYPE, STRING_TYPE};
use ::cel::common::value::{CowVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};
use regex::Regex;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Units for a pattern that has to be compiled.
const COMPILE_UNITS: u64 = 5_000;
/// Units for a search, on top of the weight of the text.
const SEARCH_UNITS: u64 = 10;
/// Patterns that are remembered.
const REMEMBERED: usize = 128;

/// A memory of compiled patterns: it changes how fast an answer comes, never the answer.
static PATTERNS: LazyLock<Mutex<BTreeMap<String, Arc<Regex>>>> = LazyLock::new(Mutex::default);

/// Adds the functions under the names that metering gives them.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let strings = || vec![DYN_TYPE, STRING_TYPE, STRING_TYPE];
    env.add_overload("@matches", "@matches(string,string)", strings(), matches)?;
    env.add_overload("@find", "@find(string,string)", strings(), find)?;
    env.add_overload("@findAll", "@findAll(string,string)", strings(), find_all)?;
    let limited = vec![DYN_TYPE, STRING_TYPE, STRING_TYPE, INT_TYPE];
    env.add_overload("@findAll", "@findAll(string,string,int)", limited, find_all)
}

/// Returns the text and the compiled pattern of a call.
fn subject<'a>(args: &'a [CowVal<'_, '_>]) -> Result<(&'a str, Arc<Regex>)> {
    let [budget, text, pattern, ..] = args else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let (Some(text), Some(pattern)) = (
        text.downcast_ref::<CelString<'_>>(),
        pattern.downcast_ref::<CelString<'_>>(),
    ) else {
        return Err(super::no_overload("matches"));
    };
    let budget = budget_of(budget)?;
    budget.charge(SEARCH_UNITS + text.inner().len() as u64 / 16)?;
    Ok((text.inner(), compiled(pattern.inner(), budget)?))
}

fn compiled(pattern: &str, budget: &Budget) -> Result<Arc<Regex>> {
    let mut known = PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(regex) = known.get(pattern) {
        return Ok(Arc::clone(regex));
    }
    budget.charge(COMPILE_UNITS)?;
    let regex = regexp::compile(pattern).map_err(|words| ExecutionError::function_error("matches", words))?;
    let regex = Arc::new(regex);
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(pattern.to_owned(), Arc::clone(&regex));
    Ok(regex)
}

fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, regex) = subject(&args)?;
    Ok(CowVal::owned(CelBool::from(regex.is_match(text))))
}

fn find<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, regex) = subject(&args)?;
    let found = regex
        .find(text)
        .map(|found| found.as_str().to_owned())
        .unwrap_or_default();
    Ok(CowVal::owned(CelString::from(found)))
}

fn find_all<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, regex) = subject(&args)?;
    let limit = args
        .get(3)
        .and_then(|limit| limit.downcast_ref::<CelInt>())
        .map_or(-1, |limit| *limit.inner());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let found = regex.find_iter(text).take(limit);
    let found: Vec<Box<dyn Val + 'v>> = found
        .map(|found| -> Box<dyn Val + 'v> { Box::new(CelString::from(found.as_str().to_owned())) })
        .collect();
    Ok(CowVal::owned(CelList::from(found)))
}
