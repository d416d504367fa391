//! Bounds the work of an expression: every loop and every operation on large values is paid for first.
//!
//! Decides what things cost and when the budget is spent; never changes a result. Programs are rewritten once, at
//! compile time, so that loop ranges and large operands pass through metering functions that return them unchanged.

use super::names::NAMESPACES;
use ::cel::common::ast::operators;
use ::cel::common::ast::{CallExpr, ComprehensionExpr, EntryExpr, Expr, IdedExpr, LiteralValue};
use ::cel::common::types::{
    CelBytes, CelInt, CelList, CelMap, CelOptional, CelString, DYN_TYPE, INT_TYPE, Kind, Type,
};
use ::cel::common::value::{CowVal, StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Units for all rules of one object. A unit is about one step of the evaluator, well below a microsecond.
const OBJECT_BUDGET: u64 = 5_000_000;
/// Units for one expression.
const EXPRESSION_BUDGET: u64 = 1_000_000;
/// Bytes of text that cost one unit.
const BYTES_PER_UNIT: u64 = 64;

/// Name of the variable under which metered programs find their budget.
pub(super) const VARIABLE: &str = "@budget";
const CHARGE: &str = "@charge";
const WEIGH: &str = "@weigh";

static BUDGET_TYPE: Type = Type::simple_type(Kind::Opaque, "@budget");

/// What is left to spend; clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Budget {
    left: Arc<AtomicU64>,
    floor: Arc<AtomicU64>,
}

impl Budget {
    /// A budget for all rules of one object.
    pub(crate) fn for_object() -> Self {
        Self::of(OBJECT_BUDGET)
    }

    /// A budget for one expression alone.
    pub(crate) fn for_expression() -> Self {
        Self::of(EXPRESSION_BUDGET)
    }

    /// A budget of so many units.
    pub(crate) fn of(units: u64) -> Self {
        Self {
            left: Arc::new(AtomicU64::new(units)),
            floor: Arc::new(AtomicU64::new(0)),
        }
    }

    /// Returns what is left.
    pub(crate) fn left(&self) -> u64 {
        self.left.load(Ordering::Relaxed)
    }

    /// Starts an expression: it may spend its own limit at most.
    pub(super) fn start(&self) {
        let left = self.left.load(Ordering::Relaxed);
        self.floor
            .store(left.saturating_sub(EXPRESSION_BUDGET), Ordering::Relaxed);
    }

    /// Tells whether an expression asked for more than there was.
    pub(crate) fn is_spent(&self) -> bool {
        self.left.load(Ordering::Relaxed) == 0
    }

    /// Pays; when there is not enough left, the budget is spent for good.
    pub(super) fn charge(&self, units: u64) -> Result<(), ExecutionError> {
        let floor = self.floor.load(Ordering::Relaxed);
        let left = self.left.load(Ordering::Relaxed);
        if left < units.saturating_add(floor).saturating_add(1) {
            self.left.store(0, Ordering::Relaxed);
            return Err(ExecutionError::function_error(
                CHARGE,
                "actual cost limit exceeded",
            ));
        }
        self.left.store(left - units, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the most that may still be weighed before the answer cannot matter.
    fn ceiling(&self) -> u64 {
        self.left.load(Ordering::Relaxed).saturating_add(1)
    }
}

impl Val for Budget {
    fn get_type(&self) -> &Type {
        &BUDGET_TYPE
    }

    fn cel_type() -> &'static Type {
        &BUDGET_TYPE
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(self.clone())
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Budget {}

/// Returns the budget that a metering function was given.
pub(super) fn budget_of<'a>(value: &'a CowVal<'_, '_>) -> Result<&'a Budget, ExecutionError> {
    value
        .downcast_ref::<Budget>()
        .ok_or_else(|| ExecutionError::InternalError("a metered call has lost its budget".to_owned()))
}

/// Adds the metering functions.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    let budget = || BUDGET_TYPE.to_owned();
    env.add_overload(WEIGH, "@weigh(dyn)", vec![budget(), DYN_TYPE], weigh)?;
    env.add_overload(
        CHARGE,
        "@charge(dyn,int)",
        vec![budget(), DYN_TYPE, INT_TYPE],
        charge,
    )
}

