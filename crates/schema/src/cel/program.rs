//! One compiled expression.
//!
//! Decides what compiles and how failures are told; evaluation goes through [`super::scope`] or [`Program::eval`].

use super::convert::{self, Needs};
use super::engine::engine;
use super::meter::{self, Budget};
use super::names::{self, Known};
use ::cel::common::ast::{EntryExpr, Expr, IdedExpr, operators};
use ::cel::common::value::CowVal;
use ::cel::{Context, ExecutionError, ParseErrors, Program as Parsed};
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Longest expression that is compiled, in bytes.
const LONGEST: usize = 10 * 1024;

/// Why an expression does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CompileError {
    /// The expression is wrong.
    Wrong(String),
    /// The expression may be right, but uses something that this engine does not have.
    Unsupported(String),
}

/// Why an expression has no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum EvalError {
    /// An operator or function does not fit its operands.
    NoOverload(String),
    /// The expression would take too long.
    BudgetSpent,
    /// Everything else: `no such key: x`, `division by zero`.
    Failed(String),
}

/// A compiled expression: cheap to evaluate any number of times, from any thread.
///
/// An evaluation does a bounded amount of work (about a million steps; rules of one object share five million) and
/// fails when it would need more.
#[derive(Debug)]
pub struct Program {
    pub(super) source: String,
    /// The expression as written, for checks.
    pub(super) parsed: Parsed,
    /// The expression as evaluated: metered.
    metered: IdedExpr,
    /// What it reads of `self`; `None` when nothing.
    pub(super) reads_self: Option<Needs>,
    /// What it reads of `oldSelf`.
    pub(super) reads_old: Option<Needs>,
}

impl Program {
    /// Compiles an expression; the error tells what is wrong with it or what this engine lacks.
    pub fn compile(source: &str) -> Result<Self, String> {
        Self::build(source).map_err(|error| match error {
            CompileError::Wrong(words) | CompileError::Unsupported(words) => words,
        })
    }

    /// Compiles an expression and tells wrong from unsupported.
    pub(crate) fn build(source: &str) -> Result<Self, CompileError> {
        Self::build_from(source, |parsed| Ok(parsed.expression().clone()))
    }

    /// Compiles what `plain` makes of the parsed text.
    pub(super) fn build_from(
        source: &str,
        plain: impl FnOnce(&Parsed) -> Result<IdedExpr, CompileError>,
    ) -> Result<Self, CompileError> {
        if source.len() > LONGEST {
            return Err(CompileError::Wrong(format!(
                "expression is longer than {LONGEST} bytes"
            )));
        }
        let parsed = engine()
            .compile(source)
            .map_err(|errors| CompileError::Wrong(syntax_errors(&errors, source)))?;
        let expr = plain(&parsed)?;
        check_functions(&expr, source, &parsed)?;
        let metered = meter::metered(expr);
        let (reads_self, reads_old) = (
            needs(parsed.expression(), "self"),
            needs(parsed.expression(), "oldSelf"),
        );
        Ok(Self {
            source: source.to_owned(),
            parsed,
            metered,
            reads_self,
            reads_old,
        })
    }

    /// Evaluates with JSON values as variables, typed by their JSON types.
    pub fn eval(&self, vars: &[(&str, &Value)]) -> Result<Value, String> {
        let budget = Budget::for_expression();
        let mut context = Context::with_env(Arc::clone(engine()));
        for (name, value) in vars {
            context.add_variable_as_val(*name, convert::untyped(value));
        }
        context.add_variable_as_val(meter::VARIABLE, Box::new(budget.clone()));
        let result = self
            .run(&context, &budget)
            .map_err(|error| error.words().to_owned())?;
        convert::to_json(result.as_ref())
    }

    /// Evaluates in a context that has all variables and the budget.
    pub(super) fn run<'e, 'v>(
        &'e self,
        context: &'e Context<'_, 'v>,
        budget: &Budget,
    ) -> Result<CowVal<'e, 'v>, EvalError> {
        budget.start();
        let result = ::cel::Value::resolve_val(&self.metered, context);
        // A spent budget decides, even if an operator such as `||` has absorbed the error.
        if budget.is_spent() {
            return Err(EvalError::BudgetSpent);
        }
        result.map_err(|error| explain(&error))
    }

    /// Tells whether the expression reads `oldSelf`.
    pub(crate) fn reads_old(&self) -> bool {
        self.reads_old.is_some()
    }
}

/// Returns which members of a variable an expression reads; `None` when it does not read it at all.
fn needs(expr: &IdedExpr, variable: &str) -> Option<Needs> {
    let mut reads = Reads {
        variable,
        fields: BTreeSet::new(),
        whole: false,
        seen: false,
    };
    reads.visit(expr);
    match (reads.seen, reads.whole) {
        (false, _) => None,
        (true, true) => Some(Needs::All),
        (true, false) => Some(Needs::Fields(reads.fields)),
    }
}

impl EvalError {
    /// Returns the words of the failure.
    pub(crate) fn words(&self) -> &str {
        match self {
            Self::NoOverload(words) | Self::Failed(words) => words,
            Self::BudgetSpent => "operation cancelled: actual cost limit exceeded",
        }
    }
}

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
        ExecutionError::FunctionError { message, .. } => message.clone(),
        other => other.to_string(),
    };
    EvalError::Failed(words)
}

