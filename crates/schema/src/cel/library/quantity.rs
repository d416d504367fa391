//! Quantities such as `500Mi`: `quantity`, `isQuantity` and their members.
//!
//! Decides by exact decimal arithmetic. Numbers beyond 10^38 are compared approximately.

use ::cel::common::traits::Comparer;
use ::cel::common::types::{CelBool, CelDouble, CelInt, CelString, Kind, Type};
use ::cel::common::value::{StaticVal, Val};
use ::cel::{DeclarationError, Env, ExecutionError, add_member_overload, add_overload};
use std::any::Any;
use std::cmp::Ordering;

type Result<T> = std::result::Result<T, ExecutionError>;

static QUANTITY: Type = Type::simple_type(Kind::Opaque, "kubernetes.Quantity");

/// A quantity: `digits` × 10^`exponent`, exactly, or an approximation where that does not fit.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Quantity {
    Exact { digits: i128, exponent: i32 },
    Approximate(f64),
}

impl Quantity {
    /// Reads a quantity: a decimal number and a suffix (`m`, `k`, `Mi`, `e3`).
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
        let end = unsigned
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(unsigned.len());
        let (number, suffix) = unsigned.split_at_checked(end)?;
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') || number.len() > 1000 {
            return None;
        }
        let (factor, power) = suffix_of(suffix)?;
        let sign = if text.starts_with('-') { -1 } else { 1 };
        let exponent = power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        let digits = format!("{whole}{fraction}")
            .parse::<i128>()
            .ok()
            .and_then(|digits| digits.checked_mul(factor));
        if let Some(digits) = digits {
            return Some(
                Self::Exact {
                    digits: sign * digits,
                    exponent,
                }
                .reduced(),
            );
        }
        let size = format!("0{whole}.{fraction}0").parse::<f64>().ok()?;
        Some(Self::Approximate(
            approximate(sign) * size * approximate(factor) * 10_f64.powi(power),
        ))
    }

    fn reduced(self) -> Self {
        match self {
            Self::Exact { digits: 0, .. } => Self::Exact {
                digits: 0,
                exponent: 0,
            },
            Self::Exact {
                mut digits,
                mut exponent,
            } => {
                while digits % 10 == 0 {
                    digits /= 10;
                    exponent += 1;
                }
                Self::Exact { digits, exponent }
            }
            approximate @ Self::Approximate(_) => approximate,
        }
    }

    fn float(self) -> f64 {
        match self {
            Self::Exact { digits, exponent } => approximate(digits) * 10_f64.powi(exponent),
            Self::Approximate(size) => size,
        }
    }

    /// Returns the digits of both numbers at one common exponent, if they fit.
    fn aligned(self, other: Self) -> Option<(i128, i128, i32)> {
        let (
            Self::Exact {
                digits: left,
                exponent: first,
            },
            Self::Exact {
                digits: right,
                exponent: second,
            },
        ) = (self, other)
        else {
            return None;
        };
        let common = first.min(second);
        let scale = |digits: i128, exponent: i32| {
            10_i128
                .checked_pow(u32::try_from(exponent - common).ok()?)?
                .checked_mul(digits)
        };
        Some((scale(left, first)?, scale(right, second)?, common))
    }

    fn order(self, other: Self) -> Ordering {
        match self.aligned(other) {
            Some((left, right, _)) => left.cmp(&right),
            None => self.float().total_cmp(&other.float()),
        }
    }

    fn plus(self, other: Self, sign: i128) -> Self {
        let exact = self.aligned(other).and_then(|(left, right, exponent)| {
            left.checked_add(right.checked_mul(sign)?)
                .map(|digits| Self::Exact { digits, exponent }.reduced())
        });
        exact.unwrap_or_else(|| Self::Approximate(self.float() + approximate(sign) * other.float()))
    }

    fn whole(self) -> Option<i64> {
        match self {
            Self::Exact { digits, exponent } => {
                let power = 10_i128.checked_pow(u32::try_from(exponent).ok()?)?;
                i64::try_from(digits.checked_mul(power)?).ok()
            }
            Self::Approximate(_) => None,
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "an approximation is what is asked for")]
fn approximate(digits: i128) -> f64 {
    digits as f64
}

/// Returns the binary factor and the decimal power of a suffix.
fn suffix_of(suffix: &str) -> Option<(i128, i32)> {
    Some(match suffix {
        "" => (1, 0),
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => {
            let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (-1000..=1000).contains(&power).then_some((1, power))?
        }
    })
}

impl Val for Quantity {
    fn get_type(&self) -> &Type {
        &QUANTITY
    }

    fn cel_type() -> &'static Type {
        &QUANTITY
    }

    fn as_comparer(&self) -> Option<&dyn Comparer> {
        None
    }

    fn equals(&self, other: &dyn Val) -> bool {
        other
            .downcast_ref::<Self>()
            .is_some_and(|other| self.order(*other) == Ordering::Equal)
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

fn from_whole(whole: i64) -> Quantity {
    Quantity::Exact {
        digits: i128::from(whole),
        exponent: 0,
    }
}

fn sign(this: &Quantity) -> CelInt {
    CelInt::from(this.order(Quantity::Exact {
        digits: 0,
        exponent: 0,
    }) as i64)
}

fn is_integer(this: &Quantity) -> CelBool {
    this.whole().is_some().into()
}

fn as_integer(this: &Quantity) -> Result<CelInt> {
    let wrong = || ExecutionError::function_error("asInteger", "cannot convert value to integer");
    this.whole().map(CelInt::from).ok_or_else(wrong)
}

fn as_approximate_float(this: &Quantity) -> CelDouble {
    this.float().into()
}

fn add(this: &Quantity, other: &Quantity) -> Quantity {
    this.plus(*other, 1)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn add_whole(this: &Quantity, other: &CelInt) -> Quantity {
    this.plus(from_whole(*other.inner()), 1)
}

fn sub(this: &Quantity, other: &Quantity) -> Quantity {
    this.plus(*other, -1)
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "the registering macro passes references"
)]
fn sub_whole(this: &Quantity, other: &CelInt) -> Quantity {
    this.plus(from_whole(*other.inner()), -1)
}

fn is_greater_than(this: &Quantity, other: &Quantity) -> CelBool {
    (this.order(*other) == Ordering::Greater).into()
}

fn is_less_than(this: &Quantity, other: &Quantity) -> CelBool {
    (this.order(*other) == Ordering::Less).into()
}

fn compare_to(this: &Quantity, other: &Quantity) -> CelInt {
    CelInt::from(this.order(*other) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_are_ordered_by_size() {
        let rows = [
            ("1Gi", "1G", Ordering::Greater),
            ("200M", "0.2G", Ordering::Equal),
            ("100m", "0.1", Ordering::Equal),
            ("1e3", "1k", Ordering::Equal),
            ("-1", "0", Ordering::Less),
            ("9999999999999999999999999999999999999G", "1Ei", Ordering::Greater),
        ];
        for (left, right, wanted) in rows {
            let parse = |text: &str| Quantity::parse(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(parse(left).order(parse(right)), wanted, "{left} {right}");
        }
    }

    #[test]
    fn other_texts_are_no_quantities() {
        for text in ["", ".", "abc", "1.2.3", "1Qi", "1 Gi", "Mi", "--1"] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }
}
