//! `matches`, `find` and `findAll`, in the dialect of Go and paid for.
//!
//! Decides matches only. Patterns that are written out are compiled with their program; others are remembered, because
//! rules meet the same ones again and again.

#![expect(
    clippy::needless_pass_by_value,
    reason = "the engine fixes the signature of functions"
)]

use super::states;
use crate::cost::{Budget, budget_of};
use ::cel::common::types::{
    CelBool, CelInt, CelList, CelString, DYN_TYPE, INT_TYPE, Kind, STRING_TYPE, Type,
};
use ::cel::common::value::{CowVal, StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};
use kubernetes::regexp;
use regex::Regex;
use std::any::Any;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

type Result<T> = std::result::Result<T, ExecutionError>;

/// Units for any pattern that has to be compiled, and for each of its states.
const COMPILE_UNITS: (u64, u64) = (500, 4);
/// Units for a search, on top of the work that text and pattern make.
const SEARCH_UNITS: u64 = 5;
/// Steps of a search that cost one unit: a step is one state looking at one byte, at worst.
const STEPS_PER_UNIT: u64 = 64;
/// The same for each further search of `findAll`, which seldom looks at all of the rest.
const STEPS_PER_HIT: u64 = 512;
/// Patterns that are remembered.
const REMEMBERED: usize = 128;

static PATTERN_TYPE: Type = Type::simple_type(Kind::Opaque, "@pattern");

/// A memory of compiled patterns: it changes how fast an answer comes, never the answer.
static PATTERNS: LazyLock<Mutex<BTreeMap<String, Arc<Pattern>>>> = LazyLock::new(Mutex::default);

/// A compiled pattern and the number of its states.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    regex: Regex,
    states: u64,
}

impl Pattern {
    /// Compiles a pattern; the error reads like Go's.
    pub(crate) fn compile(text: &str) -> std::result::Result<Self, String> {
        Ok(Self {
            regex: regexp::compile(text)?,
            states: states::of(text),
        })
    }
}

impl Val for Pattern {
    fn get_type(&self) -> &Type {
        &PATTERN_TYPE
    }

    fn cel_type() -> &'static Type {
        &PATTERN_TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Pattern {}

/// Adds the functions under the names that metering gives them.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    let strings = || vec![DYN_TYPE, STRING_TYPE, DYN_TYPE];
    env.add_overload("@matches", "@matches(string,string)", strings(), matches)?;
    env.add_overload("@find", "@find(string,string)", strings(), find)?;
    env.add_overload("@findAll", "@findAll(string,string)", strings(), find_all)?;
    let limited = vec![DYN_TYPE, STRING_TYPE, DYN_TYPE, INT_TYPE];
    env.add_overload("@findAll", "@findAll(string,string,int)", limited, find_all)
}

/// A pattern, the program's own or a remembered one.
enum Source<'a> {
    Own(&'a Pattern),
    Remembered(Arc<Pattern>),
}

impl Source<'_> {
    fn pattern(&self) -> &Pattern {
        match self {
            Self::Own(pattern) => pattern,
            Self::Remembered(pattern) => pattern,
        }
    }
}

/// Returns the text and the compiled pattern of a call, paid for.
fn subject<'a>(args: &'a [CowVal<'_, '_>]) -> Result<(&'a str, Source<'a>)> {
    let [budget, text, pattern, ..] = args else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let text = text
        .downcast_ref::<CelString<'_>>()
        .ok_or_else(|| super::errors::no_overload("matches"))?
        .inner();
    let budget = budget_of(budget)?;
    let source = if let Some(pattern) = pattern.downcast_ref::<Pattern>() {
        Source::Own(pattern)
    } else {
        let written = pattern
            .downcast_ref::<CelString<'_>>()
            .ok_or_else(|| super::errors::no_overload("matches"))?;
        Source::Remembered(remembered(written.inner(), budget)?)
    };
    let steps = (text.len() as u64).saturating_mul(source.pattern().states);
    budget.charge(SEARCH_UNITS + steps / STEPS_PER_UNIT)?;
    Ok((text, source))
}

fn remembered(text: &str, budget: &Budget) -> Result<Arc<Pattern>> {
    let known = || PATTERNS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(pattern) = known().get(text) {
        return Ok(Arc::clone(pattern));
    }
    let (any, per_state) = COMPILE_UNITS;
    budget.charge(any.saturating_add(per_state.saturating_mul(states::of(text))))?;
    let pattern = Pattern::compile(text).map_err(|words| ExecutionError::function_error("matches", words))?;
    let pattern = Arc::new(pattern);
    let mut known = known();
    if known.len() >= REMEMBERED {
        known.clear();
    }
    known.insert(text.to_owned(), Arc::clone(&pattern));
    Ok(pattern)
}

fn matches<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, source) = subject(&args)?;
    Ok(CowVal::owned(CelBool::from(
        source.pattern().regex.is_match(text),
    )))
}

fn find<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, source) = subject(&args)?;
    let found = source
        .pattern()
        .regex
        .find(text)
        .map(|found| found.as_str().to_owned())
        .unwrap_or_default();
    Ok(CowVal::owned(CelString::from(found)))
}

fn find_all<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>> {
    let (text, source) = subject(&args)?;
    let limit = args
        .get(3)
        .and_then(|limit| limit.downcast_ref::<CelInt>())
        .map_or(-1, |limit| *limit.inner());
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let budget = args
        .first()
        .map(budget_of)
        .ok_or_else(ExecutionError::missing_argument_or_target)??;
    let pattern = source.pattern();
    let mut found: Vec<Box<dyn Val + 'v>> = Vec::new();
    for hit in pattern.regex.find_iter(text).take(limit) {
        // The next search may look at all of the rest.
        let rest = (text.len() - hit.end()) as u64;
        budget.charge(1 + rest.saturating_mul(pattern.states) / STEPS_PER_HIT)?;
        found.push(Box::new(CelString::from(hit.as_str().to_owned())));
    }
    Ok(CowVal::owned(CelList::from(found)))
}