fn syntax_errors(errors: &ParseErrors, source: &str) -> String {
    let told = errors.errors.iter().map(|error| {
        located(
            error.pos,
            &format!("Syntax error: {}", error.msg.trim_start_matches("Syntax error: ")),
            source,
        )
    });
    told.collect::<Vec<_>>().join("\n")
}

/// Words a fault with the place where it stands in the source. Lines and columns count from one.
pub(super) fn located((line, column): (isize, isize), words: &str, source: &str) -> String {
    let text = usize::try_from(line - 1)
        .ok()
        .and_then(|at| source.lines().nth(at))
        .unwrap_or_default();
    let dots = ".".repeat(usize::try_from(column - 1).unwrap_or(0));
    format!("ERROR: <input>:{line}:{column}: {words}\n | {text}\n | {dots}^")
}

/// Returns the line and column of an expression in its source.
pub(super) fn position(parsed: &Parsed, source: &str, id: u64) -> (isize, isize) {
    let Some((start, _)) = parsed.source_info().offset_for(id) else {
        return (1, 1);
    };
    let before: String = source.chars().take(usize::try_from(start).unwrap_or(0)).collect();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
    (
        isize::try_from(line).unwrap_or(1),
        isize::try_from(column).unwrap_or(1),
    )
}

fn check_functions(expr: &IdedExpr, source: &str, parsed: &Parsed) -> Result<(), CompileError> {
    if let Expr::Call(call) = &expr.expr {
        let namespace = call.target.as_deref().and_then(|target| match &target.expr {
            Expr::Ident(name) => Some(name.as_str()),
            Expr::Unspecified
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Literal(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => None,
        });
        let place = position(parsed, source, expr.id);
        match names::look_up(&call.func_name, namespace) {
            Known::Here => {}
            Known::Elsewhere => {
                let words = format!("function '{}' is not supported by this server", call.func_name);
                return Err(CompileError::Unsupported(located(place, &words, source)));
            }
            Known::Nowhere => {
                let words = format!("undeclared reference to '{}' (in container '')", call.func_name);
                return Err(CompileError::Wrong(located(place, &words, source)));
            }
        }
    }
    if let Expr::Struct(fields) = &expr.expr {
        let words = format!("type '{}' is not supported by this server", fields.type_name);
        return Err(CompileError::Unsupported(located(
            position(parsed, source, expr.id),
            &words,
            source,
        )));
    }
    children(expr)
        .into_iter()
        .try_for_each(|child| check_functions(child, source, parsed))
}

/// Returns the direct parts of an expression.
pub(super) fn children(expr: &IdedExpr) -> Vec<&IdedExpr> {
    match &expr.expr {
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => Vec::new(),
        Expr::Call(call) => call.target.as_deref().into_iter().chain(&call.args).collect(),
        Expr::Comprehension(inner) => {
            vec![
                &inner.iter_range,
                &inner.accu_init,
                &inner.loop_cond,
                &inner.loop_step,
                &inner.result,
            ]
        }
        Expr::List(list) => list.elements.iter().collect(),
        Expr::Map(map) => map
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Struct(fields) => fields
            .entries
            .iter()
            .flat_map(|entry| entry_parts(&entry.expr))
            .collect(),
        Expr::Select(select) => vec![&select.operand],
    }
}

fn entry_parts(entry: &EntryExpr) -> Vec<&IdedExpr> {
    match entry {
        EntryExpr::StructField(field) => vec![&field.value],
        EntryExpr::MapEntry(entry) => vec![&entry.key, &entry.value],
    }
}

/// Collects which members of a variable an expression reads.
struct Reads<'a> {
    variable: &'a str,
    fields: BTreeSet<String>,
    whole: bool,
    seen: bool,
}

impl Reads<'_> {
    fn visit(&mut self, expr: &IdedExpr) {
        match &expr.expr {
            Expr::Ident(name) if name == self.variable => {
                self.seen = true;
                self.whole = true;
            }
            Expr::Select(select) if self.is_variable(&select.operand) => self.field(&select.field),
            Expr::Call(call) if call.func_name == operators::OPT_SELECT => match call.args.as_slice() {
                [operand, field] if self.is_variable(operand) => match &field.expr {
                    Expr::Literal(::cel::common::ast::LiteralValue::String(name)) => self.field(name.inner()),
                    Expr::Unspecified
                    | Expr::Ident(_)
                    | Expr::Literal(_)
                    | Expr::Call(_)
                    | Expr::Comprehension(_)
                    | Expr::List(_)
                    | Expr::Map(_)
                    | Expr::Select(_)
                    | Expr::Struct(_) => {
                        self.seen = true;
                        self.whole = true;
                    }
                },
                args => args.iter().for_each(|arg| self.visit(arg)),
            },
            Expr::Unspecified
            | Expr::Ident(_)
            | Expr::Literal(_)
            | Expr::Call(_)
            | Expr::Comprehension(_)
            | Expr::List(_)
            | Expr::Map(_)
            | Expr::Select(_)
            | Expr::Struct(_) => children(expr).into_iter().for_each(|child| self.visit(child)),
        }
    }

    fn field(&mut self, name: &str) {
        self.seen = true;
        self.fields.insert(name.to_owned());
    }

    fn is_variable(&self, expr: &IdedExpr) -> bool {
        matches!(&expr.expr, Expr::Ident(name) if name == self.variable)
    }
}
