//! The functions and the objects that Kubernetes declares, from the tables beside this file.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::types::{Type, split};

/// The operands and the result of one form of a function.
pub(super) struct Overload {
    pub(super) target: Option<String>,
    pub(super) operands: Vec<String>,
    pub(super) result: String,
}

pub(super) static FUNCTIONS: LazyLock<BTreeMap<&str, Vec<Overload>>> = LazyLock::new(|| {
    let rows = include_str!("functions.txt")
        .lines()
        .filter_map(|row| row.rsplit_once(": "));
    let forms = |(names, forms): (&'static str, &'static str)| {
        names
            .split(' ')
            .map(move |name| (name, forms.split("; ").filter_map(overload).collect()))
    };
    rows.flat_map(forms).collect()
});

pub(super) static OBJECTS: LazyLock<BTreeMap<&str, BTreeMap<&str, Type>>> = LazyLock::new(|| {
    let rows = include_str!("objects.txt")
        .lines()
        .filter_map(|row| row.split_once(": "));
    let fields = |fields: &'static str| {
        let pairs = split(fields).filter_map(|field| field.split_once(' '));
        pairs.map(|(name, of)| (name, Type::parse(of, 0))).collect()
    };
    rows.map(|(name, text)| (name, fields(text))).collect()
});

/// Parses `target.(operands) result`, or without a target.
fn overload(text: &str) -> Option<Overload> {
    let (head, result) = text.split_once(") ")?;
    let (target, operands) = match head.rsplit_once(".(") {
        Some((target, operands)) => (Some(target.to_owned()), operands),
        None => (None, head.strip_prefix('(')?),
    };
    Some(Overload {
        target,
        operands: split(operands).map(ToOwned::to_owned).collect(),
        result: result.to_owned(),
    })
}
