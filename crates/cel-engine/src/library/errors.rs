//! The error that several functions share.
//!
//! Decides nothing; the words are told by those who evaluate.

use ::cel::ExecutionError;

/// The error of a call with operands that the function does not have.
pub(super) fn no_overload(function: &str) -> ExecutionError {
    ExecutionError::no_such_overload(function, Vec::new())
}
