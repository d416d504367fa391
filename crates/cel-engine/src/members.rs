//! `@path`: members of plain data, looked up one after the other. `@evaluated`: whether a variable of a policy could be evaluated.
//!
//! Decides nothing that `a.b.c` and `has(variables.x)` would not: it is what lowering makes of them.

use ::cel::common::types::{CelBool, DYN_TYPE, Kind, STRING_TYPE};
use ::cel::common::value::CowVal;
use ::cel::{DeclarationError, Env, ExecutionError};

/// Name of the function.
pub(super) const PATH: &str = "@path";
/// Name of the function that is true for every value, and fails where its operand does.
pub(super) const EVALUATED: &str = "@evaluated";
/// Most members that one call looks up.
pub(super) const LONGEST: usize = 8;

/// Adds the function.
pub(super) fn register(env: &mut Env) -> Result<(), DeclarationError> {
    for members in 1..=LONGEST {
        let mut args = vec![DYN_TYPE];
        args.extend((0..members).map(|_| STRING_TYPE));
        env.add_overload(PATH, &format!("@path({members})"), args, path)?;
    }
    env.add_overload(EVALUATED, "@evaluated(dyn)", vec![DYN_TYPE], evaluated)
}

#[expect(
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "the signature of a function of the evaluator"
)]
fn evaluated<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    Ok(CowVal::owned(CelBool::from(!args.is_empty())))
}

fn path<'b, 'v>(args: Vec<CowVal<'b, 'v>>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let mut args = args.into_iter();
    let mut value = args
        .next()
        .ok_or_else(ExecutionError::missing_argument_or_target)?;
    for name in args {
        value = member(value, &name)?;
    }
    Ok(value)
}

#[expect(clippy::needless_pass_by_value, reason = "a value that is owned is used up")]
fn member<'b, 'v>(value: CowVal<'b, 'v>, name: &CowVal<'_, '_>) -> Result<CowVal<'b, 'v>, ExecutionError> {
    let missing = || {
        let kind = value.get_type().name().to_owned();
        ExecutionError::no_such_overload("_._", vec![kind, "string".to_owned()])
    };
    match &value {
        // A member of a borrowed value is handed out; one of an owned value, which ends here, is copied out.
        CowVal::Borrowed(held) => held.as_indexer().ok_or_else(missing)?.get(name.as_ref()),
        CowVal::Owned(own) if own.get_type().kind() == Kind::List => Err(missing()),
        CowVal::Owned(own) => {
            let found = own.as_indexer().ok_or_else(missing)?.get(name.as_ref())?;
            Ok(CowVal::Owned(found.into_owned()))
        }
    }
}
