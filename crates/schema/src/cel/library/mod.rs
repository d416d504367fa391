//! Table of contents of the functions that Kubernetes adds to CEL.

mod lists;
mod net;
mod quantity;
mod regex;
mod sets;
mod text;
mod url;

use ::cel::{DeclarationError, Env, ExecutionError};

/// Adds all functions to an environment.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    lists::register(env)?;
    sets::register(env)?;
    regex::register(env)?;
    text::register(env)?;
    url::register(env)?;
    quantity::register(env)?;
    net::register(env)
}

/// The error of a call with operands that the function does not have.
fn no_overload(function: &str) -> ExecutionError {
    ExecutionError::no_such_overload(function, Vec::new())
}
