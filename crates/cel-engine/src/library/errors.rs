//! The error that several functions share.
//!
//! The evaluator adds the text.

use ::cel::ExecutionError;

/// The error of a call with operands that the function does not have.
pub(super) fn no_overload(function: &str) -> ExecutionError {
    ExecutionError::no_such_overload(function, Vec::new())
}
