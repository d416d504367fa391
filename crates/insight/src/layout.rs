//! How all answers for people are laid out: lines, and lists of names.
//!
//! Decides that what comes from a hub stays on its line, and where a list of names ends.

use std::fmt::Write as _;

use kubernetes::field::{listed, natural, nearest, one_line};

/// Adds a line.
pub(crate) fn line(out: &mut String, text: &str) {
    writeln!(out, "{}", one_line(text).trim_end()).expect("writing to a string cannot fail");
}

/// Returns which name was probably meant, or which names there are.
pub(crate) fn instead<'k>(name: &str, known: impl Iterator<Item = &'k str>) -> String {
    let mut known: Vec<&str> = known.collect();
    known.sort_by(|one, other| natural(one, other));
    if let Some(near) = nearest(name, known.iter().copied()) {
        return format!("did you mean {near:?}?");
    }
    match known.len() {
        0 => "there is none".to_owned(),
        1 => format!("there is {}", listed(known)),
        _ => format!("there are {}", listed(known)),
    }
}

/// Returns the first names, and how many more there are.
pub(crate) fn first(names: &[&str], most: usize) -> String {
    let named = names.iter().take(most).copied().collect::<Vec<_>>().join(" ");
    match names.len().saturating_sub(most) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// Returns the first names in the order in which people count, and how many more there are.
pub(crate) fn first_sorted(names: &[String], most: usize) -> String {
    let mut sorted: Vec<&str> = names.iter().map(String::as_str).collect();
    sorted.sort_by(|one, other| natural(one, other));
    first(&sorted, most)
}