fn weigh<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut args = args.into_iter();
    let (Some(budget), Some(value)) = (args.next(), args.next()) else {
        return Err(ExecutionError::missing_argument_or_target());
    };
    let budget = budget_of(&budget)?;
    budget.charge(weight(value.as_ref(), budget.ceiling()))?;
    Ok(value)
}

fn charge<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
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
    Ok(range)
}

/// Returns the size of a value in units, or anything above `limit` once that is reached.
pub(super) fn weight(value: &dyn Val, limit: u64) -> u64 {
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
        for member in map.inner().values() {
            if total > limit {
                break;
            }
            total += weight(member.as_ref(), limit - total.min(limit));
        }
    } else if let Some(optional) = value.downcast_ref::<CelOptional<'_>>()
        && let Some(inner) = optional.inner()
    {
        total += weight(inner, limit);
    }
    total
}

/// Rewrites an expression so that its loops and large operands are paid for.
pub(super) fn metered(expr: IdedExpr) -> IdedExpr {
    let id = expr.id;
    let expr = match expr.expr {
        Expr::Call(call) => return metered_call(id, call),
        Expr::Comprehension(comprehension) => Expr::Comprehension(Box::new(metered_loop(*comprehension))),
        Expr::List(mut list) => {
            list.elements = list
                .elements
                .into_iter()
                .map(|element| weighed(metered(element)))
                .collect();
            Expr::List(list)
        }
        Expr::Map(mut map) => {
            for entry in &mut map.entries {
                meter_entry(&mut entry.expr);
            }
            Expr::Map(map)
        }
        Expr::Struct(mut fields) => {
            for entry in &mut fields.entries {
                meter_entry(&mut entry.expr);
            }
            Expr::Struct(fields)
        }
        Expr::Select(mut select) => {
            // A bare name stays bare: the evaluator resolves `a.b.c` as a whole.
            *select.operand = metered(*select.operand);
            Expr::Select(select)
        }
        other @ (Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_)) => other,
    };
    IdedExpr { id, expr }
}

fn meter_entry(entry: &mut EntryExpr) {
    let take = |expr: &mut IdedExpr| weighed(metered(std::mem::take(expr)));
    match entry {
        EntryExpr::StructField(field) => field.value = take(&mut field.value),
        EntryExpr::MapEntry(entry) => {
            entry.key = metered(std::mem::take(&mut entry.key));
            entry.value = take(&mut entry.value);
        }
    }
}

fn metered_call(id: u64, mut call: CallExpr) -> IdedExpr {
    let grows = call.func_name == operators::ADD && !is_accumulator(call.args.first());
    let compares = matches!(
        call.func_name.as_str(),
        operators::EQUALS | operators::NOT_EQUALS | operators::IN
    );
    let function = call.func_name.starts_with(|c: char| c.is_ascii_alphabetic());
    let pay = |expr: IdedExpr| {
        if compares || function {
            weighed(metered(expr))
        } else {
            metered(expr)
        }
    };
    call.args = call.args.into_iter().map(pay).collect();
    call.target = call.target.map(|target| {
        let namespace = matches!(&target.expr, Expr::Ident(name) if NAMESPACES.contains(&name.as_str()));
        Box::new(if namespace { *target } else { pay(*target) })
    });
    let call = with_budget(call);
    let metered = IdedExpr {
        id,
        expr: Expr::Call(call),
    };
    if grows || function {
        weighed(metered)
    } else {
        metered
    }
}

/// Turns functions that can do more work than their operands weigh into variants that see the budget.
fn with_budget(mut call: CallExpr) -> CallExpr {
    let name = match (call.func_name.as_str(), call.target.is_some(), call.args.len()) {
        ("matches", true, 1) | ("matches", false, 2) => "@matches",
        ("find", true, 1) => "@find",
        ("findAll", true, 1 | 2) => "@findAll",
        ("replace", true, 2 | 3) => "@replace",
        _ => return call,
    };
    name.clone_into(&mut call.func_name);
    let mut args = vec![budget_ident()];
    args.extend(call.target.take().map(|target| *target));
    args.append(&mut call.args);
    call.args = args;
    call
}

