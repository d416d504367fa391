//! Checks of numbers: bounds, multiples, and whether the value fits its format.
//!
//! Decides by value, as Kubernetes does: `5.0` is an integer, and a bound counts whatever the format says.

use super::value::Checked;
use crate::fault;
use crate::node::{Bound, Kind, Limits, Node};
use crate::path::Path;
use serde_json::{Number, Value};
use std::cmp::Ordering;

/// Checks one number against the node.
pub(super) fn check(node: &Node, number: &Number, value: &Value, path: &Path<'_>, out: &mut Checked) {
    check_range(node, number, path, out);
    let Some(limits) = node.limits.as_deref() else {
        return;
    };
    check_multiple(limits, number, value, path, out);
    check_bounds(limits, number, value, path, out);
}

/// Reports an integer that its format cannot hold. Kubernetes gives this fault no field, only a text that names it.
fn check_range(node: &Node, number: &Number, path: &Path<'_>, out: &mut Checked) {
    if node.kind != Kind::Integer {
        return;
    }
    let format = node.format.as_ref().map_or("", |format| format.name());
    let whole = whole(number);
    let fits = match format {
        "int32" => whole.is_some_and(|whole| i32::try_from(whole).is_ok()),
        "uint32" => whole.is_some_and(|whole| u32::try_from(whole).is_ok()),
        "uint64" => number.is_u64() || whole.is_some_and(|whole| u64::try_from(whole).is_ok()),
        _ => whole.is_some_and(|whole| i64::try_from(whole).is_ok()),
    };
    if fits {
        return;
    }
    let kind = if format.is_empty() {
        "(default format)".to_owned()
    } else {
        format!("with format {format}")
    };
    let detail = format!("Checked value must be of type integer {kind} in {}", path.name());
    out.push(fault::invalid_printed(&path.base(), "\"\"", &detail));
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

fn check_multiple(limits: &Limits, number: &Number, value: &Value, path: &Path<'_>, out: &mut Checked) {
    let Some(factor) = &limits.multiple_of else { return };
    let divides = match (whole(number), whole(factor)) {
        (_, Some(0)) => true,
        (Some(number), Some(factor)) => number % factor == 0,
        (None, _) | (_, None) => match (number.as_f64(), factor.as_f64()) {
            (Some(number), Some(factor)) => (number / factor).fract() == 0.0,
            (None, _) | (_, None) => true,
        },
    };
    if !divides {
        let detail = format!(
            "{} in body should be a multiple of {}",
            path.name(),
            golang::number(factor)
        );
        out.push(fault::invalid(path, value, &detail));
    }
}

fn check_bounds(limits: &Limits, number: &Number, value: &Value, path: &Path<'_>, out: &mut Checked) {
    let within = |bound: &Bound, good: Ordering| match compare(number, &bound.at) {
        Some(Ordering::Equal) => !bound.exclusive,
        Some(order) => order == good,
        None => false,
    };
    if let Some(bound) = limits
        .maximum
        .as_ref()
        .filter(|bound| !within(bound, Ordering::Less))
    {
        let words = if bound.exclusive {
            "less than"
        } else {
            "less than or equal to"
        };
        let detail = format!(
            "{} in body should be {words} {}",
            path.name(),
            golang::number(&bound.at)
        );
        out.push(fault::invalid(path, value, &detail));
    }
    if let Some(bound) = limits
        .minimum
        .as_ref()
        .filter(|bound| !within(bound, Ordering::Greater))
    {
        let words = if bound.exclusive {
            "greater than"
        } else {
            "greater than or equal to"
        };
        let detail = format!(
            "{} in body should be {words} {}",
            path.name(),
            golang::number(&bound.at)
        );
        out.push(fault::invalid(path, value, &detail));
    }
}
