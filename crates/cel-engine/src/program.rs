//! One compiled expression.
//!
//! Decides what compiles and how failures are reported. Never decides what the variables are: those who evaluate bind them.

use super::ast::{bare_name, children};
use super::cost::Budget;
use super::diagnose::{self, CompileError};
use super::engine::engine;
use super::engine::{Misuse, Purpose};
use super::library::Pattern;
use super::lower::lower;
use super::names::{self, Availability};
use super::referenced_fields::{ReferencedFields, referenced_fields};
use super::{cost, objects, run, stack, texts};
use ::cel::common::ast::{Expr, IdedExpr, SourceInfo};
use ::cel::common::value::CowVal;
use ::cel::{Context, ExecutionError};

/// Longest expression that is compiled, in bytes.
const LONGEST: usize = 10 * 1024;

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvalError {
    /// An operator or function does not fit its operands.
    NoOverload(String),
    /// The expression would take too long.
    BudgetSpent,
    /// The caller has stopped it: there is no more time.
    Stopped,
    /// Everything else: `no such key: x`, `division by zero`.
    Failed(String),
}

/// A compiled expression: cheap to evaluate any number of times, from any thread.
///
/// An evaluation does a bounded amount of work (about a million steps; rules of one object share five million) and
/// fails when it would need more.
#[derive(Debug)]
pub struct Program {
    source: String,
    /// The expression as written, for checks.
    parsed: IdedExpr,
    places: SourceInfo,
    /// The expression as evaluated: lowered and metered.
    metered: IdedExpr,
    patterns: Vec<Pattern>,
}

impl Program {
    /// Compiles an expression; the error tells what is wrong with it or what this engine lacks.
    pub fn compile(source: &str) -> Result<Self, String> {
        Self::build(source).map_err(|error| error.to_string())
    }

    /// Compiles an expression that may write objects, as mutations do.
    pub fn compile_mutation(source: &str) -> Result<Self, String> {
        Self::build_for(source, Purpose::Mutation).map_err(|error| error.to_string())
    }

    /// Compiles an expression; the error tells the places of all faults.
    pub fn build(source: &str) -> Result<Self, CompileError> {
        Self::build_for(source, Purpose::Judgement)
    }

    /// Compiles an expression for a purpose.
    pub fn build_for(source: &str, purpose: Purpose) -> Result<Self, CompileError> {
        if source.len() > LONGEST {
            let words = format!("expression is longer than {LONGEST} bytes");
            return Err(CompileError::whole(source, words));
        }
        super::nesting::check(source)?;
        let parser = engine().parser().enable_ident_escape_syntax(true);
        let (parsed, places) = parser
            .parse_with_source_info(source)
            .map_err(|errors| CompileError::syntax(source, &errors))?;
        let checks = [
            check_functions(&parsed, purpose),
            objects::check(&parsed, purpose),
            texts::check(&parsed),
        ];
        if let Some(misuse) = checks.into_iter().flatten().next() {
            let error = CompileError::at(source, &places, misuse.id, misuse.words);
            return Err(if misuse.unsupported {
                error.unsupported()
            } else {
                error
            });
        }
        let lowered = lower(parsed.clone())
            .map_err(|misspelt| CompileError::at(source, &places, misspelt.id, misspelt.words))?;
        let metered = cost::metered(lowered.expr);
        if stack::needed(&metered) > stack::MOST {
            let words = "expression is nested too deeply".to_owned();
            return Err(CompileError::whole(source, words));
        }
        Ok(Self {
            source: source.to_owned(),
            parsed,
            places,
            metered,
            patterns: lowered.patterns,
        })
    }

    /// Makes a program of an expression that has no source of its own, such as a call with a literal.
    pub(super) fn of_literals(expr: IdedExpr) -> Self {
        Self {
            source: String::new(),
            parsed: expr.clone(),
            places: SourceInfo::default(),
            metered: cost::metered(expr),
            patterns: Vec::new(),
        }
    }

    /// Returns the expression as it was written.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Evaluates in a context that has all variables, as part of an expression that is running already.
    pub(super) fn run<T>(
        &self,
        scope: Context<'_, '_>,
        budget: &Budget,
        read: impl FnOnce(CowVal<'_, '_>) -> Result<T, ExecutionError>,
    ) -> Result<T, ExecutionError> {
        run::run(&self.metered, &self.patterns, scope, budget, read)
    }

    /// Evaluates in a context that has all variables.
    pub fn start<T>(
        &self,
        scope: Context<'_, '_>,
        budget: &Budget,
        read: impl FnOnce(CowVal<'_, '_>) -> Result<T, ExecutionError>,
    ) -> Result<T, EvalError> {
        budget.start();
        let result = self.run(scope, budget, read);
        if budget.stop().is_stopped() {
            return Err(EvalError::Stopped);
        }
        if budget.is_spent() {
            return Err(EvalError::BudgetSpent);
        }
        result.map_err(|error| explain(&error))
    }

