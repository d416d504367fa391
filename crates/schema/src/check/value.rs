//! Checks a value against a schema: type, sizes, enum, members, items.
//!
//! Decides in the order and with the texts of the API server. Every check looks at the kind of the *value*, so a
//! number in a string field meets the enum too. Never evaluates rules and never compares list items by key.

use super::{junctors, number};
use crate::correlate::{self, unchanged};
use crate::error::FieldError;
use crate::fault;
use crate::node::{Flags, Kind, Limits, ListType, Node, Sizes};
use crate::path::Path;
use serde_json::{Map, Value};

/// What a check has found so far.
#[derive(Debug, Default)]
pub(crate) struct Checked {
    /// Faults, in the order in which they were met.
    pub(crate) faults: Vec<FieldError>,
    /// How many checks applied: the faults of the alternative with the most are reported.
    pub(super) matches: u32,
    /// Whether a default is checked: upstream's form of the schema for that says nothing about int-or-string.
    is_default: bool,
}

impl Checked {
    /// Starts the check of a default.
    pub(crate) fn of_default() -> Self {
        Self {
            is_default: true,
            ..Self::default()
        }
    }

    /// Starts the check of an alternative.
    pub(super) fn branch(&self) -> Self {
        Self {
            is_default: self.is_default,
            ..Self::default()
        }
    }

    pub(super) fn push(&mut self, fault: FieldError) {
        self.faults.push(fault);
    }

    /// Takes over the faults of an alternative, each text once.
    pub(super) fn merge(&mut self, branch: Self) {
        self.matches += branch.matches;
        for fault in branch.faults {
            if !self.faults.contains(&fault) {
                self.faults.push(fault);
            }
        }
    }
}

/// Checks `value`; with the `old` value of the same place, faults of an unchanged value are dropped.
pub(crate) fn check(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Checked) {
    let before = out.faults.len();
    check_here(node, value, old, path, out);
    if out.faults.len() > before && old.is_some_and(|old| unchanged(node, value, old)) {
        out.faults.truncate(before);
    }
}

fn check_here(node: &Node, value: &Value, old: Option<&Value>, path: &Path<'_>, out: &mut Checked) {
    check_type(node, value, path, out);
    if value.is_null() {
        check_enum(node, value, path, out);
        return;
    }
    if let Some(junctors) = node.junctors.as_deref() {
        junctors::check(junctors, value, old, path, out);
    }
    match value {
        Value::Null | Value::Bool(_) | Value::Object(_) => {}
        Value::Number(digits) => {
            number::check(node, digits, path, out);
            out.matches += 1;
        }
        Value::String(text) => check_string(node, text, value, path, out),
        Value::Array(items) => check_items(node, items, old, path, out),
    }
    check_enum(node, value, path, out);
    if let Value::Object(members) = value {
        check_members(node, members, old, path, out);
    }
    out.matches += 1;
}

fn check_type(node: &Node, value: &Value, path: &Path<'_>, out: &mut Checked) {
    if node.kind == Kind::Any || (out.is_default && node.kind == Kind::IntOrString) {
        return;
    }
    out.matches += 1;
    match type_fault(node, value) {
        Some((wanted, got)) => out.push(fault::wrong_type(path, wanted, got)),
        None => out.matches += 1,
    }
}

/// Returns the wanted and the found type when they differ.
///
/// Kubernetes compares formats before types: `true` in an `int32` field is not an `int32` rather than not an integer,
/// and any string or list passes the type check of a string that has a format.
fn type_fault<'n>(node: &'n Node, value: &Value) -> Option<(&'n str, &'static str)> {
    let (found, found_format) = match value {
        Value::Null => {
            let legal = node.kind == Kind::Any || node.is(Flags::NULLABLE);
            return if legal {
                None
            } else {
                Some((node.kind.name(), "null"))
            };
        }
        Value::Bool(_) => ("boolean", ""),
        Value::Number(number) if number.is_i64() => ("integer", "int64"),
        Value::Number(_) => ("number", "float64"),
        Value::String(_) => ("string", ""),
        Value::Array(_) => ("array", ""),
        Value::Object(_) => ("object", ""),
    };
    let fits = fits(node.kind, value);
    let numeric = matches!(node.kind, Kind::Integer | Kind::Number | Kind::IntOrString);
    if let Some(format) = node.format.as_ref() {
        let textual = value.is_string() || value.is_array();
        if textual && !numeric {
            return None;
        }
        if !textual {
            return if fits || found_format == format.name() {
                None
            } else {
                Some((format.name(), found_format))
            };
        }
    }
    if fits {
        None
    } else {
        Some((node.kind.name(), found))
    }
}

fn fits(kind: Kind, value: &Value) -> bool {
    match kind {
        Kind::Any => true,
        Kind::Object => value.is_object(),
        Kind::Array => value.is_array(),
        Kind::String => value.is_string(),
        Kind::Boolean => value.is_boolean(),
        Kind::Number => value.is_number(),
        Kind::Integer => is_whole(value),
        Kind::IntOrString => value.is_string() || is_whole(value),
    }
}

fn is_whole(value: &Value) -> bool {
    value
        .as_number()
        .is_some_and(|digits| number::whole(digits).is_some())
}

fn check_enum(node: &Node, value: &Value, path: &Path<'_>, out: &mut Checked) {
    out.matches += 1;
    let Some(limits) = node.limits.as_deref().filter(|limits| !limits.legal.is_empty()) else {
        return;
    };
    if limits.legal.iter().any(|legal| is_legal(legal, value)) {
        return;
    }
    let legal: Vec<String> = limits
        .legal
        .iter()
        .map(|legal| {
            legal
                .as_str()
                .map_or_else(|| kubernetes::print::json(legal), ToOwned::to_owned)
        })
        .collect();
    out.push(fault::not_supported(
        path,
        value,
        legal.iter().map(String::as_str),
    ));
}

