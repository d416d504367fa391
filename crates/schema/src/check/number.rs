//! Checks of numbers: bounds, multiples, and whether the value fits its format.
//!
//! Decides by value, as Kubernetes does: `5.0` is an integer, and a bound counts whatever the format says.

use super::value::Checked;
use crate::error::FieldError;
use crate::fault;
use crate::node::{Kind, Limits, Node};
use crate::path::Path;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Checks one number against the node.
pub(super) fn check(node: &Node, number: &Number, path: &Path<'_>, out: &mut Checked) {
    check_range(node, number, path, out);
    let Some(limits) = node.limits.as_deref() else {
        return;
    };
    if let Some(factor) = &limits.multiple_of {
        check_multiple(node, factor, number, path, out);
    }
    check_bounds(node, limits, number, path, out);
}

/// Reports an integer that its format cannot hold.
fn check_range(node: &Node, number: &Number, path: &Path<'_>, out: &mut Checked) {
    out.faults.extend(unfit(node, number, "Checked", path));
}

/// Says that a number, or one that the schema compares with, is not of the node's type and format. Kubernetes gives
/// this fault no field, only a text that names it.
fn unfit(node: &Node, number: &Number, what: &str, path: &Path<'_>) -> Option<FieldError> {
    if node.kind != Kind::Integer {
        return None;
    }
    let format = node.format.as_ref().map_or("", |format| format.name());
    let whole = whole(number);
    let fits = if format == "int32" {
        whole.is_some_and(|whole| i32::try_from(whole).is_ok())
    } else {
        whole.is_some_and(|whole| i64::try_from(whole).is_ok())
    };
    if fits {
        return None;
    }
    let kind = if format.is_empty() {
        "(default format)".to_owned()
    } else {
        format!("with format {format}")
    };
    let detail = format!("{what} value must be of type integer {kind} in {}", path.name());
    Some(fault::invalid_printed(&path.base(), "\"\"", &detail))
}

/// Returns the integer that a number is, if it is one.
#[expect(
    clippy::cast_possible_truncation,
    reason = "an f64 without a fraction below 1e38 fits an i128 exactly"
)]
pub(super) fn whole(number: &Number) -> Option<i128> {
    if let Some(whole) = number.as_i64() {
        return Some(i128::from(whole));
    }
    if let Some(whole) = number.as_u64() {
        return Some(i128::from(whole));
    }
    number
        .as_f64()
        .filter(|real| real.fract() == 0.0 && real.abs() < 1e38)
        .map(|real| real as i128)
}

/// Compares two numbers by value, integers exactly.
pub(super) fn compare(left: &Number, right: &Number) -> Option<Ordering> {
    match (whole(left), whole(right)) {
        (Some(left), Some(right)) => Some(left.cmp(&right)),
        (None, _) | (_, None) => left.as_f64()?.partial_cmp(&right.as_f64()?),
    }
}

/// The largest number below which Go's JSON takes every whole float64 for one.
const SAFE: f64 = 9_007_199_254_740_991.0;

/// Tells whether a quotient is whole, up to a relative error.
fn is_about_whole(quotient: f64) -> bool {
    let rounded = quotient.round();
    if !quotient.is_finite() || quotient.abs() > SAFE {
        return false;
    }
    (quotient - rounded).abs() < 1e-9 * rounded.abs() || (quotient - rounded).abs() == 0.0
}

/// A number that the schema compares with, as Kubernetes takes it for a whole value: without its fraction.
pub(super) fn cut(number: &Number) -> Number {
    match number.as_f64().map(f64::trunc).and_then(Number::from_f64) {
        Some(real) => whole(&real)
            .and_then(|whole| i64::try_from(whole).ok())
            .map_or(real, Number::from),
        None => number.clone(),
    }
}

/// Returns the number that a value is really compared with, after telling whether it suits the node.
fn compared(
    node: &Node,
    number: &Number,
    given: &Number,
    what: &str,
    path: &Path<'_>,
    out: &mut Checked,
) -> Number {
    let unfit = unfit(node, given, what, path);
    let suits = unfit.is_none();
    out.faults.extend(unfit);
    if suits && number.is_i64() {
        cut(given)
    } else {
        given.clone()
    }
}

fn check_multiple(node: &Node, factor: &Number, number: &Number, path: &Path<'_>, out: &mut Checked) {
    let factor = compared(node, number, factor, "MultipleOf", path, out);
    let shown = kubernetes::print::number(&factor);
    let size = factor.as_f64().unwrap_or_default();
    if size <= 0.0 {
        let detail = format!(
            "factor MultipleOf declared for {} must be positive: {shown}",
            path.name()
        );
        out.push(fault::invalid_printed(path, &shown, &detail));
        return;
    }
    let divides = if let (Some(number), Some(factor)) = (number.as_i64(), factor.as_i64()) {
        number.checked_rem(factor) == Some(0)
    } else {
        let number = number.as_f64().unwrap_or_default();
        is_about_whole(if size < 1.0 {
            1.0 / size * number
        } else {
            number / size
        })
    };
    if !divides {
        let detail = format!("{} in body should be a multiple of {shown}", path.name());
        out.push(fault::invalid(path, &Value::Number(number.clone()), &detail));
    }
}

fn check_bounds(node: &Node, limits: &Limits, number: &Number, path: &Path<'_>, out: &mut Checked) {
    let bounds = [
        (
            &limits.minimum,
            "Minimum boundary",
            Ordering::Greater,
            "greater than",
        ),
        (&limits.maximum, "Maximum boundary", Ordering::Less, "less than"),
    ];
    for (bound, what, good, words) in bounds {
        let Some(bound) = bound else { continue };
        let at = compared(node, number, &bound.at, what, path, out);
        let within = match compare(number, &at) {
            Some(Ordering::Equal) => !bound.exclusive,
            Some(order) => order == good,
            None => false,
        };
        if within {
            continue;
        }
        let or_equal = if bound.exclusive { "" } else { " or equal to" };
        let detail = format!(
            "{} in body should be {words}{or_equal} {}",
            path.name(),
            kubernetes::print::number(&at)
        );
        out.push(fault::invalid(path, &Value::Number(number.clone()), &detail));
    }
}
