//! Quantities such as `500Mi`: `quantity`, `isQuantity` and their members.
//!
//! Decides what expressions may ask of a quantity, as cel-go does: a number is an integer only if it is written without a part
//! below one (`1000m` is none). Reading, order and printing are `kubernetes::quantity`.

use ::cel::common::types::{CelBool, CelDouble, CelInt, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use kubernetes::quantity::{Format, Quantity as Amount};
use std::any::Any;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, ExecutionError>;

static QUANTITY: Type = Type::simple_type(Kind::Opaque, "kubernetes.Quantity");

/// A quantity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Quantity(Amount);

impl Quantity {
    /// Reads a quantity: a decimal number and a suffix (`m`, `k`, `Mi`, `e3`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        Amount::parse(text).map(Self)
    }

    /// Returns the form that Kubernetes prints.
    pub(crate) fn canonical(self) -> String {
        self.0.to_string()
    }
}

impl Val for Quantity {
    fn get_type(&self) -> &Type {
        &QUANTITY
    }

    fn cel_type() -> &'static Type {
        &QUANTITY
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| self.0 == other.0)
    }

    fn clone_as_boxed<'v>(&self) -> Box<dyn Val + 'v> {
        Box::new(*self)
    }

    fn as_any(&self) -> Option<&dyn Any> {
        Some(self)
    }
}

impl StaticVal for Quantity {}

/// Adds the functions.
pub(super) fn register(env: &mut Env) -> std::result::Result<(), DeclarationError> {
    env.add_type(QUANTITY.to_owned())?;
    add_overload!(env, fn quantity: (CelString<'_>) -> Result<Quantity>)?;
    add_overload!(env, fn is_quantity: (CelString<'_>) -> CelBool)?;
    add_member_overload!(env, fn sign: (Quantity) -> CelInt)?;
    add_member_overload!(env, fn is_integer: (Quantity) -> CelBool)?;
    add_member_overload!(env, fn as_integer: (Quantity) -> Result<CelInt>)?;
    add_member_overload!(env, fn as_approximate_float: (Quantity) -> CelDouble)?;
    add_member_overload!(env, fn add: (Quantity, Quantity) -> Quantity)?;
    add_member_overload!(env, fn add_whole: (Quantity, CelInt) -> Quantity, name = "add")?;
    add_member_overload!(env, fn sub: (Quantity, Quantity) -> Quantity)?;
    add_member_overload!(env, fn sub_whole: (Quantity, CelInt) -> Quantity, name = "sub")?;
    add_member_overload!(env, fn is_greater_than: (Quantity, Quantity) -> CelBool)?;
    add_member_overload!(env, fn is_less_than: (Quantity, Quantity) -> CelBool)?;
    add_member_overload!(env, fn compare_to: (Quantity, Quantity) -> CelInt)
}

fn quantity(text: &CelString<'_>) -> Result<Quantity> {
    let wrong = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    Quantity::parse(text.inner()).ok_or_else(|| ExecutionError::function_error("quantity", wrong))
}

fn is_quantity(text: &CelString<'_>) -> CelBool {
    Quantity::parse(text.inner()).is_some().into()
}

fn from_whole(whole: i64) -> Amount {
    Amount::whole(whole, Format::Decimal)
}

fn order(this: &Quantity, other: &Quantity) -> Ordering {
    this.0.cmp(&other.0)
}

fn sign(this: &Quantity) -> CelInt {
    CelInt::from(this.0.nanos().cmp(&0) as i64)
}

fn is_integer(this: &Quantity) -> CelBool {
    this.0.as_integer().is_some().into()
}

fn as_integer(this: &Quantity) -> Result<CelInt> {
    let wrong = || ExecutionError::function_error("asInteger", "cannot convert value to integer");
    this.0.as_integer().map(CelInt::from).ok_or_else(wrong)
}

fn as_approximate_float(this: &Quantity) -> CelDouble {
    this.0.float().into()
}

fn add(this: &Quantity, other: &Quantity) -> Quantity {
    Quantity(this.0.plus(other.0))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn add_whole(this: &Quantity, other: &CelInt) -> Quantity {
    Quantity(this.0.plus(from_whole(*other.inner())))
}

fn sub(this: &Quantity, other: &Quantity) -> Quantity {
    Quantity(this.0.plus(other.0.negated()))
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn sub_whole(this: &Quantity, other: &CelInt) -> Quantity {
    Quantity(this.0.plus(from_whole(*other.inner()).negated()))
}

fn is_greater_than(this: &Quantity, other: &Quantity) -> CelBool {
    (order(this, other) == Ordering::Greater).into()
}

fn is_less_than(this: &Quantity, other: &Quantity) -> CelBool {
    (order(this, other) == Ordering::Less).into()
}

fn compare_to(this: &Quantity, other: &Quantity) -> CelInt {
    CelInt::from(order(this, other) as i64)
}
