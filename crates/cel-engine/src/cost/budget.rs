//! How much work expressions may do.
//!
//! Decides when the budget is spent; [`super::meter`] decides what is paid for. Knows no clock: a caller with a deadline
//! flips the signal to stop from outside.

use ::cel::ExecutionError;
use ::cel::common::types::{Kind, Type};
use ::cel::common::value::{CowVal, StaticVal, Val};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::stop::Stop;

/// Units for one expression. A unit is about one step of the evaluator, well below a microsecond.
pub(crate) const EXPRESSION_UNITS: u64 = 1_000_000;

pub(super) static BUDGET_TYPE: Type = Type::simple_type(Kind::Opaque, "@budget");

/// What is left to spend; clones share it.
///
/// A unit is about one step of the evaluator. Once an expression asks for more than there is, the budget is spent for
/// good: every later evaluation on it fails.
#[derive(Clone, Debug)]
pub struct Budget {
    units: Arc<Units>,
}

#[derive(Debug)]
struct Units {
    left: AtomicU64,
    /// What must remain when the running expression ends.
    floor: AtomicU64,
    /// Ends every evaluation at its next payment.
    stop: Stop,
}

impl Budget {
    /// A budget of so many units; one expression may take a million of them at most.
    pub fn of(units: u64) -> Self {
        Self::until(units, &Stop::never())
    }

    /// A budget of so many units that is also spent when `stop` is flipped: for a deadline that another thread watches.
    pub fn until(units: u64, stop: &Stop) -> Self {
        Self {
            units: Arc::new(Units {
                left: AtomicU64::new(units),
                floor: AtomicU64::new(0),
                stop: stop.clone(),
            }),
        }
    }

    /// Tells whether an expression asked for more than there was, or the signal to stop was flipped.
    pub fn is_spent(&self) -> bool {
        self.left() == 0 || self.stop().is_stopped()
    }

    /// Returns the signal that ends it.
    pub(crate) fn stop(&self) -> &Stop {
        &self.units.stop
    }

    /// Returns the units that are left.
    pub fn left(&self) -> u64 {
        self.units.left.load(Ordering::Relaxed)
    }

    /// Starts an expression: it may spend its own limit at most.
    pub(crate) fn start(&self) {
        let floor = self.left().saturating_sub(EXPRESSION_UNITS);
        self.units.floor.store(floor, Ordering::Relaxed);
    }

    /// Pays; when there is not enough left, the budget is spent for good.
    pub(crate) fn charge(&self, units: u64) -> Result<(), ExecutionError> {
        let floor = self.units.floor.load(Ordering::Relaxed);
        let left = self.left();
        if left < units.saturating_add(floor).saturating_add(1) || self.stop().is_stopped() {
            self.units.left.store(0, Ordering::Relaxed);
            return Err(overdrawn());
        }
        self.units.left.store(left - units, Ordering::Relaxed);
        Ok(())
    }

    /// Returns the most that may still be weighed before the answer cannot matter.
    pub(crate) fn ceiling(&self) -> u64 {
        self.left().saturating_add(1)
    }
}

/// The error of a spent budget.
pub(crate) fn overdrawn() -> ExecutionError {
    ExecutionError::function_error("@charge", "actual cost limit exceeded")
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
pub(crate) fn budget_of<'a>(value: &'a CowVal<'_, '_>) -> Result<&'a Budget, ExecutionError> {
    value
        .downcast_ref::<Budget>()
        .ok_or_else(|| ExecutionError::InternalError("a metered call has lost its budget".to_owned()))
}