    /// Returns the expression as written, for checks.
    pub fn ast(&self) -> &IdedExpr {
        &self.parsed
    }

    /// Makes the error of several faults: each is at a part of the expression, so many bytes before its place.
    pub fn error_at(&self, faults: impl IntoIterator<Item = (u64, usize, String)>) -> CompileError {
        CompileError::all(&self.source, &self.places, faults)
    }

    /// Returns where a list becomes the value of a field of the object that the expression makes: line, column and the name of the
    /// field. `is_list` returns whether a member of a variable is a list.
    pub fn list_in_object(&self, is_list: &dyn Fn(&str, &str) -> bool) -> Option<((isize, isize), &str)> {
        let (id, field) = objects::first_list(&self.parsed, is_list)?;
        Some((self.place(id), field))
    }

    /// Returns what the expression reads of a variable; `None` when nothing.
    pub fn referenced_fields(&self, variable: &str) -> Option<ReferencedFields> {
        referenced_fields(&self.parsed, variable)
    }

    /// Returns the line and column of a part of the expression.
    pub(super) fn place(&self, id: u64) -> (isize, isize) {
        let (_, line, column) = diagnose::place(&self.source, &self.places, id);
        (
            isize::try_from(line).unwrap_or(1),
            isize::try_from(column).unwrap_or(1),
        )
    }

    /// Tells whether the expression reads a variable.
    pub fn reads(&self, variable: &str) -> bool {
        self.referenced_fields(variable).is_some()
    }

    /// Returns the members that the expression reads of a variable; `None` when it uses the variable as a whole.
    pub fn members_read(&self, variable: &str) -> Option<Vec<String>> {
        match self.referenced_fields(variable) {
            None => Some(Vec::new()),
            Some(ReferencedFields::Fields(fields)) => Some(fields.into_iter().collect()),
            Some(ReferencedFields::All) => None,
        }
    }
}

impl EvalError {
    /// Returns the words of the failure.
    pub fn words(&self) -> &str {
        match self {
            Self::NoOverload(words) | Self::Failed(words) => words,
            Self::BudgetSpent => "operation cancelled: actual cost limit exceeded",
            Self::Stopped => "operation cancelled: there was no more time",
        }
    }
}

impl std::fmt::Display for EvalError {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(self.words())
    }
}

impl std::error::Error for EvalError {}

/// Words an evaluation error as the reference engine does.
fn explain(error: &ExecutionError) -> EvalError {
    #[expect(
        clippy::wildcard_enum_match_arm,
        reason = "the enum is non-exhaustive; unknown errors keep their words"
    )]
    let words = match error {
        ExecutionError::NoSuchOverload(_)
        | ExecutionError::UnsupportedBinaryOperator(..)
        | ExecutionError::ValuesNotComparable(..)
        | ExecutionError::UnexpectedType { .. }
        | ExecutionError::UnsupportedIndex(..)
        | ExecutionError::UnsupportedTargetType { .. }
        | ExecutionError::NotSupportedAsMethod { .. }
        | ExecutionError::InvalidArgumentCount { .. } => {
            return EvalError::NoOverload("no such overload".to_owned());
        }
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::DivisionByZero(_) => "division by zero".to_owned(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".to_owned(),
        ExecutionError::Overflow(..) => "integer overflow".to_owned(),
        ExecutionError::IndexOutOfBounds(::cel::Value::Int(at)) => format!("index out of bounds: {at}"),
        ExecutionError::UndeclaredReference(name) => format!("no such attribute(s): {name}"),
        ExecutionError::FunctionError { message, .. } if message.starts_with("Parsing Error:") => {
            "type conversion error from 'string' to 'google.protobuf.Duration'".to_owned()
        }
        ExecutionError::FunctionError { function, message } if message.starts_with("string parse error:") => {
            format!("type conversion error from 'string' to '{function}'")
        }
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    EvalError::Failed(words)
}

fn check_functions(expr: &IdedExpr, purpose: Purpose) -> Option<Misuse> {
    if let Expr::Call(call) = &expr.expr {
        let namespace = call.target.as_deref().and_then(bare_name);
        let known = names::look_up(&call.func_name, namespace);
        let allowed = match known {
            Availability::Here => true,
            Availability::InMutations => purpose == Purpose::Mutation,
            Availability::Nowhere => false,
        };
        if !allowed {
            return Some(Misuse {
                id: expr.id,
                words: format!("undeclared reference to '{}' (in container '')", call.func_name),
                unsupported: false,
            });
        }
    }
    children(expr)
        .into_iter()
        .find_map(|child| check_functions(child, purpose))
}