fn metered_loop(mut comprehension: ComprehensionExpr) -> ComprehensionExpr {
    comprehension.accu_init = metered(comprehension.accu_init);
    comprehension.loop_cond = metered(comprehension.loop_cond);
    comprehension.loop_step = metered(comprehension.loop_step);
    comprehension.result = metered(comprehension.result);
    let step = nodes(&comprehension.loop_step) + nodes(&comprehension.loop_cond);
    let range = metered(comprehension.iter_range);
    let step = IdedExpr {
        id: 0,
        expr: Expr::Literal(LiteralValue::Int(CelInt::from(step))),
    };
    let call = CallExpr {
        func_name: CHARGE.to_owned(),
        target: None,
        args: vec![budget_ident(), range, step],
    };
    comprehension.iter_range = IdedExpr {
        id: 0,
        expr: Expr::Call(call),
    };
    comprehension
}

/// Counts the steps of one evaluation; loops inside pay for their own rounds.
fn nodes(expr: &IdedExpr) -> i64 {
    let list = |exprs: &[IdedExpr]| exprs.iter().map(nodes).sum::<i64>();
    1 + match &expr.expr {
        Expr::Call(call) => call.target.as_deref().map_or(0, nodes) + list(&call.args),
        Expr::Comprehension(inner) => {
            nodes(&inner.iter_range) + nodes(&inner.accu_init) + nodes(&inner.result)
        }
        Expr::List(elements) => list(&elements.elements),
        Expr::Map(map) => map.entries.iter().map(|entry| entry_nodes(&entry.expr)).sum(),
        Expr::Struct(fields) => fields.entries.iter().map(|entry| entry_nodes(&entry.expr)).sum(),
        Expr::Select(select) => nodes(&select.operand),
        Expr::Unspecified | Expr::Ident(_) | Expr::Literal(_) => 0,
    }
}

fn entry_nodes(entry: &EntryExpr) -> i64 {
    match entry {
        EntryExpr::StructField(field) => nodes(&field.value),
        EntryExpr::MapEntry(entry) => nodes(&entry.key) + nodes(&entry.value),
    }
}

fn is_accumulator(expr: Option<&IdedExpr>) -> bool {
    expr.is_some_and(|expr| matches!(&expr.expr, Expr::Ident(name) if name.starts_with('@')))
}

fn budget_ident() -> IdedExpr {
    IdedExpr {
        id: 0,
        expr: Expr::Ident(VARIABLE.to_owned()),
    }
}

/// Wraps an expression in a payment for its value, unless the value is known to be small.
fn weighed(expr: IdedExpr) -> IdedExpr {
    let small = match &expr.expr {
        Expr::Literal(_) => true,
        Expr::Ident(name) => name.starts_with('@'),
        Expr::Call(call) => call.func_name == WEIGH || is_boolean(&call.func_name),
        Expr::Select(select) => select.test,
        Expr::Unspecified | Expr::Comprehension(_) | Expr::List(_) | Expr::Map(_) | Expr::Struct(_) => false,
    };
    if small {
        return expr;
    }
    let id = expr.id;
    let call = CallExpr {
        func_name: WEIGH.to_owned(),
        target: None,
        args: vec![budget_ident(), expr],
    };
    IdedExpr {
        id,
        expr: Expr::Call(call),
    }
}

fn is_boolean(function: &str) -> bool {
    matches!(
        function,
        operators::LOGICAL_AND
            | operators::LOGICAL_OR
            | operators::LOGICAL_NOT
            | operators::EQUALS
            | operators::NOT_EQUALS
            | operators::LESS
            | operators::LESS_EQUALS
            | operators::GREATER
            | operators::GREATER_EQUALS
            | operators::IN
            | "startsWith"
            | "endsWith"
            | "contains"
            | "size"
            | "@matches"
    )
}