/// Tells whether a value is a legal one, or becomes it when Go converts it: numbers lose their fraction, and an
/// integer turns into the letter with its number.
fn is_legal(legal: &Value, value: &Value) -> bool {
    match (legal, value) {
        (Value::Number(legal), Value::Number(number)) if legal.is_i64() && !number.is_i64() => {
            number::compare(legal, &number::cut(number)).is_some_and(std::cmp::Ordering::is_eq)
        }
        (Value::String(legal), Value::Number(number)) => number.as_i64().is_some_and(|number| {
            let letter = u32::try_from(number).ok().and_then(char::from_u32);
            let mut letters = legal.chars();
            letters.next() == Some(letter.unwrap_or('\u{fffd}')) && letters.next().is_none()
        }),
        (legal, value) => same(legal, value),
    }
}

/// Compares two values; numbers by value.
fn same(legal: &Value, value: &Value) -> bool {
    match (legal, value) {
        (Value::Number(legal), Value::Number(value)) => {
            number::compare(legal, value).is_some_and(std::cmp::Ordering::is_eq)
        }
        (legal, value) => legal == value,
    }
}

fn check_string(node: &Node, text: &str, value: &Value, path: &Path<'_>, out: &mut Checked) {
    out.matches += 1;
    if let Some(limits) = node.limits.as_deref() {
        check_length(limits, text, value, path, out);
    }
    let Some(format) = node.format.as_ref() else {
        return;
    };
    out.matches += 1;
    if !format.accepts(text) {
        out.push(fault::wrong_type(path, format.name(), text));
    }
}

/// Reports the first of: too long, too short, no match.
fn check_length(limits: &Limits, text: &str, value: &Value, path: &Path<'_>, out: &mut Checked) {
    // Counting letters is only needed when the cheaper byte count does not settle it.
    let letters = || text.chars().count() as u64;
    if let Some(most) = limits
        .length
        .most
        .filter(|most| text.len() as u64 > *most && letters() > *most)
    {
        out.push(fault::too_long(path, most));
        return;
    }
    if let Some(least) = limits.length.least.filter(|least| letters() < *least) {
        let detail = format!("{} in body should be at least {least} chars long", path.name());
        out.push(fault::invalid(path, value, &detail));
        return;
    }
    if let Some(pattern) = limits.pattern.as_ref().filter(|pattern| !pattern.matches(text)) {
        let detail = format!("{} in body should match '{}'", path.name(), pattern.text());
        out.push(fault::invalid(path, value, &detail));
    }
}

/// Reports a count below the least one; `what` is the plural noun of the text.
fn too_few(sizes: &Sizes, count: usize, what: &str, path: &Path<'_>) -> Option<FieldError> {
    let least = sizes.least.filter(|least| (count as u64) < *least)?;
    let detail = format!("{} in body should have at least {least} {what}", path.name());
    Some(fault::invalid_printed(path, &count.to_string(), &detail))
}

fn too_many(sizes: &Sizes, count: usize, path: &Path<'_>) -> Option<FieldError> {
    let most = sizes.most.filter(|most| count as u64 > *most)?;
    Some(fault::too_many(path, count, most))
}

fn check_items(node: &Node, items: &[Value], old: Option<&Value>, path: &Path<'_>, out: &mut Checked) {
    if let Some(schema) = node.items.as_deref() {
        let olds = old
            .and_then(Value::as_array)
            .filter(|_| matches!(node.list, ListType::Map(_)));
        let olds = olds.map(|olds| correlate::ByKey::new(node, olds));
        for (at, item) in items.iter().enumerate() {
            let old = olds.as_ref().and_then(|olds| olds.find(item));
            check(schema, item, old, &path.index(at), out);
        }
    }
    if let Some(limits) = node.limits.as_deref() {
        out.faults
            .extend(too_few(&limits.items, items.len(), "items", path));
        out.faults.extend(too_many(&limits.items, items.len(), path));
    }
    if node.is(Flags::UNIQUE_ITEMS) && !all_differ(items) {
        let detail = format!("{} in body shouldn't contain duplicates", path.name());
        out.push(fault::invalid_printed(
            path,
            &kubernetes::print::json(&Value::Array(items.to_vec())),
            &detail,
        ));
    }
    out.matches += 2;
}

fn all_differ(items: &[Value]) -> bool {
    items
        .iter()
        .enumerate()
        .all(|(at, item)| !items.iter().skip(at + 1).any(|later| same(item, later)))
}

fn check_members(
    node: &Node,
    members: &Map<String, Value>,
    old: Option<&Value>,
    path: &Path<'_>,
    out: &mut Checked,
) {
    out.matches += 1;
    if let Some(limits) = node.limits.as_deref() {
        // A wrong count hides what is wrong inside, as in Kubernetes.
        let counted = too_few(&limits.members, members.len(), "properties", path)
            .or_else(|| too_many(&limits.members, members.len(), path));
        if let Some(fault) = counted {
            out.push(fault);
            return;
        }
        for name in limits.required.iter().filter(|name| !members.contains_key(*name)) {
            out.push(fault::required(&path.child(name), ""));
        }
    }
    if node.properties.is_empty() && node.additional_schema().is_none() {
        return;
    }
    let olds = old.and_then(Value::as_object);
    for (name, member) in members {
        if let Some(schema) = node.member(name) {
            let here = if node.properties.contains_key(name) {
                path.child(name)
            } else {
                path.entry(name)
            };
            let old = olds.and_then(|olds| olds.get(name));
            check(schema, member, old, &here, out);
        }
    }
}
